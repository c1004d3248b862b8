"""Preference judgements that are read from a file."""

from __future__ import annotations

import gzip

import pytest

from rankforce.formats.preferences import read_preferences
from tests.data.test_preferences import DOCS, QID, as_triples, data_of


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
