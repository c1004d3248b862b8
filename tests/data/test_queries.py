"""Which rows belong to which query."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import rankforce as rf
from rankforce.data.queries import index_queries, spans


def test_sizes() -> None:
    index = index_queries(6, group=[2, 0, 3, 1])
    assert index.pointer.tolist() == [0, 2, 2, 5, 6]
    assert index.sizes.tolist() == [2, 0, 3, 1]
    assert index.key.tolist() == [0, 1, 2, 3]
    assert len(index.row) == 0


def test_neither_means_one_query() -> None:
    assert index_queries(6).pointer.tolist() == [0, 6]
    assert index_queries(0).sizes.tolist() == [0]


def test_ids_in_order_keep_rows_where_they_are() -> None:
    index = index_queries(5, qid=[7, 7, 3, 3, 3])
    assert index.pointer.tolist() == [0, 2, 5]
    assert len(index.row) == 0
    assert index.key.tolist() == [7, 3]


def test_ids_that_come_back() -> None:
    """Queries in order of first appearance, rows of a query in the caller's order."""
    qid = ["b", "a", "b", "c", "a", "b"]
    index = index_queries(6, qid=qid)
    assert index.pointer.tolist() == [0, 3, 5, 6]
    assert index.row.tolist() == [0, 2, 5, 1, 4, 3]
    values = np.array([10, 11, 12, 13, 14, 15])
    assert index.places(values).tolist() == [10, 12, 15, 11, 14, 13]


@pytest.mark.parametrize(
    "qid",
    [
        np.array([5, 5, -1, -1], np.int8),
        np.array([2**63 + 1, 2**63 + 1, 3, 3], np.uint64),
        np.array([True, True, False, False]),
        np.array([0.5, 0.5, 1.5, 1.5]),
        np.array(["x", "x", "y", "y"]),
        np.array(["x", "x", "y", "y"], dtype=object),
        [10**6, 10**6, 7, 7],
    ],
    ids=lambda qid: str(getattr(qid, "dtype", "list")),
)
def test_ids_of_any_type(qid: object) -> None:
    index = index_queries(4, qid=qid)  # type: ignore[arg-type]
    assert index.pointer.tolist() == [0, 2, 4]
    assert index.key.dtype == np.uint64
    assert len(set(index.key.tolist())) == 2


def test_whole_ids_are_their_own_keys() -> None:
    """So that a query draws the same wherever it stands, and in any integer type."""
    for dtype in (np.int16, np.int64, np.uint32):
        assert index_queries(3, qid=np.array([9, 9, 4], dtype)).key.tolist() == [9, 4]


def test_texts_have_the_same_key_in_every_process() -> None:
    first = index_queries(2, qid=["q1", "q2"]).key
    assert first.tolist() == index_queries(2, qid=["q1", "q2"]).key.tolist()
    assert index_queries(3, qid=["q0", "q1", "q2"]).key[1:].tolist() == first.tolist()
    digests = [hashlib.blake2b(text, digest_size=8).digest() for text in (b"q1", b"q2")]
    assert first.tolist() == [int.from_bytes(digest, "little") for digest in digests]


FORMS = {
    "int64": np.array([12, 12, -3, 0]),
    "int8": np.array([12, 12, -3, 0], np.int8),
    "float64": np.array([12.0, 12.0, -3.0, -0.0]),
    "float32": np.array([12.0, 12.0, -3.0, 0.0], np.float32),
    "texts": ["12", "12", "-3", "0"],
    "array of texts": np.array(["12", "12", "-3", "0"]),
    "bytes": np.array([b"12", b"12", b"-3", b"0"]),
    "objects": np.array([12, "12", -3.0, np.int32(0)], object),
    "list of several": [12, "12", np.float32(-3.0), False],
    "pandas": pd.Series(["12", "12", "-3", "0"]),
    "categories": pd.Series([12, 12, -3, 0], dtype="category"),
}


@pytest.mark.parametrize("qid", FORMS.values(), ids=FORMS)
def test_an_id_is_what_it_reads_as(qid: Any) -> None:
    index = index_queries(4, qid=qid)
    assert index.pointer.tolist() == [0, 2, 3, 4]
    assert index.key.tolist() == [12, 2**64 - 3, 0]


def test_texts_that_only_look_like_numbers_are_texts() -> None:
    qid = ["1", "01", "+1", " 1", "1.0", "1_0", "٣", "-0", "", str(2**64), "9" * 5000]
    keys = index_queries(len(qid), qid=qid).key.tolist()
    assert keys[0] == 1
    assert len(set(keys)) == len(qid)
    assert min(keys[1:]) > 10**6
    assert index_queries(2, qid=[2**70, str(2**70)]).sizes.tolist() == [2]
    assert index_queries(3, qid=[1.5, "1.5", "a"]).sizes.tolist() == [2, 1]


def test_the_model_does_not_depend_on_the_type_of_ids() -> None:
    data = rf.make_data("yahoo", queries=40)
    whole = data.index.of_rows() * 7 + 100

    def scores(qid: Any) -> NDArray[np.float64]:
        same = rf.RankingData(data.features, data.labels, qid=qid)
        how = {"n_estimators": 4, "num_leaves": 6, "subsample": 0.6, "progress": False}
        return rf.Ranker("lambdamart-ex random", k=3, **how).fit(same).predict(same)

    expected = scores(whole)
    for other in (whole.astype(float), whole.astype(str), whole.astype(str).astype(object)):
        assert np.array_equal(scores(other), expected)


WRONG = {
    "None": ([1, "a", None], "qid of row 2 is None: every row needs a query id"),
    "NaN among texts": (["a", float("nan")], "qid of row 1 is nan: every row needs a query id"),
    "infinity among texts": ([float("inf"), "a"], "qid of row 0 is inf"),
    "NA of pandas": (np.array([1, pd.NA], object), "qid of row 1 is <NA>"),
    "no date": (np.array(["2020-01-01", "NaT"], "M8[D]"), "qid of row 1 is None"),
    "half of a character": (["a", "b", "c\udc80"], r"qid of row 2 is 'c\\udc80': half of a"),
    "half of one, as objects": (np.array(["\ud800"], object), r"qid of row 0 is '\\ud800'"),
    "a dictionary": (np.array([{1: 2}, 3], object), "qid of row 0 is .*: an id is a number or a"),
    "lists": ([[1], 2], "qid must hold one id for each row: an id is a number or a text"),
}


@pytest.mark.parametrize(("qid", "message"), WRONG.values(), ids=WRONG)
def test_ids_that_are_wrong(qid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        index_queries(len(qid), qid=qid)
    assert "\n" not in str(caught.value)


def test_rows_of_an_index_know_their_query_and_place() -> None:
    mixed = ["b", "a", "b", "a", "c", "b"]
    for qid in (mixed, sorted(mixed)):
        index = index_queries(6, qid=qid)
        names = np.array(["b", "a", "c"] if qid is mixed else ["a", "b", "c"])
        assert names[index.of_rows()].tolist() == list(qid)
        assert index.places(np.arange(6))[index.place_of_rows()].tolist() == list(range(6))
    assert spans(np.array([3, 5, 0]), np.array([3, 7, 1])).tolist() == [5, 6, 0]
    assert spans(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []
