"""Several label columns: their names, how they are read, and the file of them beside text."""

from __future__ import annotations

import copy
import gzip
import pickle

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema
from rankforce.formats import lines
from rankforce.formats.labels import labels_place, read_labels
from rankforce.formats.roles import split_labels
from rankforce.formats.write import write

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NAN = float("nan")
CLICKS = [0.5, NAN, 0.25, 0.0]


def small(**options) -> RankingData:
    """Queries that do not stand together, and a categorical feature."""
    given = {
        "qid": ["b", "a", "b", "a"],
        "label_name": "grade",
        "sources": {"clicks": CLICKS, "frische": [1.0, 2, 3, 4]},
        "categorical": [1],
        "categories": {1: ["red", "blue"]},
    }
    X = [[0.0, 1], [1, 0], [2, NAN], [3, 1]]
    return RankingData(X, [2, 0, 1, 3], **{**given, **options})


def text_file(folder, rows=4, name="s.txt"):
    path = folder / name
    text = "".join(f"{row % 3} qid:{row // 2} 1:{row}\n" for row in range(rows)).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


class TestNames:
    def test_a_column_by_any_of_its_names(self):
        data = small()
        assert data.label_names == ["grade", "clicks", "frische"]
        for name in (None, "label", "grade"):
            assert data.column(name) is data.labels
        assert data.column("clicks") is data.sources["clicks"]
        assert RankingData([[1]], [1], qid=[1]).label_names == ["label"]

    def test_a_source_called_label_is_not_the_label(self):
        data = small(sources={"label": CLICKS})
        np.testing.assert_array_equal(data.column("label"), CLICKS)
        assert data.column("grade").tolist() == data.column(None).tolist() == [2, 0, 1, 3]

    @pytest.mark.parametrize("name", ["click", "", "Grade", "é"])
    def test_an_unknown_column_is_named(self, name):
        sentence = f"^no label column '{name}': the data has 'grade', 'clicks', 'frische'$"
        with pytest.raises(ValueError, match=sentence):
            small().column(name)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"label_name": "clicks"}, "source 'clicks' has the name of the label: expected anot"),
            ({"label_name": ""}, "'' is no name of a label column: expected text"),
            ({"sources": {3: CLICKS}}, "3 is no name of a label column: expected text"),
            ({"sources": {"c": [1.0]}}, r"source 'c' have shape \(1,\), but there are 4 rows"),
            ({"sources": {"c": [0, 1, np.inf, 2]}}, "source 'c': row 2 is inf, expected finite"),
        ],
    )
    def test_names_and_values_that_cannot_be(self, options, sentence):
        with pytest.raises(ValueError, match=sentence):
            small(**options)

    @pytest.mark.parametrize(
        "again",
        [
            copy.copy,
            copy.deepcopy,
            lambda data: pickle.loads(pickle.dumps(data)),
            lambda data: data.like(Schema(data.feature_names, {1: ["blue", "red"]})),
            lambda data: data.with_preferences([[0, 2]]),
            lambda data: data.take_queries([0, 1]),
        ],
        ids=["copy", "deepcopy", "pickle", "categories", "preferences", "queries"],
    )
    def test_every_copy_keeps_them(self, again):
        found = again(small())
        assert found.label_names == ["grade", "clicks", "frische"]
        assert found.categorical == [1]
        assert sorted(found.categories[1]) == ["blue", "red"]
        assert sorted(found.column("frische").tolist()) == [1, 2, 3, 4]

    def test_taken_queries_have_their_own_values(self):
        taken = small().take_queries([1])
        np.testing.assert_array_equal(taken.column("clicks"), [NAN, 0.0])
        assert taken.column("grade").tolist() == [0, 3]
        assert taken.qid.tolist() == ["a", "a"]

    def test_data_without_labels_stays_so(self):
        assert not RankingData([[1], [2]], qid=[1, 2]).take_queries([0]).has_labels

    @pytest.mark.parametrize(
        ("queries", "sentence"),
        [
            ([0, -1], r"queries\[1\] is -1: expected an integer below 2"),
            ([2], r"queries\[0\] is 2: expected an integer below 2"),
            ([True, False], "queries is bool of shape .* expected a list of numbers"),
            ([0.5], "queries is float64 of shape"),
            (0, r"of shape \(\): expected a list"),
        ],
    )
    def test_queries_that_are_not_there(self, queries, sentence):
        with pytest.raises(ValueError, match=sentence):
            small().take_queries(queries)

    def test_no_query_at_all(self):
        nothing = small(preferences=[[0, 2]]).take_queries([])
        assert (nothing.rows, nothing.label_names[0]) == (0, "grade")
        assert nothing.preferences.hi.tolist() == []


