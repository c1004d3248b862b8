"""Preference judgements: pairs in any form, kept where data is cut."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from rankforce.data.preferences import Preferences, check_preferences
from rankforce.data.queries import index_queries
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema

NAN, INF = float("nan"), float("inf")
QID = ["b", "a", "b", "a", "c", "b"]
DOCS = ["d1", "d1", "é#2", "d3", "d4", "d5"]


def data_of(**options) -> RankingData:
    """Three queries that do not stand together: b has the rows 0, 2, 5, and a has 1, 3."""
    given = {"qid": QID, "doc_ids": DOCS}
    return RankingData(np.arange(6.0).reshape(6, 1), np.zeros(6), **{**given, **options})


def as_triples(found: Preferences) -> list[tuple[int, int, float]]:
    return list(zip(*(column.tolist() for column in found), strict=True))


class TestForms:
    @pytest.mark.parametrize(
        "given",
        [
            ([2, 3], [0, 1]),
            (np.array([2, 3], np.uint8), np.array([0.0, 1.0])),
            ([2, 3], [0, 1], [1, 1]),
            [[2, 0], [3, 1]],
            [(2, 0, 1), (3, 1, 1)],
            np.array([[2, 0], [3, 1]]),
            np.array([[2, 0, 1.0], [3, 1, 1]]),
            Preferences(np.array([2, 3]), np.array([0, 1]), np.ones(2)),
        ],
    )
    def test_all_are_the_same(self, given):
        found = data_of(preferences=given).preferences
        assert isinstance(found, Preferences)
        assert [column.dtype for column in found] == [np.int64, np.int64, np.float64]
        assert as_triples(found) == [(2, 0, 1.0), (3, 1, 1.0)]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames(self, library):
        frame = pytest.importorskip(library).DataFrame({"hi": [2], "lo": [0], "w": [0.5]})
        assert as_triples(data_of(preferences=frame).preferences) == [(2, 0, 0.5)]

    @pytest.mark.parametrize("given", [[], np.empty((0, 2)), np.empty((0, 3)), ([], []), ((), ())])
    def test_no_pair_is_not_no_preferences(self, given):
        assert as_triples(data_of(preferences=given).preferences) == []
        assert data_of().preferences is None

    def test_pairs_may_repeat_and_contradict(self):
        pairs = [[2, 0], [0, 2], [2, 0]]
        assert as_triples(data_of(preferences=pairs).preferences) == [(*p, 1.0) for p in pairs]

    def test_they_are_not_the_arrays_of_the_caller(self):
        hi, lo, weight = np.array([2]), np.array([0]), np.array([1.0])
        found = data_of(preferences=(hi, lo, weight)).preferences
        hi[0], lo[0], weight[0] = 5, 2, 9
        assert as_triples(found) == [(2, 0, 1.0)]

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ([[2, 0], [6, 0]], r"preferences\[1\]: there is no row 6, expected .* below 6"),
            ([[2, 0], [0, -1]], r"preferences\[1\]: there is no row -1, expected"),
            ([[2, 0], [0.5, 2]], r"preferences\[1\]: there is no row 0.5, expected"),
            ([[NAN, 0]], r"preferences\[0\]: there is no row nan"),
            ([["d1", "d2"]], r"preferences\[0\]: 'd1' is no row, expected a number"),
            (([True], [False]), r"preferences\[0\]: True is no row"),
            ([[2, 0], [2, 2]], r"preferences\[1\]: row 2 is on both sides, expected two rows"),
            (
                [[2, 0], [2, 3]],
                r"preferences\[1\]: row 2 is of query 'b' and row 3 of query 'a', expected one",
            ),
            ([[2, 0, -1]], r"preferences\[0\]: weight -1.0, expected a finite number from 0 up"),
            (([2, 2], [0, 0], [1, NAN]), r"preferences\[1\]: weight nan"),
            (([2], [0], [INF]), r"preferences\[0\]: weight inf"),
            (([2], [0], ["x"]), r"preferences\[0\]: weight 'x', expected a number"),
            (([2, 3], [0]), r"shapes \(2,\), \(1,\), \(2,\): expected one length"),
            (([2], [0], [1], [1]), r"a tuple of 4: expected \(hi, lo\) or"),
            ([[2, 0, 1, 1]], r"preferences has shape \(1, 4\): expected pairs with two or three"),
            ([2, 0], r"preferences has shape \(2,\): expected pairs"),
            ([[2, 0], [3]], "preferences has lines of different lengths"),
        ],
    )
    def test_a_pair_that_cannot_be_is_named(self, given, sentence):
        with pytest.raises(ValueError, match=sentence):
            data_of(preferences=given)
        with pytest.raises(ValueError, match=sentence):
            data_of().with_preferences(given)

    def test_queries_without_ids_are_called_by_number(self):
        for ids in (None, np.array([0, 1])):
            with pytest.raises(ValueError, match="row 0 is of query 0 and row 2 of query 1,"):
                check_preferences([[0, 2]], index_queries(3, group=[2, 1]), ids)


class TestKeeping:
    PAIRS = ([5, 1, 2, 0], [0, 3, 5, 2], [1, 2, 0, 4])

    @pytest.mark.parametrize(
        ("queries", "expected"),
        [
            ([0], [(2, 0, 1.0), (1, 2, 0.0), (0, 1, 4.0)]),
            ([1], [(0, 1, 2.0)]),
            ([2], []),
            ([1, 0], [(0, 1, 2.0), (4, 2, 1.0), (3, 4, 0.0), (2, 3, 4.0)]),
            ([2, 1], [(1, 2, 2.0)]),
            ([], []),
        ],
    )
    def test_taken_queries_have_their_pairs(self, queries, expected):
        taken = data_of(preferences=self.PAIRS).take_queries(queries)
        assert as_triples(taken.preferences) == expected

    @pytest.mark.parametrize("seed", range(20))
    def test_the_same_documents_whatever_is_taken(self, seed):
        rng = np.random.default_rng(seed)
        rows = 40
        qid = rng.integers(0, 6, rows) if seed % 2 else np.sort(rng.integers(0, 6, rows))
        hi, lo = rng.integers(0, rows, (2, 4000))
        fits = (qid[hi] == qid[lo]) & (hi != lo)
        pairs = (hi[fits], lo[fits], rng.random(fits.sum()))
        names = np.arange(rows)
        data = RankingData(np.zeros((rows, 1)), names, qid=qid, preferences=pairs)
        chosen = rng.permutation(len(data.sizes))[: rng.integers(0, 6)]
        taken = data.take_queries(chosen)
        kept = np.isin(qid, data.query_ids[chosen])[pairs[0]]
        expected = sorted(zip(*(column[kept].tolist() for column in pairs), strict=True))
        by_name = [taken.labels[side].astype(int).tolist() for side in taken.preferences[:2]]
        found = sorted(zip(*by_name, taken.preferences.weight.tolist(), strict=True))
        assert found == expected

    def test_a_query_taken_twice_has_its_pairs_twice(self):
        data = RankingData(np.zeros((4, 1)), np.zeros(4), group=[1, 3], preferences=[[3, 1]])
        taken = data.take_queries([1, 0, 1])
        assert as_triples(taken.preferences) == [(2, 0, 1.0), (6, 4, 1.0)]

    def test_queries_without_documents(self):
        data = RankingData(np.zeros((4, 1)), np.zeros(4), group=[0, 2, 0, 2], preferences=[[3, 2]])
        assert as_triples(data.take_queries([2, 3]).preferences) == [(1, 0, 1.0)]

    def test_data_without_preferences_has_none_after(self):
        assert data_of().take_queries([0]).preferences is None

    @pytest.mark.parametrize(
        "again",
        [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))],
        ids=["copy", "deepcopy", "pickle"],
    )
    def test_copies(self, again):
        found = again(data_of(preferences=self.PAIRS)).preferences
        assert isinstance(found, Preferences)
        assert as_triples(found) == as_triples(data_of(preferences=self.PAIRS).preferences)

    def test_categories_of_another_set(self):
        data = data_of(preferences=[[2, 0]], categories={0: list("uvwxyz")})
        changed = data.like(Schema(data.feature_names, {0: list("zyxwvu")}))
        assert changed.features.ravel().tolist() == [5, 4, 3, 2, 1, 0]
        assert as_triples(changed.preferences) == [(2, 0, 1.0)]

    def test_a_copy_with_others_leaves_the_first(self):
        first = data_of(preferences=[[2, 0]], sources={"c": np.arange(6.0)}, weight=np.ones(6))
        second = first.with_preferences([[0, 2], [5, 0]])
        assert len(first.preferences.hi) == 1
        assert as_triples(second.preferences) == [(0, 2, 1.0), (5, 0, 1.0)]
        assert second.features is first.features
        assert list(second.sources) == ["c"]
        assert second.with_preferences(None).preferences is None
