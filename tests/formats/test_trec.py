"""TREC files: what is read, what is refused and with which words, and what is written."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path
from typing import Any

import pytest

from rankforce.formats import lines as lines_module
from rankforce.formats.trec import read_qrels, read_run, write_qrels, write_run

RUN_TEXT = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 -1e-3 t\nq2 Q0 d1 1 7 t\n"
RUN = {"q1": {"d1": 2.5, "d2": -1e-3}, "q2": {"d1": 7.0}}
QRELS_TEXT = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\n"
QRELS = {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"d1": 1.0}}


def saved(folder: Path, content: str | bytes, name: str = "a.run") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def assert_plain(found: Any) -> None:
    """Dictionaries of Python's own, with text and floats: no defaultdict, no numbers of NumPy."""
    assert type(found) is dict
    for query, documents in found.items():
        assert (type(query), type(documents)) == (str, dict)
        assert {type(document) for document in documents} <= {str}
        assert {type(number) for number in documents.values()} <= {float}


class TestReading:
    def test_run(self, tmp_path: Path) -> None:
        found = read_run(saved(tmp_path, RUN_TEXT))
        assert found == RUN
        assert_plain(found)

    def test_qrels(self, tmp_path: Path) -> None:
        found = read_qrels(str(saved(tmp_path, QRELS_TEXT)))
        assert found == QRELS
        assert_plain(found)

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace(" ", "\t"),
            lambda text: text.replace(" ", " \t  "),
            lambda text: text.replace(" ", "\x0b\x0c\r\x1c\x85\u2028"),  # end no line
            lambda text: text.replace("\n", "\r\n"),
            lambda text: text.replace("\n", " \n\n \t\n"),
            lambda text: "\n\r\n" + text,
            lambda text: "\ufeff" + text,
            lambda text: "\ufeff\r\n" + text,
            lambda text: text.rstrip("\n"),
            lambda text: "  " + text.replace("\n", "\n  "),
        ],
    )
    def test_blanks_line_ends_and_byte_order_mark(self, tmp_path: Path, change: Any) -> None:
        assert read_run(saved(tmp_path, change(RUN_TEXT))) == RUN
        assert read_qrels(saved(tmp_path, change(QRELS_TEXT))) == QRELS

    @pytest.mark.parametrize("codec", ["gzip", "zstd"])
    def test_packed_whatever_the_name(self, tmp_path: Path, codec: str) -> None:
        pa = pytest.importorskip("pyarrow")
        path = tmp_path / "packed.run"
        with pa.output_stream(str(path), compression=codec) as stream:
            stream.write(RUN_TEXT.encode())
        assert path.read_bytes() != RUN_TEXT.encode()
        assert read_run(path) == RUN

    def test_ids_stay_text(self, tmp_path: Path) -> None:
        ids = ["0010", "10", "1e3", "nan", "é日本𝄞", "#7", "a,b;c:d", "-0", "null", '"x"', "Q0"]
        lines = [f"{query} Q0 {document} 1 1 t" for query in ids for document in ids]
        found = read_run(saved(tmp_path, "\n".join(lines)))
        assert found == {query: dict.fromkeys(ids, 1.0) for query in ids}
        assert [list(documents) for documents in found.values()] == [ids] * len(ids)

    def test_queries_that_come_again(self, tmp_path: Path) -> None:
        """A file sorted by score has its queries in turns; a document may be in many."""
        text = "a Q0 x 1 3 t\nb Q0 x 1 2 t\na Q0 y 2 1 t\nb Q0 y 2 0 t\n"
        assert read_run(saved(tmp_path, text)) == {"a": {"x": 3, "y": 1}, "b": {"x": 2, "y": 0}}

    def test_ranks_and_the_rest_are_not_looked_at(self, tmp_path: Path) -> None:
        text = "a zero x nan 1 t\na 0 y -3 2 other\n"
        assert read_run(saved(tmp_path, text)) == {"a": {"x": 1, "y": 2}}
        assert read_qrels(saved(tmp_path, "a Q0 x 1\na I y 1\n")) == {"a": {"x": 1, "y": 1}}

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            *[("1", 1.0), ("+1", 1.0), ("-2.50", -2.5), (".5", 0.5), ("5.", 5.0)],
            *[("1e-400", 0.0), ("1E5", 1e5), ("-1.7976931348623157e308", -1.7976931348623157e308)],
            *[("0.1", 0.1), ("5e-324", 5e-324), ("9007199254740993", 9007199254740992.0)],
        ],
    )
    def test_numbers(self, tmp_path: Path, text: str, value: float) -> None:
        assert read_run(saved(tmp_path, f"q Q0 d 1 {text} t")) == {"q": {"d": value}}
        assert read_qrels(saved(tmp_path, f"q 0 d {text}")) == {"q": {"d": max(value, 0.0)}}

    def test_negative_zero(self, tmp_path: Path) -> None:
        score = read_run(saved(tmp_path, "q Q0 d 1 -0.0 t"))["q"]["d"]
        label = read_qrels(saved(tmp_path, "q 0 d -0"))["q"]["d"]
        assert (math.copysign(1, score), math.copysign(1, label)) == (-1, 1)

    def test_labels_below_zero_and_fractions(self, tmp_path: Path) -> None:
        path = saved(tmp_path, "q 0 a -1\nq 0 b -2\nq 0 c 0.5\nq 0 d -0.5\nq 0 e 3.0\n")
        assert read_qrels(path) == {"q": {"a": 0, "b": 0, "c": 0.5, "d": 0, "e": 3}}

    @pytest.mark.parametrize("block_bytes", [1, 7, 64, 1 << 20])
    def test_blocks_of_any_size(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
    ) -> None:
        """Lines and letters of several bytes that a block cuts, and the lines that are counted."""
        monkeypatch.setattr(lines_module, "BLOCK_BYTES", block_bytes)
        lines = [f"q{i // 7} Q0 é日本𝄞{i} 1 {i}.5 t" for i in range(60)]
        expected: dict[str, dict[str, float]] = {}
        for i in range(60):
            expected.setdefault(f"q{i // 7}", {})[f"é日本𝄞{i}"] = i + 0.5
        assert read_run(saved(tmp_path, "\n\n".join(lines))) == expected
        lines[50] = "q0 Q0 é日本𝄞3 1 1 t"
        with pytest.raises(ValueError, match=r"a.run, line 101: .* first on line 7: "):
            read_run(saved(tmp_path, "\n\n".join(lines)))