class TestAsking:
    @pytest.mark.parametrize(
        "labels", ["grade,click", " grade , click ", ["grade", "click"], ("grade", "click")]
    )
    def test_the_first_is_the_label(self, tmp_path, labels):
        (tmp_path / "a.csv").write_text("qid,click,grade,f\n1,0.5,2,7\n1,,0,8\n")
        data = rf.read(tmp_path / "a.csv", labels=labels)
        assert data.label_names == ["grade", "click"]
        assert data.labels.tolist() == [2, 0]
        np.testing.assert_array_equal(data.column("click"), [0.5, NAN])
        assert data.feature_names == ["f"]

    def test_a_name_with_a_comma_needs_a_list(self):
        assert split_labels(["a,b", "日本"]) == ["a,b", "日本"]

    @pytest.mark.parametrize(
        ("labels", "sentence"),
        [
            ("", "labels is '': expected names, such as 'grade,click'"),
            ("grade,", "labels is 'grade,': expected names"),
            ([], r"labels is \[\]: expected names"),
            ([1], r"labels is \[1\]: expected names"),
            ("a,b,a", "labels is 'a,b,a': 'a' occurs twice, expected it once"),
        ],
    )
    @pytest.mark.parametrize("name", ["s.txt", "s.csv"])
    def test_names_that_cannot_be(self, tmp_path, name, labels, sentence):
        text_file(tmp_path)
        (tmp_path / "s.csv").write_text("qid,label,f\n1,2,3\n")
        with pytest.raises(ValueError, match=sentence):
            rf.read(tmp_path / name, labels=labels)

    @pytest.mark.parametrize("other", [{"label": "g"}, {"sources": ["c"]}])
    def test_two_ways_to_ask_are_one_too_many(self, tmp_path, other):
        (tmp_path / "s.csv").write_text("qid,g,c\n1,2,3\n")
        with pytest.raises(ValueError, match=f"labels='g,c' and {next(iter(other))}=.*: labels na"):
            rf.read(tmp_path / "s.csv", labels="g,c", **other)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"label": "c", "sources": ["c"]}, "s.csv: label column 'c' is asked for twice"),
            ({"sources": ["c", "c"]}, "s.csv: label column 'c' is asked for twice"),
            ({"sources": "c"}, "s.csv: sources is 'c': expected a list of names"),
        ],
    )
    def test_a_column_asked_for_twice(self, tmp_path, options, sentence):
        (tmp_path / "s.csv").write_text("qid,label,c\n1,2,3\n")
        with pytest.raises(ValueError, match=sentence):
            rf.read(tmp_path / "s.csv", **options)

    def test_a_grade_is_no_feature_of_clicks(self, tmp_path):
        (tmp_path / "s.csv").write_text("qid,label,c,f\n1,2,0.5,3\n")
        pq.write_table(
            pa.table({"qid": [1], "label": [2], "c": [0.5], "f": [3.0]}), tmp_path / "s.parquet"
        )
        for name in ("s.csv", "s.parquet"):
            assert rf.read(tmp_path / name, labels="c").feature_names == ["f"]
        chosen = rf.read(tmp_path / "s.csv", labels="c", features=["f", "label"])
        assert chosen.feature_names == ["f", "label"]

    def test_a_label_called_weight_weighs_nothing(self, tmp_path):
        (tmp_path / "s.csv").write_text("qid,weight,f\n1,2,3\n")
        data = rf.read(tmp_path / "s.csv", labels="weight")
        assert data.labels.tolist() == [2]
        assert data.weight is None

    def test_categories_are_no_labels(self, tmp_path):
        words = pa.array(["good", "bad"]).dictionary_encode()
        numbers = pa.array([7.0, 3.0]).dictionary_encode()
        table = pa.table({"qid": [1, 1], "words": words, "numbers": numbers, "f": [1.0, 2.0]})
        pq.write_table(table, tmp_path / "s.parquet")
        assert rf.read(tmp_path / "s.parquet", label="numbers").labels.tolist() == [7, 3]
        with pytest.raises(ValueError, match=r"s\.parquet: column 'words' holds string values"):
            rf.read(tmp_path / "s.parquet", label="words")


