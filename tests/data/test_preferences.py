"""Preference judgements: pairs in any form, read from a file, and kept where data is cut."""

from __future__ import annotations

import copy
import gzip
import pickle

import numpy as np
import pytest

from rankforce.data.preferences import Preferences, check_preferences, read_preferences
from rankforce.data.queries import index_queries, spans
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


class TestReading:
    def read(self, folder, text, data=None, **options):
        path = folder / "p.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return as_triples(read_preferences(path, data_of() if data is None else data, **options))

    def test_documents_by_query_and_id(self, tmp_path):
        text = "# judged side by side\n\nb é#2 d1 0.5\n  a\td3  d1\r\nb d1 d5 2 # sure\n#end"
        assert self.read(tmp_path, text) == [(2, 0, 0.5), (3, 1, 1.0), (0, 5, 2.0)]

    @pytest.mark.parametrize("text", ["2 0\n3 1 0.5\n", "2 0 1\n3 1 .5\n0 2 1\n3 1"])
    def test_rows(self, tmp_path, text):
        found = self.read(tmp_path, text)
        assert found[:2] == [(2, 0, 1.0), (3, 1, 0.5)]

    def test_three_words_are_ids_where_there_are_some(self, tmp_path):
        ids = {"qid": [0] * 6, "doc_ids": list("210543")}
        assert self.read(tmp_path, "0 2 1\n", data_of(**ids)) == [(0, 1, 1.0)]
        assert self.read(tmp_path, "0 2 1\n", data_of(**ids), by="rows") == [(0, 2, 1.0)]
        assert self.read(tmp_path, "0 2 3\n", data_of(doc_ids=None)) == [(0, 2, 3.0)]

    def test_numbers_as_query_ids(self, tmp_path):
        data = data_of(qid=[7, 7, -3, -3, 7, 7], doc_ids=[10, 11, 12, 13, 14, 15])
        assert self.read(tmp_path, "-3 13 12\n7 14 10 0\n", data) == [(3, 2, 1.0), (4, 0, 0.0)]

    def test_queries_of_given_sizes_are_called_by_number(self, tmp_path):
        data = data_of(qid=None, group=[2, 4])
        assert self.read(tmp_path, "1 d5 d3\n", data) == [(5, 3, 1.0)]

    @pytest.mark.parametrize("codec", ["gzip", "zstd"])
    def test_packed(self, tmp_path, codec):
        pa = pytest.importorskip("pyarrow")
        text = b"b d5 d1\n"
        packed = gzip.compress(text) if codec == "gzip" else pa.compress(text, codec, asbytes=True)
        assert self.read(tmp_path, packed) == [(5, 0, 1.0)]

    def test_document_ids_of_a_text_file(self, tmp_path):
        pytest.importorskip("pyarrow")
        from rankforce.formats.read import read

        text = "".join(f"0 qid:{q} 1:1 # docid = {d}\n" for q, d in zip(QID, DOCS, strict=True))
        (tmp_path / "s.txt").write_text(text)
        (tmp_path / "s.txt.preferences").write_text("b é#2 d1\n")
        data = read(tmp_path / "s.txt")
        assert data.preferences is None  # only where it is asked for
        found = read_preferences(tmp_path / "s.txt.preferences", data)
        assert as_triples(data.with_preferences(found).preferences) == [(2, 0, 1.0)]

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", ": holds no preferences: expected lines 'qid docid_hi docid_lo"),
            ("# none\n\n", ": holds no preferences"),
            ("b d1 d5\nx d1 d5\n", ", line 2: no query 'x' in the data: it has 'b', 'a', 'c' .by="),
            ("b d1 d5 1\nx d1 d5 1\n", ", line 2: no query 'x' in the data: it has 'b', 'a', 'c'$"),
            ("\nb d1 d3\n", ", line 2: no document 'd3' in query 'b': it has 'd1', 'é#2', 'd5'$"),
            ("b d1 d1\n", ", line 1: row 0 is on both sides, expected two rows"),
            ("b d1 d5 x\n", ", line 1: weight 'x', expected a finite number from 0 up"),
            ("b d1 d5 -1\n", ", line 1: weight '-1', expected"),
            ("b d1 d5 nan\n", ", line 1: weight 'nan', expected"),
            ("b d1 d5 1_0\n", ", line 1: weight '1_0', expected"),
            ("b d1 d5 1 1\n", ", line 1: 5 words, expected 'qid docid_hi docid_lo"),
            ("b\n", ", line 1: 1 words, expected"),
            ("b d1 d5 1\n# x\n0 2\n", ": line 3 has two words and line 1 has four, expected"),
            ("0 2\n0 6\n", ", line 2: there is no row '6', expected an integer below 6"),
            ("0 -1\n", ", line 1: there is no row '-1'"),
            ("0 " + "9" * 5000, ", line 1: there is no row '999"),
            ("0 ٢\n", ", line 1: there is no row '٢'"),
            ("0 2\n0 1\n", ", line 2: row 0 is of query 'b' and row 1 of query 'a', expected one"),
            (b"b d1 \xff\n", ", line 1: .*not text: expected UTF-8"),
        ],
    )
    def test_a_line_that_cannot_be_is_named(self, tmp_path, text, sentence):
        with pytest.raises(ValueError, match=r"p\.txt" + sentence) as caught:
            self.read(tmp_path, text)
        assert str(caught.value).startswith(str(tmp_path))
        assert "\n" not in str(caught.value)

    def test_an_id_that_stands_twice_is_only_wrong_where_it_is_used(self, tmp_path):
        data = data_of(doc_ids=["d", "e", "d", "f", "g", "h"])
        sentence = r"line 2: document 'd' stands twice in query 'b', in rows 0 and 2: expected ids"
        with pytest.raises(ValueError, match=sentence):
            self.read(tmp_path, "a e f\nb h d\n", data)
        assert self.read(tmp_path, "a e f\n", data) == [(1, 3, 1.0)]

    def test_ids_for_data_without_any(self, tmp_path):
        with pytest.raises(ValueError, match=r"p\.txt: names documents by id, but the data has no"):
            self.read(tmp_path, "b d1 d5 1\n", data_of(doc_ids=None))

    def test_an_unknown_way_and_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(ValueError, match="by is 'row': choose 'ids', 'rows' or None"):
            read_preferences(tmp_path / "p.txt", data_of(), by="row")
        with pytest.raises(ValueError, match=r"none\.txt: No such file"):
            read_preferences(tmp_path / "none.txt", data_of())


def test_rows_of_an_index_know_their_query_and_place():
    for qid in (QID, sorted(QID)):
        index = index_queries(6, qid=qid)
        names = np.array(["b", "a", "c"] if qid is QID else ["a", "b", "c"])
        assert names[index.of_rows()].tolist() == list(qid)
        assert index.places(np.arange(6))[index.place_of_rows()].tolist() == list(range(6))
    assert spans(np.array([3, 5, 0]), np.array([3, 7, 1])).tolist() == [5, 6, 0]
    assert spans(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []
