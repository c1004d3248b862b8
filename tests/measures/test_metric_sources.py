"""Metrics that read one of several sources of labels."""

from __future__ import annotations

import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.queries import index_queries
from rankforce.evaluation.judge import _are_qrels
from rankforce.measures.make import metric, metrics
from rankforce.measures.metric import Metric
from rankforce.measures.scoreboard import Judged, Scoreboard
from tests.contract.metric_cases import CASES, some_data
from tests.reference.ties import metric_of_scores

NAN = math.nan
SCORES = [4.0, 3.0, 2.0, 1.0]
COLUMNS = {"grade": [2.0, 0.0, 1.0, 0.0], "Click": [0.0, NAN, 0.5, 1.0]}


class TestNames:
    @pytest.mark.parametrize(
        "spelling",
        [
            "CNDCG@3(source=Click)",
            "cndcg(SOURCE=Click)@3",
            "cndcg @ 3 ( source = Click )",
            " CNDCG_cut_3(source=Click\t) ",
            "cndcg(k=3,source=Click)",
        ],
    )
    def test_spellings(self, spelling: str) -> None:
        made = metric(spelling)
        assert (made.name, made.source, made.k) == ("CNDCG@3(source=Click)", "Click", 3)
        assert made == metric("cndcg@3", source="Click") == metric(spelling, source="Click")
        assert hash(made) == hash(metric(made.name))
        assert repr(made) == "rf.metric('CNDCG@3(source=Click)')"
        assert pickle.loads(pickle.dumps(made)) == made

    def test_case_is_that_of_the_data(self) -> None:
        assert metric("mrr", source="Click") != metric("mrr", source="click") != metric("mrr")
        assert metric("MRR(source=CTR Rate)").source == "CTR Rate"
        assert metric("MRR(source=ctr  rate)").source == "ctr  rate"  # as it was written

    def test_the_source_stands_last(self) -> None:
        made = metric("p@5(source=click, over=k, rel=2)")
        assert made.name == "P@5(rel=2, over=k, source=click)"
        made = metric("ndcg@10", preset="trec_eval", source="click", no_relevant=1)
        assert made.name == "NDCG@10(trec_eval, no_relevant=1, source=click)"
        assert metric(made.name) == made
        own = metric("ndcg@3(source=click)", gain=[0, 1, 3])
        assert repr(own) == "rf.metric('NDCG@3(source=click)', gain=(0.0, 1.0, 3.0))"
        assert pickle.loads(pickle.dumps(own)) == own

    @pytest.mark.parametrize("entry", metrics(), ids=lambda entry: entry.name)
    def test_every_metric_has_one(self, entry: Any) -> None:
        made = metric(entry.name, k=None if entry.cutoff == "none" else 3, source="Fresh")
        assert made.source == "Fresh"
        assert metric(made.name) == made

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("mrr(source=)", {}, "source is '': it must be the name of labels"),
            ("mrr", {"source": ""}, "source is ''"),
            ("mrr", {"source": 3}, "source is 3"),
            ("mrr", {"source": " click"}, "source is ' click'"),
            ("mrr", {"source": "a,b"}, "source is 'a,b'"),
            ("mrr", {"source": "a=b"}, "source is 'a=b'"),
            ("mrr(source=a=b)", {}, "source is 'a=b'"),
            ("mrr", {"source": "f(x)"}, r"source is 'f\(x\)': .* without any of \( \) , ="),
            ("mrr(source=a)", {"source": "A"}, "says source=a, but source='A' was given"),
            ("mrr(source=a, Source=a)", {}, "says source twice"),
            ("mrr(source)", {}, "preset is 'source': choose"),
            ("mrr(sauce=a)", {}, "'MRR' has no parameter 'sauce': it has .*, source$"),
        ],
    )
    def test_mistakes(self, name: str, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message) as caught:
            metric(name, **options)
        assert "\n" not in str(caught.value)

    def test_one_that_is_made_already(self) -> None:
        with pytest.raises(ValueError, match="is made already"):
            metric(metric("mrr"), source="click")

    @pytest.mark.parametrize(
        ("made", "key"),
        [
            (metric("CNDCG@3(ties=average, source=Click)"), "cndcg@3(ties=average, source=Click)"),
            (metric("P@3(rel=2)"), "p@3(rel=2)"),
            (metric("MRR(source=None)"), "mrr(source=None)"),
            (metric(len, name="Mine", source="Click"), "mine"),  # type: ignore[arg-type]
            (metric(len, name="Source=None"), "source=none"),  # type: ignore[arg-type]
        ],
    )
    def test_keys_of_histories(self, made: Metric, key: str) -> None:
        assert made.key == key

    def test_conventions(self) -> None:
        assert metric("cndcg@3(source=Click)").conventions == (
            "gain 2^(4c)-1, labels Click, missing labels count 0, "
            "query without relevant document counts 1, ties by row"
        )
        for made in (metric("cndcg@3"), metric("mrr"), metric(len)):  # type: ignore[arg-type]
            assert "labels" not in made.conventions.replace("labels of", "")
            assert "missing" not in made.conventions