class TestWrittenColumns:
    def test_names_come_back(self, tmp_path):
        write(small(), tmp_path / "a.parquet")
        back = rf.read(tmp_path / "a.parquet")
        assert back.label_names == ["grade", "clicks", "frische"]
        write(small(), tmp_path / "a.csv")
        back = rf.read(tmp_path / "a.csv", labels="grade,clicks,frische")
        assert back.label_names == ["grade", "clicks", "frische"]
        np.testing.assert_array_equal(back.column("clicks"), CLICKS)

    @pytest.mark.parametrize(
        ("asked", "names"),
        [
            ({"labels": "grade,clicks"}, ["grade", "clicks"]),
            ({"labels": "frische,grade"}, ["frische", "grade"]),
            ({"labels": "frische"}, ["frische"]),
            ({"label": "frische"}, ["frische"]),
            ({"sources": ["clicks"]}, ["grade", "clicks"]),
            ({"qid": "frische"}, ["grade", "clicks", "frische"]),
        ],
    )
    def test_features_and_categories_stay_what_they_are(self, tmp_path, asked, names):
        write(small(), tmp_path / "a.parquet")
        back = rf.read(tmp_path / "a.parquet", **asked)
        assert back.label_names == names
        assert back.feature_names == ["Column_0", "Column_1"]
        assert (back.categorical, back.categories) == ([1], {1: ["red", "blue"]})

    def test_a_feature_may_become_the_label(self, tmp_path):
        write(small(), tmp_path / "a.parquet")
        back = rf.read(tmp_path / "a.parquet", labels="Column_0,grade")
        assert back.labels.tolist() == [0, 1, 2, 3]
        assert back.feature_names == ["Column_1"]
        assert (back.categorical, back.categories) == ([0], {0: ["red", "blue"]})
        chosen = rf.read(tmp_path / "a.parquet", features=["Column_1", "Column_0"])
        assert (chosen.categorical, chosen.categories) == ([0], {0: ["red", "blue"]})

    def test_names_that_features_have_too(self, tmp_path):
        data = small(feature_names=["grade", "clicks"], weight=[1, 2, 3, 4])
        write(data, tmp_path / "a.parquet")
        for options in ({}, {"labels": "grade,clicks,frische"}):
            back = rf.read(tmp_path / "a.parquet", **options)
            np.testing.assert_array_equal(back.column("clicks"), CLICKS)
            assert back.column("grade").tolist() == [2, 0, 1, 3]
            assert back.feature_names == ["grade", "clicks"]
            assert back.weight.tolist() == [1, 2, 3, 4]
            np.testing.assert_array_equal(back.features, data.features)

    def test_labels_that_were_not_there_are_not_made(self, tmp_path):
        write(RankingData([[1.0]], qid=[1], sources={"c": [2.0]}), tmp_path / "a.parquet")
        for options in ({}, {"labels": "label,c"}, {"sources": ["c"]}):
            assert not rf.read(tmp_path / "a.parquet", **options).has_labels
        assert rf.read(tmp_path / "a.parquet", labels="c").labels.tolist() == [2]

    def test_a_column_that_is_not_there(self, tmp_path):
        write(small(), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match=r"a\.parquet: no column 'dwell' \(source\): it has "):
            rf.read(tmp_path / "a.parquet", labels="grade,dwell")

    def test_no_other_column_is_taken_for_the_label(self, tmp_path):
        """In CSV the names alone tell."""
        data = small(label_name="stars", sources={}, feature_names=["y", "f"])
        write(data, tmp_path / "a.csv")
        back = rf.read(tmp_path / "a.csv")
        assert back.labels.tolist() == [2, 0, 1, 3]
        assert back.feature_names == ["y", "f"]


