"""Random runs and qrels through files, and back as they were."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rankforce.formats import trec
from rankforce.formats.trec import as_qrels, as_run, read_qrels, read_run, write_qrels, write_run

PROFILE = settings(max_examples=150, deadline=None, derandomize=True)
ANY_TEXT = st.text(st.characters(), max_size=6)
# What a file can hold: text that split() leaves in one piece.
IDS = ANY_TEXT.filter(lambda text: text.split() == [text] and text.isprintable())
SCORES = st.floats(allow_nan=False, allow_infinity=False)
# Few ids and few scores make ties, and documents that many queries share.
FEW = st.sampled_from(["a", "b", "0010", "10", "é", "Z", "#", "q_1"])


def tables(ids: Any, numbers: Any, *, least: int = 1) -> Any:
    documents = st.dictionaries(ids, numbers, min_size=least, max_size=6)
    return st.dictionaries(ids, documents, min_size=1, max_size=5)


RUNS = st.one_of(tables(IDS, SCORES), tables(FEW, st.sampled_from([0.0, -0.0, 1.0, 1e-320])))
LABELS = st.one_of(st.integers(0, 4).map(float), SCORES.map(abs))
NAMES = st.sampled_from(["a.run", "a.gz", "a.zst"])


def bits(table: dict[str, dict[str, float]]) -> Any:
    """All of it, in an order of its own, and floats so that -0.0 is not 0.0."""
    return {query: {d: x.hex() for d, x in found.items()} for query, found in table.items()}


@given(RUNS, NAMES, IDS)
@PROFILE
def test_runs_come_back(run: trec.Run, name: str, tag: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_run(run, Path(folder, name), tag=tag)
        back = read_run(Path(folder, name))
        assert bits(back) == bits(run)
        assert list(back) == list(run)
        assert bits(as_run(run)) == bits(run)
        # Written again, the file is the same: the order depends on nothing but the run.
        first = Path(folder, name).read_bytes()
        write_run(back, Path(folder, name), tag=tag)
        assert Path(folder, name).read_bytes() == first


@given(RUNS)
@PROFILE
def test_order_of_the_lines(run: trec.Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_run(run, Path(folder, "a.run"))
        lines = [line.split() for line in Path(folder, "a.run").read_text("utf-8").splitlines()]
    found: dict[str, list[tuple[float, bytes]]] = {}
    for query, _, document, rank, score, _ in lines:
        found.setdefault(query, []).append((float(score), document.encode()))
        assert int(rank) == len(found[query])
    # As bytes: trec_eval compares ids with strcmp.
    assert all(pairs == sorted(pairs, reverse=True) for pairs in found.values())


@given(st.one_of(tables(IDS, LABELS), tables(FEW, LABELS)), NAMES)
@PROFILE
def test_qrels_come_back(qrels: trec.Qrels, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_qrels(qrels, Path(folder, name))
        back = read_qrels(Path(folder, name))
    assert bits(back) == bits(qrels)
    assert [list(documents) for documents in back.values()] == [
        list(documents) for documents in qrels.values()
    ]


@given(tables(FEW, SCORES))
@PROFILE
def test_labels_are_never_below_zero(table: trec.Qrels) -> None:
    expected = {q: {d: x if x > 0 else 0.0 for d, x in found.items()} for q, found in table.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.qrels")
        lines = [f"{q} 0 {d} {x!r}\n" for q, found in table.items() for d, x in found.items()]
        path.write_text("".join(lines), "utf-8")
        assert bits(read_qrels(path)) == bits(as_qrels(table)) == bits(expected)


@given(tables(ANY_TEXT, SCORES, least=0))
@settings(PROFILE, max_examples=400)
def test_comes_back_or_is_refused(run: trec.Run) -> None:
    """No text whatever is written that reads back as something else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.run")
        try:
            write_run(run, path)
        except ValueError as error:
            refused = str(error)
        else:
            assert bits(read_run(path)) == bits(run)
            return
        assert "expected text without whitespace" in refused or "leave it out" in refused
        assert list(Path(folder).iterdir()) == []


@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)), st.booleans())
@settings(PROFILE, max_examples=400)
def test_garbage_is_a_clear_error(garbage: bytes, is_run: bool) -> None:
    """Behind a good line: whatever comes, it is a ValueError with the place, or it is a table."""
    first = b"q Q0 d 1 1 t\n" if is_run else b"q 0 d 1\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes(first + garbage)
        try:
            found = read_run(path) if is_run else read_qrels(path)
        except ValueError as error:
            refused = str(error)
        else:
            assert found["q"]["d"] == 1.0
            return
    assert refused.startswith(f"{path}, line ")


WORDS = st.sampled_from(["a", "b", "1", "-1", "1_0", "nan", "inf", "1e400", "é", "٣", "0x1", "Q0"])
LINES = st.lists(st.lists(WORDS, min_size=3, max_size=7), min_size=1, max_size=6)


def is_number(word: str) -> bool:
    return word in ("1", "-1")


@given(LINES, st.sampled_from(["\n", "\r\n", "\n\n"]), st.sampled_from([" ", "\t", "  "]))
@settings(PROFILE, max_examples=600)
def test_what_is_taken(lines: list[list[str]], end: str, blank: str) -> None:
    """Six columns with a number in the fifth, every document once: that, and nothing else."""
    good = all(len(line) == 6 and is_number(line[4]) for line in lines)
    pairs = [(line[0], line[2]) for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_text(end.join(blank.join(line) for line in lines), "utf-8", newline="")
        try:
            found = read_run(path)
        except ValueError:
            assert not good or len(set(pairs)) < len(pairs)
        else:
            assert good
            assert sum(map(len, found.values())) == len(set(pairs)) == len(pairs)
            for query, _, document, _, score, _ in lines:
                assert found[query][document] == float(score)