class TestRefused:
    @pytest.mark.parametrize(
        "number",
        [
            *["nan", "NaN", "-nan", "inf", "-inf", "+Infinity", "1e400", "-1e400", "1_000", "_1"],
            *["٣", "１", "x", "1,5", "0x10", "1e", "--1", "1.2.3", "None", "true", "²", "9" * 400],
        ],
    )
    def test_numbers(self, tmp_path: Path, number: str) -> None:
        path = saved(tmp_path, f"q Q0 c 1 1 t\n\nq Q0 d 1 {number} t")
        message = f"{path}, line 3: the score is {number!r}: expected a finite number"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_run(path)
        path = saved(tmp_path, f"q 0 d {number}\n")
        message = f"{path}, line 1: the label is {number!r}: expected a finite number"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_qrels(path)

    @pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 50])
    @pytest.mark.parametrize("before", ["", "\n \n", "q Q0 c 1 1 t\n"])
    def test_columns_of_a_run(self, tmp_path: Path, count: int, before: str) -> None:
        path = saved(tmp_path, before + "1 " * count)
        line = before.count("\n") + 1
        with pytest.raises(ValueError, match=f"line {line}: '1.*': {count} columns") as error:
            read_run(path)
        assert "expected 6, 'qid Q0 docid rank score tag'" in str(error.value)
        # A line that is cut, below good ones, makes no other file.
        is_like = "this looks like a qrels file" in str(error.value)
        assert is_like == (count == 4 and "q" not in before)

    @pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7])
    @pytest.mark.parametrize("before", ["", "\n \n", "q 0 c 1\n"])
    def test_columns_of_qrels(self, tmp_path: Path, count: int, before: str) -> None:
        path = saved(tmp_path, before + "1 " * count)
        with pytest.raises(ValueError, match=f"{count} columns") as error:
            read_qrels(path)
        assert "expected 4, 'qid iteration docid label'" in str(error.value)
        is_like = "this looks like a run file" in str(error.value)
        assert is_like == (count == 6 and "q" not in before)

    def test_one_for_the_other(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"'q1 0 d1 2': .* like a qrels file"):
            read_run(saved(tmp_path, QRELS_TEXT))
        with pytest.raises(ValueError, match=r"'q1 Q0 d1 1 2.5 t': .* like a run file"):
            read_qrels(saved(tmp_path, RUN_TEXT))

    def test_long_lines_are_cut_in_messages(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="5000 columns") as error:
            read_run(saved(tmp_path, "word " * 5000))
        assert len(str(error.value)) < 300

    def test_document_twice(self, tmp_path: Path) -> None:
        """With the same score too, and with another query in between."""
        text = "b Q0 x 1 1 t\r\n\r\na Q0 x 1 1 t\r\nb Q0 y 1 1 t\r\na Q0 x 2 1 t\r\n"
        path = saved(tmp_path, text)
        message = (
            f"{path}, line 5: document 'x' of query 'a' stands twice, "
            "first on line 3: expected it once"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_run(path)
        path = saved(tmp_path, "a 0 x 1\na 0 x 0\n")
        with pytest.raises(ValueError, match=r"line 2: document 'x' .* first on line 1"):
            read_qrels(path)

    @pytest.mark.parametrize("content", ["", "\n", " \r\n\t\n", "\ufeff", "\ufeff\n"])
    def test_empty(self, tmp_path: Path, content: str) -> None:
        path = saved(tmp_path, content)
        with pytest.raises(ValueError, match=r"a.run: holds no run: expected lines such as 'qid Q"):
            read_run(path)
        with pytest.raises(ValueError, match=r"a.run: holds no qrels: expected lines such as 'qid"):
            read_qrels(path)

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (bytes(range(256)) * 10, 1),
            (b"q Q0 d 1 1 t\nq Q0 \xff 1 1 t\n", 2),
            (b"q Q0 d 1 1 t\n\nq Q0 d\xc3 1 1 t\n", 3),
            (b"q Q0 d 1 1 t\nq Q0 \0e 1 1 t\n", 2),
            (b"q Q0 d 1 1 \0\n", 1),
            (b"PAR1\x15\x04\x15\0\n", 1),
            (b"q Q0 \xff 1 1 t\nq Q0 \0e 1 1 t\n", 1),
            (b"q Q0 \0e 1 1 t\nq Q0 \xff 1 1 t\n", 1),
            ("q Q0 d 1 1 t\n".encode("utf-16"), 1),
            (b"\0" * 3_000_000, 1),
        ],
    )
    def test_no_text(self, tmp_path: Path, content: bytes, line: int) -> None:
        with pytest.raises(ValueError, match=rf"a\.run, line {line}: .*(not text|NUL)") as error:
            read_run(saved(tmp_path, content))
        assert len(str(error.value)) < 500

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"none\.run: No such file"):
            read_run(tmp_path / "none.run")
        with pytest.raises(ValueError, match="is a folder"):
            read_qrels(tmp_path)

    def test_packed_file_that_is_cut_off(self, tmp_path: Path) -> None:
        packed = gzip.compress("".join(f"q Q0 d{i} 1 {i} t\n" for i in range(9000)).encode())
        with pytest.raises(ValueError, match=r"a\.run: the file is cut off"):
            read_run(saved(tmp_path, packed[: len(packed) // 2]))


class TestWriting:
    def test_run(self, tmp_path: Path) -> None:
        """Queries as they come; documents best first, and ties by id, the highest first."""
        run = {
            "z": {"d10": 1.0, "d9": 1.0, "é": 1.0, "Z": 1.0, "top": 1e300},
            "a": {"plus": 0.0, "minus": -0.0, "low": -5, "tiny": 5e-324, "third": 1 / 3},
        }
        write_run(run, tmp_path / "a.run", tag="mine")
        assert (tmp_path / "a.run").read_bytes().decode() == (
            "z Q0 top 1 1e+300 mine\n"
            "z Q0 é 2 1.0 mine\n"
            "z Q0 d9 3 1.0 mine\n"
            "z Q0 d10 4 1.0 mine\n"
            "z Q0 Z 5 1.0 mine\n"
            "a Q0 third 1 0.3333333333333333 mine\n"
            "a Q0 tiny 2 5e-324 mine\n"
            "a Q0 plus 3 0.0 mine\n"
            "a Q0 minus 4 -0.0 mine\n"
            "a Q0 low 5 -5.0 mine\n"
        )
        back = read_run(tmp_path / "a.run")
        assert back == run
        assert math.copysign(1, back["a"]["minus"]) == -1

    def test_tag_of_its_own(self, tmp_path: Path) -> None:
        write_run({"q": {"d": 1}}, str(tmp_path / "a.run"))
        assert (tmp_path / "a.run").read_text() == "q Q0 d 1 1.0 rankforce\n"

    def test_qrels(self, tmp_path: Path) -> None:
        """Whole labels without a point; below 0 is 0; the order is the caller's."""
        write_qrels({"z": {"b": 3, "a": 0.0, "c": 0.5}, "a": {"b": -2, "c": 1e20}}, tmp_path / "q")
        text = "z 0 b 3\nz 0 a 0\nz 0 c 0.5\na 0 b 0\na 0 c 100000000000000000000\n"
        assert (tmp_path / "q").read_text() == text
        assert read_qrels(tmp_path / "q")["a"] == {"b": 0.0, "c": 1e20}

    @pytest.mark.parametrize(("ending", "magic"), [(".gz", b"\x1f\x8b"), (".zst", b"\x28\xb5")])
    def test_packed(self, tmp_path: Path, ending: str, magic: bytes) -> None:
        run, qrels = tmp_path / f"a.run{ending}", tmp_path / f"a.qrels{ending}"
        write_run(RUN, run)
        write_qrels(QRELS, qrels)
        assert run.read_bytes().startswith(magic)
        assert (read_run(run), read_qrels(qrels)) == (RUN, QRELS)
        first = run.read_bytes()
        write_run(RUN, run)
        assert run.read_bytes() == first

    def test_packed_is_plain_gzip(self, tmp_path: Path) -> None:
        write_qrels(QRELS, tmp_path / "a.gz")
        assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == QRELS_TEXT

    def test_from_file_to_file(self, tmp_path: Path) -> None:
        write_run(saved(tmp_path, RUN_TEXT), tmp_path / "b.run.gz")
        assert read_run(tmp_path / "b.run.gz") == RUN

    @pytest.mark.parametrize(
        "wrong",
        [
            *["", " ", "a b", "a\tb", "a\n", "\r", "a\u00a0b", "\u3000", "a\x1cb", "\x85"],
            *["\u2028", "a\0b", "\ufeffa", "a\ud800"],
        ],
    )
    def test_ids_that_no_reader_gives_back(self, tmp_path: Path, wrong: str) -> None:
        path = tmp_path / "a"
        shown = f"{re.escape(repr(wrong))}: expected text without whitespace$"
        for call in (write_run, write_qrels):
            with pytest.raises(ValueError, match=f"a, query 'q': the document id is {shown}"):
                call({"good": {"d": 1}, "q": {"d": 1, wrong: 1}}, path)
            with pytest.raises(ValueError, match=f"a: the query id is {shown}"):
                call({"good": {"d": 1}, wrong: {"d": 1}}, path)
        with pytest.raises(ValueError, match=f"a: the tag is {shown}"):
            write_run(RUN, path, tag=wrong)
        assert list(tmp_path.iterdir()) == []

    def test_what_was_there_stays_when_writing_fails(self, tmp_path: Path) -> None:
        path = saved(tmp_path, RUN_TEXT)
        with pytest.raises(ValueError, match="the document id is 'a b'"):
            write_run({"q": {"d": 1}, "r": {"a b": 1}}, path)
        assert path.read_text() == RUN_TEXT
        assert list(tmp_path.iterdir()) == [path]

    def test_queries_without_documents(self, tmp_path: Path) -> None:
        """They would be gone from the file without a word, and a mean over queries with them."""
        for call in (write_run, write_qrels):
            with pytest.raises(ValueError, match=r"query 'r' has no documents.*: leave it out"):
                call({"q": {"d": 1}, "r": {}}, tmp_path / "a")
            with pytest.raises(ValueError, match="holds no queries"):
                call({}, tmp_path / "a")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1"])
    def test_numbers_that_are_none(self, tmp_path: Path, value: Any) -> None:
        for call, what in ((write_run, "score"), (write_qrels, "label")):
            message = f"query 'q', document 'd': the {what} is {value!r}: expected a finite number"
            with pytest.raises(ValueError, match=message):
                call({"q": {"d": value}}, tmp_path / "a")
        assert list(tmp_path.iterdir()) == []

    def test_no_place_for_a_file(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "none" / "a.run"):
            with pytest.raises(ValueError, match="expected the name of a file in a folder"):
                write_run(RUN, path)