class TestBesideText:
    @pytest.mark.parametrize("text", ["s.txt", "s.txt.gz"])
    @pytest.mark.parametrize("beside", ["s.txt.labels", "s.txt.labels.gz"])
    def test_it_is_found(self, tmp_path, text, beside):
        path = text_file(tmp_path, name=text)
        lines_of = b"click\tage\n0.5\t\n\t2\nnan\t3\n1e-3\tNA\n"
        packed = gzip.compress(lines_of) if beside.endswith(".gz") else lines_of
        (tmp_path / beside).write_bytes(packed)
        data = rf.read(path)
        assert data.label_names == ["label", "click", "age"]
        np.testing.assert_array_equal(data.column("click"), [0.5, NAN, NAN, 1e-3])
        np.testing.assert_array_equal(data.column("age"), [NAN, 2, 3, NAN])

    def test_the_own_packing_comes_first(self, tmp_path):
        for name, value in (("s.txt.labels", 1), ("s.txt.labels.gz", 2)):
            text = f"click\n{value}\n{value}\n".encode()
            (tmp_path / name).write_bytes(gzip.compress(text) if "gz" in name else text)
        for name, value in (("s.txt", 1), ("s.txt.gz", 2)):
            data = rf.read(text_file(tmp_path, 2, name))
            assert data.column("click").tolist() == [value, value]
            assert labels_place(tmp_path / name).is_file()

    @pytest.mark.parametrize(
        ("labels", "names", "values"),
        [
            ("label", ["label"], [0, 1]),
            ("label,age", ["label", "age"], [0, 1]),
            ("age,label", ["age", "label"], [7, 8]),
            ("age", ["age"], [7, 8]),
        ],
    )
    def test_some_of_them(self, tmp_path, labels, names, values):
        (tmp_path / "s.txt.labels").write_text("click,age\n,7\n1,8\n")
        data = rf.read(text_file(tmp_path, 2), labels=labels)
        assert data.label_names == names
        assert data.labels.tolist() == values
        if "label" in data.sources:
            assert data.column("label").tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("beside", "labels", "sentence"),
        [
            ("click\n1\n2\n", "label,dwell", r"s\.txt has no label 'dwell': choose from 'label', "),
            (None, "label,click", r"without a file s\.txt\.labels beside it, has no label 'click'"),
            ("click\n1\n\n", "click", "'click' of row 1 is unknown, and the label must be known"),
        ],
    )
    def test_what_is_not_there_is_named(self, tmp_path, beside, labels, sentence):
        if beside is not None:
            (tmp_path / "s.txt.labels").write_text(beside)
        with pytest.raises(ValueError, match=sentence):
            rf.read(text_file(tmp_path, 2), labels=labels)

    def test_text_has_no_other_columns(self, tmp_path):
        with pytest.raises(ValueError, match="is text, which has no named columns: leave out sou"):
            rf.read(text_file(tmp_path), sources=["click"])

    @pytest.mark.parametrize(
        ("text", "values"),
        [
            ("c\n1\n\n", [1, NAN]),  # the blank line is a row
            ("c\n\n2", [NAN, 2]),
            ("c\n1\n2\n\n \n", [1, 2]),  # the blank lines are none
            ("\ufeffc\r\n1\r\n2\r\n", [1, 2]),
            ("c\n 1 \n-0\n", [1, 0]),
        ],
    )
    def test_one_column(self, tmp_path, text, values):
        (tmp_path / "s.txt.labels").write_bytes(text.encode())
        found = read_labels(tmp_path / "s.txt.labels", 2)
        assert list(found) == ["c"]
        np.testing.assert_array_equal(found["c"], values)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", ": is empty: expected a line with names of labels"),
            ("\n1\n2\n", ", line 1: name 1 is empty, expected names"),
            ("a,,b\n", ", line 1: name 2 is empty"),
            ("0.5\n1\n2\n", ", line 1: '0.5': expected names of labels above the rows"),
            ("a,b,a\n", ", line 1: 'a' occurs twice, expected names that differ"),
            ("a,label\n", ", line 1: 'label' is the label in the text itself: rename it"),
            ("a\n", r" has 0 rows below its names, s\.txt has 2 rows"),
            ("a\n1\n", r" has 1 rows below its names, s\.txt has 2 rows"),
            ("a\n1\n2\n3\n", r" has 3 rows below its names, s\.txt has 2 rows"),
            ("a,b\n1,2\n3\n", ", line 3: 1 cells, expected 2 as in line 1"),
            ("a\tb\n1,2\n", ", line 2: 1 cells, expected 2"),
            ("a,b\n1,2\n\n", ", line 3: 1 cells, expected 2"),
            ("a,é\n1,2\n3,x\n", ", line 3, column 'é': 'x': expected a finite number, or nothing"),
            ("a\n1\n-inf\n", ", line 3, column 'a': '-inf': expected a finite number"),
            ("a\n1_000\n2\n", ", line 2, column 'a': '1_000': expected a finite number"),
            (b"a\n1\n\xff\n", ", line 3: .*: not text: expected UTF-8"),
        ],
    )
    def test_a_broken_file_is_named(self, tmp_path, text, sentence):
        place = tmp_path / "s.txt.labels"
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        with pytest.raises(ValueError, match=r"s\.txt\.labels" + sentence) as caught:
            rf.read(text_file(tmp_path, 2))
        assert str(caught.value).startswith(str(place))
        assert "\n" not in str(caught.value)

    def test_many_lines_in_small_blocks(self, tmp_path, monkeypatch):
        values = np.random.default_rng(0).normal(size=(500, 2))
        text = "".join(f"{a!r},{b!r}\n" for a, b in values.tolist())
        (tmp_path / "s.txt.labels").write_text("a,b\n" + text)
        for size in (1, 7, 64, 1 << 20):
            monkeypatch.setattr(lines, "BLOCK_BYTES", size)
            found = read_labels(tmp_path / "s.txt.labels", 500)
            np.testing.assert_array_equal(np.stack([found["a"], found["b"]], axis=1), values)