class TestValues:
    def test_by_hand(self) -> None:
        def value(name: str) -> float:
            return float(metric(name)(SCORES, COLUMNS)[0])

        def d(rank: int) -> float:
            return 1.0 / math.log2(1.0 + rank)

        gained = (2.0**2 - 1.0) * d(3)  # of the clicks 0, missing, 0.5 in the top 3
        ideal = (2.0**4 - 1.0) * d(1) + (2.0**2 - 1.0) * d(2)
        assert value("cndcg@3(source=Click)") == pytest.approx(gained / ideal, rel=1e-15)
        assert value("mrr(source=Click)") == 1 / 3
        assert value("mrr(source=grade)") == value("mrr") == 1.0  # the first column
        assert value("p@4(source=Click)") == 2 / 4
        assert value("recall@3(source=Click)") == 1 / 2
        assert value("map(source=Click)") == pytest.approx((1 / 3 + 2 / 4) / 2, rel=1e-15)

    @pytest.mark.parametrize("kind", ["untied", "tied", "near"])
    def test_two_sources_are_two_scoreboards(self, kind: str) -> None:
        """Every metric, every convention, in one pass over both."""
        data = some_data(kind)
        rng = np.random.default_rng(1)
        other = rng.permutation(data.labels)
        is_missing = rng.uniform(size=len(other)) < 0.2
        columns = {"one": data.labels, "two": np.where(is_missing, NAN, other)}
        plain = {"one": data.labels, "two": np.where(is_missing, 0.0, other)}
        cases = [case for case in CASES if case.entry.name != "CNDCG"]
        made = [case.make(source=source) for case in cases for source in columns]
        both = Scoreboard(made, columns, group=data.sizes)
        apart = {
            source: Scoreboard([case.make() for case in cases], labels, group=data.sizes)
            for source, labels in plain.items()
        }

        def interleaved(one: Any, two: Any) -> Any:
            return np.stack([one, two], axis=1).reshape(len(made), -1)

        got = both.values(data.scores)
        expected = interleaved(*(board.values(data.scores) for board in apart.values()))
        assert np.abs(expected[0::2] - expected[1::2]).max() > 0.1
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(both.values(data.scores, threads=3), expected)
        np.testing.assert_array_equal(
            both.perfect(), interleaved(*(board.perfect() for board in apart.values()))
        )
        np.testing.assert_array_equal(
            both.random(), interleaved(*(board.random() for board in apart.values()))
        )

    def test_the_reference_agrees(self) -> None:
        """With queries in any order of rows."""
        rng = np.random.default_rng(2)
        qid = rng.permutation(np.repeat(np.arange(20), 9))
        scores = rng.integers(0, 6, 180).astype(float)
        clicks = np.where(rng.uniform(size=180) < 0.3, NAN, rng.integers(0, 5, 180) / 4)
        columns = {"grade": rng.integers(0, 4, 180), "click": clicks}
        got = metric("cndcg@4(source=click)")(scores, columns, qid=qid)
        for number, query in enumerate(dict.fromkeys(qid.tolist())):
            rows = qid == query
            expected = metric_of_scores(
                "ndcg",
                scores[rows].tolist(),
                np.nan_to_num(clicks[rows]).tolist(),
                k=4,
                gain=lambda c: 2.0 ** (4.0 * c) - 1.0,
            )
            assert got[number] == pytest.approx(expected, rel=1e-12)

    def test_queries_without_relevance_are_those_of_the_source(self) -> None:
        columns = {"grade": [1, 0, 0, 0], "click": [0.0, NAN, NAN, 1.0]}
        for name, expected in (
            ("ndcg(no_relevant=skip)", [1.0, NAN]),
            ("ndcg(no_relevant=skip, source=click)", [NAN, 1.0 / math.log2(3.0)]),
            ("mrr(source=click)", [0.0, 0.5]),
            ("ndcg(source=click)", [1.0, 1.0 / math.log2(3.0)]),
        ):
            got = metric(name)([2.0, 1.0, 2.0, 1.0], columns, group=[2, 2])
            np.testing.assert_allclose(got, expected, rtol=1e-15)

    def test_the_largest_label_is_that_of_the_source(self) -> None:
        columns = {"grade": [4.0, 0.0], "age": [1.0, 2.0]}
        board = Scoreboard(["err@1(source=grade)", "err@1(source=age)"], columns)
        assert board.values([2.0, 1.0])[:, 0].tolist() == [15 / 16, 1 / 4]

    def test_the_least_relevant_label_of_two_sources(self) -> None:
        columns = {"a": [3.0, 1.0, 2.0], "b": [0.0, 3.0, 1.0]}
        names = [f"recall@1(rel={rel}, source={s})" for rel in (1, 2, 3) for s in "ab"]
        got = Scoreboard(names, columns).values([3.0, 2.0, 1.0])[:, 0].tolist()
        assert got == [1 / 3, 0.0, 1 / 2, 0.0, 1.0, 0.0]

    def test_a_function_of_ones_own(self) -> None:
        seen: list[Any] = []

        def top(scores: Any, labels: Any) -> float:
            seen.append(labels.tolist())
            labels[:] = 9.0  # it has a copy
            return float(len(labels))

        made = metric(top, source="Click")
        assert (made.name, made.source) == ("top(source=Click)", "Click")
        assert made != metric(top) != metric(top, source="click")
        board = Scoreboard([made, metric(top), "mrr(source=Click)"], COLUMNS)
        board.values(SCORES)
        assert seen == [[0.0, 0.0, 0.5, 1.0], [2.0, 0.0, 1.0, 0.0]]
        best = Scoreboard([metric(spread, source=s) for s in COLUMNS], COLUMNS).perfect()
        assert best[:, 0].tolist() == [2.0, 1.0]
        skipping = metric(top, source="Click", no_relevant="skip", name="mine")
        got = skipping([1.0, 2.0], {"a": [1, 1], "Click": [NAN, 1.0]}, group=[1, 1])
        np.testing.assert_equal(got, [NAN, 1.0])
        assert "mine" in repr(skipping)
        assert "source='Click'" in repr(skipping)

    def test_functions_survive_pickling(self) -> None:
        made = metric(top_label, source="Click")
        again = pickle.loads(pickle.dumps(made))
        assert again == made
        assert (again.name, again.source) == (made.name, "Click")


