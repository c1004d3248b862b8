"""Text that cannot be read: the first bad line, what it says and what was expected."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rankforce.formats import growing
from rankforce.formats import lines as module
from rankforce.formats.letor_text import read_text
from tests.formats.test_letor import WAYS, compressed, read, refusal, write

BAD = [
    ("x qid:1 1:2", "'x': expected a label, a finite number"),
    ("nan qid:1 1:2", "'nan': expected a label, a finite number"),
    ("inf qid:1 1:2", "'inf': expected a label, a finite number"),
    ("1e999 qid:1 1:2", "'1e999': expected a label, a finite number"),
    ("1_0 qid:1 1:2", "'1_0': expected a label, a finite number"),
    ("0x1 qid:1 1:2", "'0x1': expected a label, a finite number"),
    ("qid:1 1:2", "'qid:1': no label: expected a number at the start of the line"),
    ("1:2 3:4", "'1:2': no label: expected a number at the start of the line"),
    ("1 1:2", "'1:2': missing qid: expected qid:ID after the label, as on the first row"),
    ("1", "'1': missing qid: expected qid:ID after the label, as on the first row"),
    ("1 qid: 1:2", "'qid:': expected an id behind 'qid:'"),
    ("1 qid:1 qid:2", "'qid:2': expected the query id right after the label, once"),
    ("1 qid:1 -3:2", "'-3:2': negative index: expected a feature index from 0 up"),
    ("1 qid:1 1.5:2", "'1.5:2': expected a feature index, an integer from 0 up, before"),
    ("1 qid:1 a:2", "'a:2': expected a feature index, an integer from 0 up, before"),
    ("1 qid:1 :2", "':2': expected a feature index, an integer from 0 up, before"),
    ("1 qid:1 12", "'12': missing colon: expected index:value"),
    ("1 qid:1 1:2 3:4 word", "'word': missing colon: expected index:value"),
    ("1 qid:1 1:2 2 :3", "'2': missing colon: expected index:value"),
    ("1 qid:1 1:", "'1:': expected a number behind the colon"),
    ("1 qid:1 1: 2", "'1:': expected a number behind the colon"),
    ("1 qid:1 1:abc 2:3", "'1:abc': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:2:3", "'1:2:3': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:1e", "'1:1e': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:1.2.3", "'1:1.2.3': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:.", "'1:.': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:-", "'1:-': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:--1", "'1:--1': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:1_0", "'1:1_0': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:12345678,5", "'1:12345678,5': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:nano", "'1:nano': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:1e39", "'1:1e39': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:3.5e38", "'1:3.5e38': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:1e999", "'1:1e999': expected a number that float32 can hold, or nan"),
    ("1 qid:1 1:340282356779733661637539395458142568448", "'1:3402823567797336616375393954581425"),
    ("1 qid:1 1:inf", "'1:inf': infinite: expected a finite number, or nan"),
    ("1 qid:1 1:-Infinity", "'1:-Infinity': infinite: expected a finite number, or nan"),
    ("1 qid:1 2:1 1:1 2:3", "'2:3': duplicate feature: expected every index once in a line"),
    ("1 qid:1 1:1 1:1", "'1:1': duplicate feature: expected every index once in a line"),
    ("1 qid:1 7:1 7:2", "'7:2': duplicate feature: expected every index once in a line"),
    ("1 qid:1 10000001:1", "'10000001:1': expected a feature index of at most 10,000,000"),
    ("1 qid:1 18446744073709551617:1", "'18446744073709551617:1': expected a feature index of"),
    (f"1 qid:1 1:{'9x' * 50}", f"'1:{'9x' * 29}...': expected a number"),
    ("1 qid:1 1:2 # a\0b", "'# a\\x00b': not text: it holds a NUL byte: expected a text file"),
    ("1 qid:1 1:\0", "'1:\\x00': not text: it holds a NUL byte: expected a text file"),
    ("# \0", "'# \\x00': not text: it holds a NUL byte: expected a text file"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("line", "message"), BAD)
def test_first_bad_line_is_named(
    tmp_path: Path, line: str, message: str, way: dict[str, int]
) -> None:
    """With lines before it that are no rows, and with lines after it that are wrong too."""
    good = "1 qid:1 1:2 2:3\n\n# comment\n2 qid:1 1:4\r\n"
    for before in (1, 2, 40):
        number = 4 * before + 1
        text = good * before + line + "\n" + good + "1 qid:1 wrong\n\0\n"
        expected = f"data.txt, line {number}: {message}"
        assert refusal(tmp_path, text, **way).startswith(expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("line", ["1 qid:1 1:2 # \xff", "1 qid:\xe4 1:2", "# \xff\xfe"])
def test_text_that_is_not_utf8(tmp_path: Path, line: str, way: dict[str, int]) -> None:
    good = "1 qid:1 1:2 # Zürich\n" * 30
    text = good.encode() + line.encode("latin-1") + b"\n1 qid:1 wrong\n"
    message = refusal(tmp_path, text, **way)
    assert re.match(r"data.txt, line 31: '.*\\\\x.*': not text: expected UTF-8", message)


@pytest.mark.parametrize("way", WAYS)
def test_query_on_some_lines_only(tmp_path: Path, way: dict[str, int]) -> None:
    message = refusal(tmp_path, "1 1:2\n" * 20 + "1 qid:3 1:2\n", **way)
    assert message == (
        "data.txt, line 21: 'qid:3': a qid, but the first row has none (missing qid): "
        "expected one on every row, or on none"
    )


@pytest.mark.parametrize("end", ["1:", "1", "1:-", "1:2e"])
def test_file_that_ends_in_a_token(tmp_path: Path, end: str) -> None:
    message = refusal(tmp_path, f"1 qid:1 1:2\n1 qid:1 {end}")
    assert message.startswith(f"data.txt, line 2: '{end}': ")
    assert message.endswith("(the file ends here, without a line end: is it cut off?)")
    assert "cut off" not in refusal(tmp_path, f"1 qid:1 1:2\n1 qid:1 {end}\n")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\xef\xbb\xbf"])
def test_file_without_rows(tmp_path: Path, text: str) -> None:
    message = refusal(tmp_path, text.encode("latin-1"))
    assert message == "data.txt: holds no rows: expected lines such as '2 qid:1 1:0.5 2:3'"


def test_binary_files(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, 100_000, np.uint8)
    assert refusal(tmp_path, noise.tobytes()).startswith("data.txt, line 1: ")
    zeros = bytes(1_000_000)
    assert "line 1: holds NUL bytes" in refusal(tmp_path, zeros, block_bytes=1000)


def test_matrix_that_no_machine_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "_memory", lambda: 1_000_000)
    lines = "1 qid:1 1:2\n" * 9 + "1 qid:1 50000:2\n"
    message = refusal(tmp_path, lines)
    assert message.startswith("data.txt, line 10: '50000:2': expected a feature index of at most")
    assert "10 rows x 50,000 columns of float32 take" in message
    assert refusal(tmp_path, "1 qid:1 x\n" + lines).startswith("data.txt, line 1: 'x': ")
    assert read(tmp_path, lines.replace("50000", "5000")).features.shape == (10, 5000)
    rows = "1 qid:1 100:2\n" * 3000
    assert "rows x 100 columns of float32 take" in refusal(tmp_path, rows, block_bytes=1000)


def test_lines_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "1 qid:1 " + " ".join(f"{j}:{j}" for j in range(1, 1000)) + "\n"
    for size in (1, 7, 100):
        found = read(tmp_path, "1 qid:1 1:1\n" + line * 3, block_bytes=size)
        np.testing.assert_array_equal(found.features[1:], [np.arange(1, 1000)] * 3)
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 1000)
    assert "line 2: is longer than 1,000 bytes" in refusal(
        tmp_path, "1 qid:1 1:1\n" + line, block_bytes=50
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compressed_files_that_are_cut_off(tmp_path: Path, codec: str, threads: int) -> None:
    rng = np.random.default_rng(1)
    text = "".join(f"1 qid:1 1:{x}\n" for x in rng.random(5000)).encode()
    whole = compressed(text, codec)
    for size in (10, len(whole) // 3, len(whole) // 2 + 100, len(whole) - 1):
        message = refusal(tmp_path, whole[:size], threads=threads)
        assert message == ("data.txt: the file is cut off: its compressed data ends before its end")
    broken = refusal(tmp_path, whole[:500] + bytes(100) + whole[600:], threads=threads)
    assert broken.startswith("data.txt")


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gone\.txt: No such file or directory: expected a text"):
        read_text(tmp_path / "gone.txt")
    with pytest.raises(ValueError, match="is a folder: expected a text file"):
        read_text(str(tmp_path))
    with pytest.raises(ValueError, match="is no regular file: expected a text file"):
        read_text("/dev/null")


def test_options_that_are_wrong(tmp_path: Path) -> None:
    path = write(tmp_path, "1 1:2\n")
    with pytest.raises(ValueError, match="base is 2: it must be 0, 1 or None"):
        read_text(path, base=2)
    with pytest.raises(ValueError, match="threads is 0: it must be an integer from 1 up"):
        read_text(path, threads=0)