class TestWritingText:
    @pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
    def test_sources_read_back_to_the_last_bit(self, tmp_path, packing):
        rng = np.random.default_rng(0)
        values = np.where(rng.random(999) < 0.3, np.nan, rng.normal(size=999) * 1e-7)
        sources = {"日本 clicks": values, "x": np.arange(999.0)}
        data = RankingData(np.ones((999, 2)), np.arange(999) % 3, group=[999], sources=sources)
        write(data, tmp_path / f"a.txt{packing}")
        beside = f"a.txt.labels{packing}"
        assert {path.name for path in tmp_path.iterdir()} == {f"a.txt{packing}", beside}
        back = rf.read(tmp_path / f"a.txt{packing}")
        assert list(back.sources) == list(sources)
        for name, expected in sources.items():
            np.testing.assert_array_equal(back.column(name), expected)

    def test_one_source_that_is_unknown_at_the_end(self, tmp_path):
        data = RankingData([[1.0], [2.0]], [0, 1], qid=[1, 1], sources={"c": [1.0, NAN]})
        write(data, tmp_path / "a.txt")
        assert (tmp_path / "a.txt.labels").read_text() == "c\n1\nnan\n"
        np.testing.assert_array_equal(rf.read(tmp_path / "a.txt").column("c"), [1, NAN])

    def test_blocks_are_one_file(self, tmp_path):
        data = rf.make_data("yahoo", queries=12)
        write(data, tmp_path / "a.txt")
        write((data.take_queries([q, q + 1]) for q in range(0, 12, 2)), tmp_path / "b.txt")
        for ending in ("", ".labels"):
            one, other = (tmp_path / f"{name}.txt{ending}" for name in "ab")
            assert one.read_bytes() == other.read_bytes()

    @pytest.mark.parametrize(
        ("names", "sentence"),
        [
            (["label"], "source 'label' has the name of the label in LETOR text: rename it"),
            (["a,b"], "source 'a,b': LETOR text has no place for commas, tabs, line ends"),
            (["a\tb"], r"source 'a\\tb': LETOR text has no place"),
            (["a", "b\n"], r"source 'b\\n': LETOR text has no place"),
            ([" a"], "source ' a': LETOR text has no place"),
            (["1", "2.5"], "sources '1', '2.5': LETOR text takes numbers for no names"),
        ],
    )
    def test_a_name_that_would_not_come_back(self, tmp_path, names, sentence):
        data = small(sources=dict.fromkeys(names, CLICKS))
        with pytest.raises(ValueError, match=sentence):
            write(data, tmp_path / "a.txt")
        assert list(tmp_path.iterdir()) == []

    def test_blocks_of_other_sources_leave_nothing(self, tmp_path):
        blocks = [small(), small(sources={"clicks": CLICKS})]
        for given in (blocks, blocks[::-1], [small(sources={}), small()]):
            with pytest.raises(ValueError, match="the block from row 4 has other sources than the"):
                write(given, tmp_path / "a.txt")
            assert list(tmp_path.iterdir()) == []

    def test_an_interrupt_leaves_both_files_as_they_were(self, tmp_path):
        def blocks():
            yield small()
            raise KeyboardInterrupt

        for name in ("a.txt", "a.txt.labels"):
            (tmp_path / name).write_text("old")
        with pytest.raises(KeyboardInterrupt):
            write(blocks(), tmp_path / "a.txt")
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
            "a.txt": "old",
            "a.txt.labels": "old",
        }

    @pytest.mark.parametrize("beside", ["a.txt.labels", "a.txt.labels.gz", "a.txt.gz.labels"])
    def test_labels_of_another_text_are_not_taken_over(self, tmp_path, beside):
        (tmp_path / beside).write_text("c\n1\n")
        with pytest.raises(ValueError, match=f"{beside} would be read with .*which has no sources"):
            write(small(sources={}), tmp_path / "a.txt.gz")
        assert [path.name for path in tmp_path.iterdir()] == [beside]