def spread(scores: Any, labels: Any) -> float:
    return float(np.ptp(scores))


def top_label(scores: Any, labels: Any) -> float:
    return float(labels[scores.argmax()])


class TestLabels:
    def test_a_plain_array_with_gaps_stays_an_error(self) -> None:
        for name in ("mrr", "mrr(source=label)"):
            with pytest.raises(ValueError, match="label of row 1 is nan: labels must be finite"):
                metric(name)([1.0, 2.0], [1.0, NAN])

    def test_an_array_is_called_label(self) -> None:
        assert metric("mrr(source=label)")([1.0, 2.0], [1, 0]).tolist() == [0.5]
        message = "reads the labels 'Click': give labels by name"
        with pytest.raises(ValueError, match=r"^MRR\(source=Click\) " + message):
            metric("mrr(source=Click)")([1.0, 2.0], [1, 0])

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"grade": [1, 0]}, "reads the labels 'Click', but those there are 'grade'"),
            ({"click": [1, 0]}, "reads the labels 'Click', but those there are 'click'"),
            ({"Click": [1, math.inf]}, "label of row 1 is inf: labels must be finite, or NaN"),
            ({"a": [1, 0, 0], "Click": [1, 0]}, "there are 2 labels 'Click' for 3 rows"),
            ({"Click": [[1, 0]]}, "labels must be one number per row"),
            ({}, "there are no labels by name"),
        ],
    )
    def test_mistakes(self, columns: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message) as caught:
            metric("mrr(source=Click)")([1.0, 2.0], columns)
        assert "\n" not in str(caught.value)

    def test_a_label_that_the_metric_refuses_is_told_with_its_source(self) -> None:
        columns = {"grade": [0, 1], "click": [0.5, 2.0]}
        message = r"CNDCG\(source=click\), row 1: label 2 is no share of clicks"
        with pytest.raises(ValueError, match=message):
            Scoreboard(["ndcg", "cndcg(source=click)"], columns)

    def test_judged_documents_have_one_label(self) -> None:
        judged = Judged(np.array([1.0, 2.0]), index_queries(2), np.array([2]))
        board = Scoreboard(["err@1", "err@1(source=label)"], [1.0], judged=judged)
        assert board.values([1.0]).tolist() == [[1 / 4], [1 / 4]]
        assert board.perfect().tolist() == [[3 / 4], [3 / 4]]
        with pytest.raises(ValueError, match="reads the labels 'click': give labels by name"):
            Scoreboard(["err@1(source=click)"], [1.0], judged=judged)

    def test_what_is_missing_is_counted(self) -> None:
        board = Scoreboard(["mrr", "mrr(source=Click)"], COLUMNS)
        assert board.missing == {"Click": 1}
        assert Scoreboard(["mrr"], {"preferences": (0, 1), "a": [1, NAN]}).missing == {"a": 1}
        assert Scoreboard(["mrr"], [1, 0]).missing == {}


