"""The text reader: what it accepts, what it refuses, and where it says the mistake is."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rankforce.formats import growing
from rankforce.formats.letor_text import TextFile, read_text

NAN = float("nan")
# One thread and several, all of the file at once and a few lines at a time.
WAYS = [
    {"threads": threads, "block_bytes": size} for threads in (1, 2, 3) for size in (40, 1 << 20)
]


def write(tmp_path: Path, text: str | bytes, name: str = "data.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(tmp_path: Path, text: str | bytes, **options: Any) -> TextFile:
    return read_text(write(tmp_path, text), **options)


def refusal(tmp_path: Path, text: str | bytes, **options: Any) -> str:
    """The message, without the name of the folder."""
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))) as caught:
        read(tmp_path, text, **options)
    return str(caught.value).replace(str(tmp_path) + "/", "")


@pytest.mark.parametrize("way", WAYS)
def test_all_parts_of_a_line(tmp_path: Path, way: dict[str, int]) -> None:
    found = read(
        tmp_path,
        "2 qid:10 1:0.5 3:-2 #docid = GX01 inc = 1\n"
        "0.5 qid:10 2:nan # a b \n"
        "-1e0 qid:9 1:+1.5 2:.5 3:5.\n",
        **way,
    )
    expected = np.array([[0.5, 0, -2], [0, NAN, 0], [1.5, 0.5, 5]], np.float32)
    np.testing.assert_array_equal(found.features, expected)
    assert found.features.dtype == np.float32
    assert found.features.flags.c_contiguous
    np.testing.assert_array_equal(found.labels, [2.0, 0.5, -1.0])
    assert found.labels.dtype == np.float64
    np.testing.assert_array_equal(found.qid, [10, 10, 9])
    assert found.qid is not None
    assert found.qid.dtype == np.int64
    assert isinstance(found.doc_ids, pa.StringArray)
    found.doc_ids.validate(full=True)
    assert found.doc_ids.to_pylist() == ["GX01", "a b", ""]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["\n", "\r\n", " \t\r\n", "\n\n", "\n \t\n# only a comment\n  #\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_end_in_many_ways(tmp_path: Path, way: dict[str, int], end: str, mark: bytes) -> None:
    """Also without the last newline, with tabs, and behind a byte-order mark."""
    lines = [f"{row % 3}\tqid:{row // 4} 1:{row}\t 2:7" for row in range(11)]
    found = read(tmp_path, mark + (end + end.join(lines)).encode(), **way)
    np.testing.assert_array_equal(found.features, [[row, 7] for row in range(11)])
    np.testing.assert_array_equal(found.labels, [row % 3 for row in range(11)])
    np.testing.assert_array_equal(found.qid, [row // 4 for row in range(11)])
    assert found.doc_ids is None


@pytest.mark.parametrize(
    ("comment", "doc_id"),
    [
        ("#docid = GX1-2 inc = 1", "GX1-2"),
        ("# docid=GX1-2", "GX1-2"),
        ("# inc = 1 docid\t=\tGX1-2\r", "GX1-2"),
        ("# docid=a#b c", "a#b"),
        ("#  two words \t", "two words"),
        ("# mydocid = 5", "mydocid = 5"),
        ("# docid 5", "docid 5"),
        ("# docid =", "docid ="),
        ("#docid", "docid"),
        ("# docid docid=7", "7"),
        ("# Zürich ✓", "Zürich ✓"),
        ("#docid = Zürich x", "Zürich"),
        ("##x", "#x"),
    ],
)
def test_document_ids(tmp_path: Path, comment: str, doc_id: str) -> None:
    found = read(tmp_path, f"1 qid:1 1:2{comment}\n1 qid:1 #\n1 qid:1\n")
    assert found.doc_ids.to_pylist() == [doc_id, "", ""]


@pytest.mark.parametrize("way", WAYS)
def test_indices_from_0_or_1(tmp_path: Path, way: dict[str, int]) -> None:
    """The first column is index 1, unless there is an index 0 anywhere."""
    ones = "1 1:1 2:2\n" * 9
    row = [1, 2]
    np.testing.assert_array_equal(read(tmp_path, ones, **way).features, [row] * 9)
    np.testing.assert_array_equal(read(tmp_path, ones, base=1, **way).features, [row] * 9)
    np.testing.assert_array_equal(read(tmp_path, ones, base=0, **way).features, [[0, *row]] * 9)
    late = read(tmp_path, ones + "1 0:5\n", **way).features
    np.testing.assert_array_equal(late, [[0, *row]] * 9 + [[5, 0, 0]])
    late = read(tmp_path, ones + "1 0:5 4:6\n" + ones, **way).features
    np.testing.assert_array_equal(
        late, [[0, *row, 0, 0]] * 9 + [[5, 0, 0, 0, 6]] + [[0, *row, 0, 0]] * 9
    )
    message = refusal(tmp_path, ones + "1 0:5\n", base=1, **way)
    assert message == "data.txt, line 10: '0:5': expected feature indices from 1 on, for base=1"


@pytest.mark.parametrize("zero", [None, 3, 10, 17])
@pytest.mark.parametrize("copy_bytes", [0, 1 << 25])
@pytest.mark.parametrize("way", WAYS)
def test_rows_get_wider(
    tmp_path: Path,
    way: dict[str, int],
    copy_bytes: int,
    zero: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows read before keep their values, whether they move in place or to a new matrix.

    An index 0 in row `zero` moves them by one more column.
    """
    monkeypatch.setattr(growing, "COPY_BYTES", copy_bytes)
    monkeypatch.setattr(growing, "MOVE_ROWS", 3)
    widths = [1, 2, 2, 5, 3, 9, 9, 10, 11, 12, 13, 4, 40, 41, 2, 300, 301, 302]
    lines = [
        f"1 qid:{row} " + " ".join(f"{j}:{row}.{j}" for j in range(1, width + 1))
        for row, width in enumerate(widths)
    ]
    expected = np.zeros((len(widths), max(widths)), np.float32)
    for row, width in enumerate(widths):
        expected[row, :width] = [float(f"{row}.{j}") for j in range(1, width + 1)]
    if zero is not None:
        lines[zero] += " 0:7"
        expected = np.insert(expected, 0, 0.0, axis=1)
        expected[zero, 0] = 7.0
    found = read(tmp_path, "\n".join(lines), **way)
    np.testing.assert_array_equal(found.features, expected)
    assert found.features.flags.c_contiguous
    np.testing.assert_array_equal(found.qid, np.arange(len(widths)))


