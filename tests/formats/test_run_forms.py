"""Runs and qrels from dictionaries, frames and the objects of other libraries."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from rankforce.formats.trec import as_qrels, as_run, is_run_like, write_run

RUN = {"q1": {"d1": 2.5, "d2": -1.0}, "q2": {"d1": 7.0}}
ROWS = [("q1", "d1", 2.5), ("q1", "d2", -1.0), ("q2", "d1", 7.0)]
LABELS = {"q1": {"d1": 2.5, "d2": 0.0}, "q2": {"d1": 7.0}}  # of ROWS, as labels

Scored = namedtuple("Scored", "query_id doc_id score")
Judged = namedtuple("Judged", "query_id doc_id relevance iteration", defaults=("0",))


class Labelled(NamedTuple):
    query_id: str
    doc_id: str
    label: float


def frame(library: str, rows: Any = ROWS, names: str = "query_id doc_id score") -> Any:
    module = pytest.importorskip(library)
    return module.DataFrame(
        dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))
    )


class TestDictionaries:
    @pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType])
    def test_kinds_of_dictionaries(self, kind: Any) -> None:
        source = kind({query: kind(documents) for query, documents in RUN.items()})
        assert as_run(source) == RUN
        assert as_qrels(source) == LABELS
        assert {type(part) for part in (as_run(source), as_run(source)["q1"])} == {dict}

    def test_defaultdict_stays_as_it_is(self) -> None:
        source: Any = defaultdict(dict, RUN)
        assert as_run(source) == RUN
        assert type(as_run(source)) is dict
        assert list(source) == list(RUN)

    def test_new_dictionaries(self) -> None:
        """What is done to the result is not done to the source."""
        source = {"q": {"d": 1.0}}
        for call in (as_run, as_qrels):
            found = call(source)
            found["q"]["e"] = 2.0
            found["r"] = {}
        assert source == {"q": {"d": 1.0}}

    def test_order_is_kept(self) -> None:
        found = as_run({"z": {"b": 1, "a": 2}, "a": {"c": 1, "b": 3}})
        assert [(query, list(documents)) for query, documents in found.items()] == [
            ("z", ["b", "a"]),
            ("a", ["c", "b"]),
        ]

    def test_ids_become_text(self) -> None:
        found = as_run({7: {np.int64(8): 1, "0010": 2, np.str_("x"): 3, -1: 4}, "0007": {"": 1}})
        assert found == {"7": {"8": 1, "0010": 2, "x": 3, "-1": 4}, "0007": {"": 1}}
        assert {type(document) for document in found["7"]} == {str}

    @pytest.mark.parametrize("wrong", [1.0, math.nan, None, True, b"q", ("q",), np.float64(2), 1j])
    def test_ids_that_are_none(self, wrong: Any) -> None:
        """A float above all: a column of integers with a gap would give 1.0 for 1."""
        with pytest.raises(ValueError, match=r"run: the id of a query is .*: expected text or "):
            as_run({"q": {"d": 1}, wrong: {"d": 1}})
        with pytest.raises(ValueError, match="qrels, query 'q': the id of a document is "):
            as_qrels({"q": {"d": 1, wrong: 1}})

    def test_keys_that_become_the_same(self) -> None:
        with pytest.raises(ValueError, match="run, query '1' is there twice, as text and as a num"):
            as_run({1: {"d": 1}, "1": {"e": 1}})
        with pytest.raises(ValueError, match="qrels, query 'q', document '2' is there twice"):
            as_qrels({"q": {"1": 1, 2: 1, "2": 1}})

    @pytest.mark.parametrize(
        "value", [3, 3.0, np.float32(3), np.int8(3), np.float64(3), np.longdouble(3)]
    )
    def test_numbers(self, value: Any) -> None:
        for call in (as_run, as_qrels):
            found = call({"q": {"a": 0.5, "d": value}})
            assert found == {"q": {"a": 0.5, "d": 3.0}}
            assert type(found["q"]["d"]) is float

    def test_truth_is_a_number(self) -> None:
        assert as_qrels({"q": {"a": True, "b": np.False_}}) == {"q": {"a": 1.0, "b": 0.0}}

    def test_float32_is_not_rounded(self) -> None:
        assert as_run({"q": {"d": np.float32(0.1)}}) == {"q": {"d": float(np.float32(0.1))}}

    @pytest.mark.parametrize(
        "value",
        [
            *[math.nan, math.inf, -math.inf, None, "1", "", b"1", [1.0], {}, 1j, 10**400],
            *[np.float32("nan"), np.float64("-inf"), np.array([1.0]), Fraction(1, 2), np.str_("1")],
        ],
    )
    def test_numbers_that_are_none(self, value: Any) -> None:
        for documents in ({"c": 1.0, "d": value}, {"c": 1, "d": value}):
            with pytest.raises(
                ValueError, match=r"^bm25, query 'q', document 'd': the score is .*: expected a f"
            ):
                as_run({"p": {"d": 1.0}, "q": documents}, name="bm25")
            with pytest.raises(ValueError, match=r"^qrels, query 'q', document 'd': the label is "):
                as_qrels({"q": documents})

    def test_value_of_numpy_is_named_plainly(self) -> None:
        with pytest.raises(ValueError, match="the score is nan: expected"):
            as_run({"q": {"d": np.float64("nan")}})

    def test_labels_below_zero(self) -> None:
        found = as_qrels({"q": {"a": -1, "b": -0.5, "c": -0.0, "d": 0.5}})
        assert found == {"q": {"a": 0, "b": 0, "c": 0, "d": 0.5}}
        assert all(math.copysign(1, label) == 1 for label in found["q"].values())
        assert as_run({"q": {"a": -1}}) == {"q": {"a": -1}}

    def test_query_without_documents(self) -> None:
        assert as_run({"q": {}, "r": {"d": 1}}) == {"q": {}, "r": {"d": 1}}

    @pytest.mark.parametrize("documents", [1.5, None, "d", ["d1", "d2"], [("d", 1.0)], {"d"}])
    def test_no_dictionary_inside(self, documents: Any) -> None:
        expected = "run, query 'r' is .*: expected a dictionary document -> score"
        with pytest.raises(ValueError, match=expected):
            as_run({"q": {"d": 1}, "r": documents})

    def test_long_values_are_cut_in_messages(self) -> None:
        with pytest.raises(ValueError, match="expected a dictionary") as error:
            as_run({"q": list(range(10**5))})
        assert len(str(error.value)) < 200

    @pytest.mark.parametrize("empty", [{}, [], iter([]), ()])
    def test_empty(self, empty: Any) -> None:
        with pytest.raises(ValueError, match=r"^mine holds no queries: expected one or more$"):
            as_run(empty, name="mine")


class TestObjects:
    @pytest.mark.parametrize("shape", [list, tuple, iter, deque, lambda rows: (r for r in rows)])
    def test_shapes(self, shape: Any) -> None:
        assert as_run(shape([Scored(*row) for row in ROWS])) == RUN
        assert as_qrels(shape([Judged(*row) for row in ROWS])) == LABELS

    def test_label_for_relevance(self) -> None:
        assert as_qrels([Labelled(*row) for row in ROWS]) == LABELS

    def test_queries_in_turns(self) -> None:
        found = as_run([Scored("a", "x", 1), Scored("b", "x", 2), Scored("a", "y", 3)])
        assert found == {"a": {"x": 1, "y": 3}, "b": {"x": 2}}

    def test_numbers_as_ids(self) -> None:
        assert as_run([Scored(7, np.int32(8), 1), Scored("7", "9", 1)]) == {"7": {"8": 1, "9": 1}}

    @pytest.mark.parametrize("again", ["x", 1])
    def test_twice(self, again: Any) -> None:
        rows = [("b", again, 1), ("a", "y", 1), ("a", again, 1), ("b", "y", 2), ("a", again, 2)]
        twice = f"row 4: document '{again}' of query 'a' stands twice, first in row 2: expected it"
        with pytest.raises(ValueError, match=f"^bm25, {twice}"):
            as_run((Scored(*row) for row in rows), name="bm25")
        with pytest.raises(ValueError, match=f"^qrels, {twice}"):
            as_qrels([Judged(*row) for row in rows])

    @pytest.mark.parametrize("wrong", [math.nan, "1", None])
    def test_numbers_that_are_none(self, wrong: Any) -> None:
        expected = f"^run, row 1: the score is {wrong!r}: expected a finite number"
        with pytest.raises(ValueError, match=expected):
            as_run([Scored("q", "d", 1.0), Scored("q", "e", wrong)])

    def test_ids_that_are_none(self) -> None:
        with pytest.raises(ValueError, match=r"^run, row 1: the id of a query is None: expected"):
            as_run([Scored("q", "d", 1.0), Scored(None, "e", 1.0)])
        with pytest.raises(ValueError, match=r"^run, row 0: the id of a document is 1\.5"):
            as_run([Scored("q", 1.5, 1.0)])

    def test_one_for_the_other(self) -> None:
        with pytest.raises(ValueError, match=r"row 0 is Judged.*: expected query_id, doc_id, sc"):
            as_run([Judged(*row) for row in ROWS])
        with pytest.raises(
            ValueError, match=r"row 0 is Scored.*relevance, as in ir_measures\.Qrel"
        ):
            as_qrels([Scored(*row) for row in ROWS])

    def test_one_among_many(self) -> None:
        with pytest.raises(ValueError, match=r"^run, row 2 is 'text': expected query_id, doc_id"):
            as_run([*(Scored(*row) for row in ROWS[:2]), "text"])

    @pytest.mark.parametrize("source", [ROWS, [1.0, 2.0], b"path", {"q", "r"}, [RUN]])
    def test_lists_of_other_things(self, source: Any) -> None:
        with pytest.raises(ValueError, match=r"^run, row 0 is .*: expected query_id, doc_id, sc"):
            as_run(source)

    @pytest.mark.parametrize("source", [None, 1.5, np.arange(3.0), np.array(1.0), object(), len])
    def test_other_things(self, source: Any) -> None:
        with pytest.raises(ValueError, match=r"^run is of the type .*: expected a path, a dic"):
            as_run(source)
        with pytest.raises(ValueError, match=r"-> label, a ranx\.Qrels, a list of ir_measures\.Q"):
            as_qrels(source)


@pytest.mark.parametrize("library", ["pandas", "polars"])
class TestFrames:
    @pytest.mark.parametrize("query", ["query_id", "q_id", "qid"])
    @pytest.mark.parametrize("document", ["doc_id", "docid", "docno"])
    def test_names(self, library: str, query: str, document: str) -> None:
        assert as_run(frame(library, names=f"{query} {document} score")) == RUN
        for label in ("relevance", "label", "rel", "score"):
            assert as_qrels(frame(library, names=f"{query} {document} {label}")) == LABELS

    def test_columns_in_any_order_among_others(self, library: str) -> None:
        source = frame(
            library,
            [(0, 9.9, 2.5, "d1", "text", "q1"), (1, 9.9, -1.0, "d2", None, "q1")],
            "rank relevance score docno query qid",
        )
        assert as_run(source) == {"q1": {"d1": 2.5, "d2": -1.0}}
        assert as_qrels(source) == {"q1": {"d1": 9.9, "d2": 9.9}}

    def test_frame_of_pyterrier(self, library: str) -> None:
        """Its docid is a number inside an index, and docno the id that qrels have."""
        source = frame(library, [("q", 17, "d1", 0, 2.5)], "qid docid docno rank score")
        assert as_run(source) == {"q": {"d1": 2.5}}

    def test_whole_numbers(self, library: str) -> None:
        source = frame(library, [(1, 10, 3), (1, 11, -1), (2, 10, 0)])
        assert as_run(source) == {"1": {"10": 3.0, "11": -1.0}, "2": {"10": 0.0}}
        assert as_qrels(source) == {"1": {"10": 3.0, "11": 0.0}, "2": {"10": 0.0}}

    def test_gap_in_a_column(self, library: str) -> None:
        with pytest.raises(ValueError, match=r"row 1: the score is (nan|None): expected a finite"):
            as_run(frame(library, [("q", "d", 1.5), ("q", "e", None)]))
        with pytest.raises(ValueError, match=r"row 1: the id of a document is (nan|None): exp"):
            as_run(frame(library, [("q", "d", 1.5), ("q", None, 2.5)]))
        # In pandas the gap makes floats of integers, and 1.0 is not the query 1.
        with pytest.raises(ValueError, match=r"row [01]: the id of a query is (1\.0|None): expect"):
            as_run(frame(library, [(1, "d", 1.5), (None, "e", 2.5)]))

    def test_text_for_numbers(self, library: str) -> None:
        with pytest.raises(ValueError, match=r"^run, row 0: the score is '1\.5': expected a fin"):
            as_run(frame(library, [("q", "d", "1.5")]))

    def test_twice(self, library: str) -> None:
        source = frame(library, [("q", "d", 1), ("r", "d", 1), ("q", "d", 1)])
        with pytest.raises(ValueError, match=r"^run, row 2: document 'd' of query 'q' stands "):
            as_run(source)

    def test_column_that_is_missing(self, library: str) -> None:
        source = frame(library, names="query doc_id score")
        expected = "columns query, doc_id, score: expected one of the name query_id or q_id or qid"
        with pytest.raises(ValueError, match=f"^run has the {expected}$"):
            as_run(source)
        with pytest.raises(ValueError, match="expected one of the name score"):
            as_run(frame(library, names="qid docno relevance"))

    def test_empty(self, library: str) -> None:
        source = frame(library)[:0]
        with pytest.raises(ValueError, match="run holds no queries"):
            as_run(source)

    def test_written(self, library: str, tmp_path: Path) -> None:
        write_run(frame(library), tmp_path / "a.run")
        assert as_run(tmp_path / "a.run") == RUN


class TestMoreOfFrames:
    def test_categories(self) -> None:
        pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
        source = frame("pandas").astype({"query_id": "category", "doc_id": "category"})
        assert as_run(source) == RUN
        assert as_run(frame("polars").with_columns(pl.col("query_id").cast(pl.Categorical))) == RUN
        assert as_run(pd.DataFrame(source)) == RUN

    def test_index_of_pandas_is_not_looked_at(self) -> None:
        assert as_run(frame("pandas").set_index(np.array([5, 5, 5]))) == RUN

    def test_type_that_derives(self) -> None:
        pd = pytest.importorskip("pandas")

        class Mine(pd.DataFrame):  # type: ignore[misc]
            pass

        assert is_run_like(Mine(frame("pandas")))
        assert as_run(Mine(frame("pandas"))) == RUN

    def test_two_columns_of_a_name(self) -> None:
        pd = pytest.importorskip("pandas")
        source = pd.DataFrame([["q", "d", 1.0, 2.0]], columns=["qid", "docno", "score", "score"])
        with pytest.raises(ValueError, match="score, score: expected one of the name score"):
            as_run(source)

    def test_lazy_frame_is_refused(self) -> None:
        lazy = frame("polars").lazy()
        assert not is_run_like(lazy)
        with pytest.raises(ValueError, match=r"run is of the type polars\..*LazyFrame: expected"):
            as_run(lazy)


class TestPaths:
    @pytest.mark.parametrize("kind", [str, Path])
    def test_read(self, tmp_path: Path, kind: Any) -> None:
        (tmp_path / "a.run").write_text("q Q0 d 1 -2 t\n")
        (tmp_path / "a.qrels").write_text("q 0 d -2\n")
        assert as_run(kind(tmp_path / "a.run")) == {"q": {"d": -2.0}}
        assert as_qrels(kind(tmp_path / "a.qrels")) == {"q": {"d": 0.0}}

    def test_missing(self) -> None:
        with pytest.raises(ValueError, match=re.escape("no-such.run: No such file")):
            as_run("no-such.run")


class TestRunLike:
    @pytest.mark.parametrize(
        "source",
        [
            RUN,
            defaultdict(dict, RUN),
            {7: {8: 1}},
            {"q": {}},
            [Scored("q", "d", 1.0)],
            (Scored("q", "d", 1.0),),
            deque([Scored("q", "d", 1.0)]),
            iter([Scored("q", "d", 1.0)]),
        ],
    )
    def test_runs(self, source: Any) -> None:
        assert is_run_like(source)

    @pytest.mark.parametrize(
        "source",
        [
            *[{}, {"d": 1.0}, {"q": [1.0, 2.0]}, {"q": None}, {"bm25": RUN}],
            *[[], (), [1.0, 2.0], [[1.0]], ["d"], ROWS, [RUN], [None]],
            *[None, 1.0, "a.run", Path("a.run"), b"a.run", object(), range(3), np.arange(3.0)],
            *[np.zeros((2, 2)), np.array(1.0), np.array([]), Scored("q", "d", 1.0)],
        ],
    )
    def test_others(self, source: Any) -> None:
        assert not is_run_like(source)

    def test_an_iterator_is_left_whole(self) -> None:
        source = iter([Scored(*row) for row in ROWS])
        assert is_run_like(source)
        assert as_run(source) == RUN

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames(self, library: str) -> None:
        assert is_run_like(frame(library))
        assert is_run_like(frame(library, names="qid docno score"))
        assert not is_run_like(frame(library, names="qid feature score"))
        assert not is_run_like(frame(library, names="a doc_id score"))
        assert not is_run_like(frame(library)["score"])


def test_no_library_is_imported() -> None:
    """Nothing of other libraries is needed to take dictionaries and objects."""
    code = (
        "import sys; from rankforce.formats.trec import as_run, is_run_like;"
        "as_run({'q': {'d': 1}}); is_run_like([1.0]);"
        "print(sorted({'ranx', 'ir_measures', 'pytrec_eval', 'pandas', 'polars'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