def some_ranking_data(**options: Any) -> rf.RankingData:
    """Rows of a query do not stand together; one of the labels of clicks is missing."""
    return rf.RankingData(
        np.arange(8.0).reshape(4, 2),
        [2, 0, 1, 0],
        qid=["b", "a", "a", "b"],
        sources={"Click": [0.0, 0.25, NAN, 1.0]},
        **options,
    )


class TestRankingData:
    def test_it_brings_its_queries(self) -> None:
        data = some_ranking_data(label_name="grade")
        board = Scoreboard(["mrr", "mrr(source=grade)", "mrr(source=Click)"], data)
        expected = [[1.0, 0.5], [1.0, 0.5], [0.5, 1.0]]
        assert board.values(SCORES).tolist() == expected
        assert metric("mrr(source=Click)")(SCORES, data).tolist() == expected[2]
        assert metric("mrr(source=label)").prepare(data).values(SCORES).tolist() == expected[0]
        with pytest.raises(ValueError, match=r"score of row 2 \(query a\) is nan"):
            board.values([1.0, 2.0, NAN, 3.0])
        assert Scoreboard([], data).values(SCORES).shape == (0, 2)

    @pytest.mark.parametrize("key", ["group", "qid", "index"])
    def test_queries_are_not_given_twice(self, key: str) -> None:
        value: Any = {"group": [2, 2], "qid": [1, 1, 2, 2], "index": index_queries(4)}[key]
        with pytest.raises(ValueError, match="the data knows its queries"):
            Scoreboard(["mrr"], some_ranking_data(), **{key: value})

    def test_a_source_that_is_not_there(self) -> None:
        message = r"MRR\(source=click\) reads the labels 'click', but those of the data are 'label'"
        with pytest.raises(ValueError, match=message + ", 'Click'"):
            Scoreboard(["mrr(source=click)"], some_ranking_data())

    def test_without_labels(self) -> None:
        data = rf.RankingData(np.eye(3), group=[3], sources={"click": [0, 1, NAN]})
        assert metric("mrr(source=click)")([3.0, 2.0, 1.0], data).tolist() == [0.5]
        assert rf.evaluate([3.0, 2.0, 1.0], data, "mrr(source=click)").means == {
            "MRR(source=click)": 0.5
        }
        for name in ("mrr", "mrr(source=label)"):
            with pytest.raises(ValueError, match="the data has no labels, so nothing"):
                rf.evaluate([3.0, 2.0, 1.0], data, name)