def test_columns_to_spare_hold_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were parsed into a narrower matrix leave nothing behind where they lay."""
    monkeypatch.setattr(growing, "COPY_BYTES", 0)
    widths = [8] * 9 + [9] + [8] * 40 + [10]
    lines = ["1 " + " ".join(f"{j}:1" for j in range(1, width + 1)) for width in widths]
    lines[0] += " # a block of its own" + "." * 320
    expected = np.tri(11, 10, -1, np.float32)[widths]
    for size in (300, 350, 400, 450):
        np.testing.assert_array_equal(
            read(tmp_path, "\n".join(lines), block_bytes=size).features, expected
        )


def test_any_order_of_indices(tmp_path: Path) -> None:
    found = read(tmp_path, "1 3:3 1:1 2:2\n2 1:4 2:5\n0 2:6 1:7\n")
    np.testing.assert_array_equal(found.features, [[1, 2, 3], [4, 5, 0], [7, 6, 0]])


@pytest.mark.parametrize("way", WAYS)
def test_queries_that_are_words(tmp_path: Path, way: dict[str, int]) -> None:
    """All of them as text then, as they are written."""
    names = ["007", "7", "+7", "x-1", "x-1", "Zürich", "12345678901234567890"]
    lines = "".join(f"1 qid:{name} 1:2 # {name}\n" for name in names)
    found = read(tmp_path, lines, **way)
    assert found.qid is not None
    assert found.qid.dtype == object
    assert found.qid.tolist() == names
    assert found.doc_ids.to_pylist() == names
    found = read(tmp_path, "".join(f"1 qid:{name}\n" for name in names[:3]), **way)
    assert found.qid is not None
    assert (found.qid.dtype, found.qid.tolist()) == (np.int64, [7, 7, 7])


def test_rows_without_queries_or_features(tmp_path: Path) -> None:
    found = read(tmp_path, "# a comment\n1 1:2\n0\n")
    assert found.qid is None
    np.testing.assert_array_equal(found.features, [[2], [0]])
    assert read(tmp_path, "1 qid:3\n0 qid:3\n").features.shape == (2, 0)


NUMBERS = " ".join(
    (
        "0 -0 0.0 -0.0 00012 5. .5 +.5e1 1e-3 1E+3 -1.5e-7 123456789 12345678 1234567. 0.12345678",
        "0.123456789 12345678.12345678 9007199254740992 9007199254740993 9007199254740991",
        "16777217 16777216.5 0.1 1e22 1e23 1e-22 1e-23 3.4028235e38 3.40282356e38 1e-45 7e-46",
        "7.1e-46 1e-400 0.1000000000000000055511151231257827021181583404541015625",
        "0.30000001192092896 1.00000017881393432617187499 1.00000017881393432617187500",
        "1.00000017881393432617187501",
        "1.000000178813934326171875000000000000000000000000000000000000000000000000000000000001",
        "100000000000000000000 99999999999999999999999999999999999999",
        "0.00000000000000000000000000000000001 000000000000000000000000000000000001.5",
        "123456789012345678901234567890e-25 5e-324 0e999999999999",
        "340282346638528859811704183484516925440 0.000000000000000000000000000001e30",
        "1e00000000000000000001 NaN nan -nan +NAN",
    )
).split()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("end", ["", " 2:1", "\n", "#"])
def test_numbers_are_those_of_python(tmp_path: Path, number: str, end: str) -> None:
    """To the last bit, the sign of 0 and the halves between two float32 included."""
    found = read(tmp_path, f"1 1:{number}{end}").features[0, 0]
    with np.errstate(all="ignore"):
        expected = np.float32(float(number))
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found) == np.signbit(expected) or np.isnan(expected)


@pytest.mark.parametrize("number", [n for n in NUMBERS if "n" not in n.lower()])
def test_labels_are_those_of_python(tmp_path: Path, number: str) -> None:
    found = read(tmp_path, f"{number} qid:1").labels[0]
    assert found == float(number)
    assert np.signbit(found) == np.signbit(float(number))


def test_many_hard_numbers(tmp_path: Path) -> None:
    """More than the list of them that is made at first."""
    hard = "1.00000017881393432617187501"
    lines = f"{hard} " + " ".join(f"{j}:{hard}" for j in range(1, 3001))
    found = read(tmp_path, f"{lines}\n" * 3)
    assert (found.features == np.float32(float(hard))).all()
    assert found.features.shape == (3, 3000)
    assert (found.labels == float(hard)).all()


def compressed(text: bytes, codec: str) -> bytes:
    """In two members or frames: both formats allow any number of them."""
    half = len(text) // 2
    if codec == "gzip":
        return gzip.compress(text[:half]) + gzip.compress(text[half:])
    return b"".join(
        pa.compress(part, codec=codec, asbytes=True) for part in (text[:half], text[half:])
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("name", ["data.txt", "data.gz"])
def test_compressed_files(tmp_path: Path, codec: str, name: str, way: dict[str, int]) -> None:
    """Known by their bytes, not by their names."""
    lines = [f"{row % 5} qid:{row // 9} 1:{row}.25 2:{row} # d{row}\n" for row in range(2000)]
    text = "".join(lines).encode()
    found = read_text(write(tmp_path, compressed(text, codec), name), **way)
    np.testing.assert_array_equal(found.features, [[row + 0.25, row] for row in range(2000)])
    assert found.doc_ids.to_pylist() == [f"d{row}" for row in range(2000)]
    wrong = compressed(text + b"1 qid:1 x:1\n", codec)
    assert refusal(tmp_path, wrong, **way).startswith("data.txt, line 2001: 'x:1': ")