class TestComparison:
    RNG = np.random.default_rng(3)
    SIZES = (5, 7, 6, 9, 4, 8)
    ROWS = sum(SIZES)
    GRADE = RNG.integers(0, 3, ROWS)
    CLICK = np.where(RNG.uniform(size=ROWS) < 0.25, NAN, RNG.uniform(size=ROWS))
    COLUMNS = {"grade": GRADE, "Click": CLICK}  # noqa: RUF012 - nothing changes it
    A, B = RNG.normal(size=(2, ROWS))
    METRIC = "cndcg@3(source=Click)"

    def data(self, **options: Any) -> rf.RankingData:
        return rf.RankingData(
            np.stack([self.A, self.B], axis=1),
            self.GRADE,
            group=self.SIZES,
            sources={"Click": self.CLICK},
            **options,
        )

    def expected(self, scores: Any) -> Any:
        return metric("cndcg@3")(scores, np.nan_to_num(self.CLICK), group=self.SIZES)

    def test_columns_and_data_agree(self) -> None:
        systems = {"a": self.A, "b": self.B}
        by_name = rf.compare(systems, self.COLUMNS, group=self.SIZES, metric=self.METRIC)
        by_data = rf.compare(systems, self.data(), metric=self.METRIC)
        for found in (by_name, by_data):
            assert np.array_equal(found.values["a"], self.expected(self.A))
            assert np.array_equal(found.values["b"], self.expected(self.B))
        assert by_name.contrasts == by_data.contrasts
        plain = Scoreboard(["cndcg@3"], np.nan_to_num(self.CLICK), group=self.SIZES)
        assert by_name.random == pytest.approx(plain.random().mean(), rel=1e-12)
        assert by_name.perfect == pytest.approx(plain.perfect().mean(), rel=1e-12)

    def test_what_is_missing_is_told(self) -> None:
        count = int(np.isnan(self.CLICK).sum())
        note = f"{count} of {self.ROWS} labels 'Click' are missing: they count 0"
        found = rf.evaluate(self.A, self.COLUMNS, ["mrr", self.METRIC], group=self.SIZES)
        assert found.notes == [note]
        assert note in found.table()
        assert rf.evaluate(self.A, self.COLUMNS, "mrr", group=self.SIZES).notes == []
        assert rf.evaluate(self.A, self.GRADE, "mrr", group=self.SIZES).notes == []
        assert note in rf.compare({"a": self.A}, self.data(), metric=self.METRIC).table()

    def test_models(self) -> None:
        class First:
            def predict(self, features: Any) -> Any:
                return features[:, 0]

        found = rf.evaluate(First(), self.data(), self.METRIC)
        scores = self.data().features[:, 0].astype(float)
        assert np.array_equal(found.values[0], self.expected(scores))

    def test_weights_of_the_data(self) -> None:
        weights = np.arange(1.0, 7.0)
        found = rf.evaluate(self.A, self.data(query_weight=weights), self.METRIC)
        assert found.means == {
            "CNDCG@3(source=Click)": pytest.approx(
                np.average(self.expected(self.A), weights=weights)
            )
        }

    def test_queries_by_id(self) -> None:
        qid = np.repeat(list("abcdef"), self.SIZES)
        found = rf.evaluate(self.A, self.COLUMNS, self.METRIC, qid=qid)
        assert found.query_ids.tolist() == list("abcdef")
        assert np.array_equal(found.values[0], self.expected(self.A))

    def test_pandas_columns(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(self.COLUMNS)
        columns = {name: frame[name] for name in frame}
        found = rf.evaluate(self.A, columns, self.METRIC, group=self.SIZES)
        assert np.array_equal(found.values[0], self.expected(self.A))

    @pytest.mark.parametrize(
        ("labels", "are_qrels"),
        [
            ({"q1": {"d1": 1}}, True),
            ({"q1": {}}, True),
            ({}, True),
            ({"a": {"q1": {"d1": 1}}}, True),  # several: refused as qrels
            ({"d1": 1, "d2": 0}, True),  # one query: refused as qrels
            ({"q1": {"d1": 1}, "q2": [1]}, True),
            ({"q1": "qrels.txt"}, True),
            ("qrels.txt", True),
            (Path("qrels.txt"), True),
            ({"grade": [1, 0]}, False),
            ({"grade": (1, 0), "click": np.array([0.5, NAN])}, False),
            ({"preferences": ([0], [1]), "grade": [1, 0]}, False),
            ([1, 0], False),
            (np.array([1, 0]), False),
        ],
    )
    def test_qrels_are_dictionaries_of_dictionaries(self, labels: Any, are_qrels: bool) -> None:
        assert _are_qrels(labels) is are_qrels

    def test_one_query_in_place_of_qrels(self) -> None:
        with pytest.raises(ValueError, match="query 'd1' is 1: expected a dictionary"):
            rf.evaluate({"q": {"d1": 1.0}}, {"d1": 1, "d2": 0}, "mrr")

    def test_runs_know_labels_only(self) -> None:
        qrels, run = {"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 0.5, "d2": 1.0}}
        message = "MRR(source=click) reads the labels 'click', but qrels know one label"
        for call in (rf.evaluate, lambda s, q, m: rf.compare({"a": s}, q, metric=m)):
            with pytest.raises(ValueError, match=re.escape(message)) as caught:
                call(run, qrels, "mrr(source=click)")
            assert "\n" not in str(caught.value)
        assert rf.evaluate(run, qrels, "mrr(source=label)").values.tolist() == [[0.5]]

    def test_a_run_is_not_judged_by_columns(self) -> None:
        with pytest.raises(ValueError, match="system 'system' is a run: give qrels"):
            rf.evaluate({"q": {"d1": 0.5}}, {"grade": [1, 0]}, "mrr")
