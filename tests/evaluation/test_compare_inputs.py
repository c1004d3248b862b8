"""What `rf.compare` takes: metrics of one's own, models, values; and what it refuses."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import rankforce as rf
from tests.evaluation.systems import LABELS, NAMES, NOISE, ROWS, SIZES, A, B, C, compare

approx = pytest.approx


def top_label(scores: Any, labels: Any) -> float:
    return float(labels[scores.argmax()])


class TestOwnMetric:
    TRAIN, VALID = (rf.make_data("yahoo", queries=40, seed=seed) for seed in (0, 1))

    def test_training_evaluation_and_comparison_agree(self) -> None:
        metric = rf.metric(top_label, name="top label")
        ranker = rf.Ranker(n_estimators=12, num_leaves=5, learning_rate=0.5, progress=False)
        ranker.fit(self.TRAIN, eval_set=[self.VALID], eval_metric=metric, early_stopping_rounds=3)
        history = ranker.evals_result_["valid_0"]["top label"]
        assert len(history) < 12  # it did stop early
        assert ranker.best_iteration_ == int(np.argmax(history)) + 1
        by_hand = [
            top_label(scores, labels)
            for scores, labels in (
                (ranker.predict(self.VALID)[rows], self.VALID.labels[rows])
                for rows in (self.VALID.qid == q for q in self.VALID.query_ids)
            )
        ]
        expected = approx(np.mean(by_hand))
        assert max(history) == expected
        assert rf.evaluate(ranker, self.VALID, metric).means == {"top label": expected}
        c = rf.compare({"mine": ranker, "none": np.zeros(self.VALID.rows)}, self.VALID,
                       metric=metric)  # fmt: skip
        assert c.means["mine"] == expected
        assert c.values["mine"].tolist() == by_hand

    def test_has_no_references(self) -> None:
        c = compare(metric=top_label)
        assert (c.random, c.perfect) == (None, None)
        assert c.metric.name == "top_label"
        assert "random ranking" not in c.table()
        assert "top_label: higher is better, the user's function" in c.table()

    def test_wrong_values_name_system_and_metric(self) -> None:
        with pytest.raises(ValueError, match=r"system 'a': 'bad' of query .* it must be a finite"):
            compare(metric=rf.metric(lambda scores, labels: math.inf, name="bad"))

    def test_evaluate_takes_it_beside_names(self) -> None:
        found = rf.evaluate(A, LABELS, ["ndcg@5,mrr", top_label], group=SIZES)
        assert list(found.means) == ["NDCG@5", "MRR", "top_label"]
        assert found.values.shape == (3, len(SIZES))


@pytest.fixture(scope="module")
def ranker() -> rf.Ranker:
    return rf.Ranker(n_estimators=4, num_leaves=5, progress=False).fit(TestModels.DATA)


class TestModels:
    DATA = rf.make_data("yahoo", queries=25, seed=3)

    def test_ranker_saved_and_scores(self, ranker: rf.Ranker, tmp_path: Path) -> None:
        ranker.save(tmp_path / "run")
        systems = {
            "scores": ranker.predict(self.DATA),
            "ranker": ranker,
            "loaded": rf.load(tmp_path / "run"),
            "booster": ranker.booster_,
        }
        c = rf.compare(systems, self.DATA)
        for contrast in c.contrasts.values():
            assert (contrast.difference, contrast.ties) == (0.0, 25)
        assert c.query_ids.tolist() == list(range(1, 26))

    def test_regressor_of_scikit_learn(self, ranker: rf.Ranker) -> None:
        columns = slice(0, 20)
        data = rf.RankingData(self.DATA.features[:, columns], self.DATA.labels, qid=self.DATA.qid)
        regressor = LinearRegression().fit(data.features, data.labels)
        c = rf.compare({"line": regressor, "zero": np.zeros(data.rows)}, data, metric="p@5")
        expected = rf.metric("p@5")(regressor.predict(data.features), data.labels, qid=data.qid)
        assert c.means["line"] == approx(expected.mean())

    def test_a_model_that_does_not_fit_is_named(self, ranker: rf.Ranker) -> None:
        narrow = rf.RankingData(A[:, None], LABELS, group=SIZES)
        with pytest.raises(ValueError, match=r"^system 'wide': .* 1 features"):
            rf.compare({"a": A, "wide": ranker}, narrow)
        line = LinearRegression().fit(NOISE.T, LABELS)
        with pytest.raises(ValueError, match=r"^system 'line': .* 1 features"):
            rf.compare({"a": A, "line": line}, narrow)

    def test_a_model_that_is_not_fitted_is_named(self) -> None:
        for model in (LinearRegression(), RandomForestRegressor()):
            with pytest.raises(ValueError, match=r"^system 'm': This .* is not fitted yet"):
                rf.compare({"m": model}, self.DATA)

    def test_needs_data(self, ranker: rf.Ranker) -> None:
        with pytest.raises(
            ValueError, match=r"^system 'm' is a model: give a RankingData in place of labels$"
        ):
            rf.compare({"m": ranker}, LABELS, group=SIZES)

    def test_needs_labels(self) -> None:
        unlabelled = rf.RankingData(A[:, None], group=SIZES)
        with pytest.raises(ValueError, match=r"^the data has no labels, so nothing can be judged$"):
            rf.compare({"a": A}, unlabelled)

    def test_data_knows_its_queries(self) -> None:
        for key, value in (("group", SIZES), ("qid", NAMES)):
            with pytest.raises(ValueError, match="the data knows its queries"):
                rf.compare(
                    {"a": A}, rf.RankingData(A[:, None], LABELS, group=SIZES), **{key: value}
                )


def broken(value: float) -> Any:
    scores = B.copy()
    scores[7] = value  # of query 1
    return scores


class TestMistakes:
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_scores_that_are_not_finite(self, value: float) -> None:
        systems = {"a": A, "b": broken(value)}
        told = rf"^system 'b': score of row 7 \(query {{}}\) is {value}: scores must be finite$"
        with pytest.raises(ValueError, match=told.format("1")):
            rf.compare(systems, LABELS, group=SIZES)
        with pytest.raises(ValueError, match=told.format("q1")):
            rf.compare(systems, LABELS, qid=NAMES)
        with pytest.raises(ValueError, match=told.format("q1")):
            rf.compare(systems, rf.RankingData(A[:, None], LABELS, qid=NAMES))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"baseline": "c"}, "baseline 'c' is none of the systems: a, b"),
            ({"baseline": ["a"]}, "baseline ['a'] is none of the systems: a, b"),
            (
                {"test": "wilcoxon"},
                "test is 'wilcoxon': choose 'fisher', 'permutation', 't' or 'bootstrap'",
            ),
            ({"test": None}, "test is None: choose"),
            ({"correction": "bonferroni"}, "correction is 'bonferroni': choose 'none', 'holm'"),
            (
                {"alternative": "greater"},
                "alternative is 'greater': choose 'two-sided', 'better' or 'worse'",
            ),
            ({"confidence": 1}, "confidence is 1: it must be a number between 0 and 1"),
            ({"confidence": 0.0}, "confidence is 0.0: it must be a number between 0 and 1"),
            ({"confidence": 95}, "confidence is 95: it must be a number between 0 and 1"),
            ({"confidence": math.nan}, "confidence is nan: it must be"),
            ({"confidence": "high"}, "confidence is 'high': it must be"),
            ({"resamples": 99}, "resamples is 99: it must be an integer from 100 up"),
            ({"resamples": 1e4}, "resamples is 10000.0: it must be an integer"),
            ({"seed": -1}, "seed is -1: it must be an integer from 0 up"),
            ({"threads": 0}, "threads is 0: it must be an integer from 1 up"),
            ({"missing": "none"}, "missing is 'none': choose 'error', 'zero' or 'skip'"),
            ({"metric": "nndcg"}, "unknown metric 'nndcg': did you mean 'NDCG'"),
            ({"metric": ["p@5"]}, "a metric is made by name or from a function, got ['p@5']"),
            ({"qid": NAMES}, "give group= (sizes) or qid= (one id per row), not both"),
        ],
    )
    @pytest.mark.parametrize("alone", [False, True])
    def test_options(self, options: dict[str, Any], message: str, alone: bool) -> None:
        systems = {"a": A, "b": A} if not alone or "baseline" in options else {"a": A}
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            rf.compare(systems, LABELS, group=SIZES, **options)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("systems", "message"),
        [
            ({}, "systems is an empty dictionary: give a dictionary, {'name': scores, ...}"),
            ([A, B], "systems is list: give a dictionary, {'name': scores, ...}"),
            (A, "systems is ndarray: give a dictionary, {'name': scores, ...}"),
            ({1: A}, "the name of a system is 1: it must be a text"),
            ({"": A}, "the name of a system is '': it must be a text"),
            ({("a", "b"): A}, "the name of a system is ('a', 'b'): it must be a text"),
            ({"a": A, "b": B[:-1]}, f"system 'b' has {ROWS - 1} scores, but there are {ROWS}"),
            ({"b": B[:, None]}, f"system 'b' has scores of shape ({ROWS}, 1), but there"),
            ({"b": 1.0}, f"system 'b' has scores of shape (), but there are {ROWS} labels"),
            ({"b": "b.run"}, "system 'b' is a str: give one score per row or a model with"),
            ({"b": object()}, "system 'b' is a object: give one score per row or a model"),
            ({"b": {"q": {"d": 1.0}}}, "system 'b' is a run: give qrels in place of labels"),
            ({"b": {"d": 1.0}}, "system 'b' is a dict: give one score per row or a model"),
        ],
    )  # fmt: skip
    def test_systems(self, systems: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            rf.compare(systems, LABELS, group=SIZES)
        assert "\n" not in str(caught.value)

    def test_labels(self) -> None:
        with pytest.raises(ValueError, match=f"group sizes add up to 3, but there are {ROWS} rows"):
            rf.compare({"a": A}, LABELS, group=[1, 2])
        with pytest.raises(ValueError, match="label of row 1 is nan: labels must be finite"):
            rf.compare({"a": [1, 2]}, [0, math.nan])
        with pytest.raises(ValueError, match="labels must be one number per row"):
            rf.compare({"a": A}, None)

    def test_options_are_checked_before_models_predict(self) -> None:
        """Hours of prediction are not lost to a slip of the pen."""

        class Slow:
            def predict(self, features: Any) -> Any:
                raise AssertionError("asked to predict")

        data = rf.RankingData(A[:, None], LABELS, group=SIZES)
        for options in ({"baseline": "x"}, {"test": "x"}, {"confidence": 2}, {"seed": 0.5}):
            with pytest.raises(ValueError, match=next(iter(options))):
                rf.compare({"slow": Slow()}, data, **options)  # type: ignore[arg-type]

    def test_t_test_of_one_query(self) -> None:
        with pytest.raises(ValueError, match="1 query counts: a t-test needs at least two"):
            rf.compare({"a": A, "b": B}, LABELS, test="t")

    def test_moved(self) -> None:
        c = compare()
        with pytest.raises(ValueError, match="'a' was not compared with the baseline: b were"):
            c.moved("a")
        with pytest.raises(ValueError, match="top is 0: it must be an integer from 1 up"):
            c.moved("b", 0)

    def test_tables(self) -> None:
        c = compare()
        with pytest.raises(ValueError, match="the format is 'pdf': choose one of text, markdown"):
            c.table("pdf")
        for digits in (-1, 2.5, True, "2"):
            with pytest.raises(ValueError, match=f"digits is {digits!r}: it must be an integer"):
                c.table(digits=digits)  # type: ignore[arg-type]


class TestEvaluate:
    def test_means(self) -> None:
        found = rf.evaluate(A, LABELS, group=SIZES)
        for metric in found.metrics:
            assert found.means[metric.name] == approx(metric(A, LABELS, group=SIZES).mean())
        assert list(found.means) == ["NDCG@5", "NDCG@10", "P@5", "P@10", "MAP", "MRR"]

    def test_table_tells_the_conventions(self) -> None:
        table = rf.evaluate(A, LABELS, "ndcg@5, arpb@5", group=SIZES).table()
        first, second, *_ = table.splitlines()
        assert first.startswith("NDCG@5")
        assert "higher is better" in first
        assert "lower is better" in second
        assert "12 queries" in table

    def test_weights(self) -> None:
        weights = np.arange(1.0, len(SIZES) + 1)
        found = rf.evaluate(A, LABELS, "mrr", group=SIZES, weights=weights)
        expected = rf.metric("mrr")(A, LABELS, group=SIZES)
        assert found.means["MRR"] == approx(np.average(expected, weights=weights))

    def test_record_has_no_nan(self) -> None:
        metric = rf.metric("mrr", no_relevant="skip")
        found = rf.evaluate([1, 2, 3], [0, 0, 1], metric, qid=["x", "x", "y"])
        record = found.record(per_query=True)
        name = metric.name
        assert record["per_query"] == [{"query": "x", name: None}, {"query": "y", name: 1.0}]
        assert record["means"] == {name: 1.0}

    def test_mistakes(self) -> None:
        with pytest.raises(ValueError, match="there is no metric: give one"):
            rf.evaluate(A, LABELS, [], group=SIZES)
        with pytest.raises(ValueError, match="two metrics are called P@5"):
            rf.evaluate(A, LABELS, "p@5,precision@5", group=SIZES)
        with pytest.raises(ValueError, match="unknown metric ''"):
            rf.evaluate(A, LABELS, "mrr,", group=SIZES)


class TestCompareValues:
    """Values that are known already, such as means over seeds."""

    @pytest.mark.parametrize("metric", ["ndcg@5", "arpb@3", rf.metric("mrr", no_relevant="skip")])
    @pytest.mark.parametrize("test", ["fisher", "permutation", "t", "bootstrap"])
    def test_as_compare_has_it(self, metric: Any, test: str) -> None:
        weights = np.arange(1.0, len(SIZES) + 1)
        expected = rf.compare(
            {"a": A, "b": B, "c": C}, LABELS, qid=NAMES, metric=metric, test=test, weights=weights,
            baseline="b",
        )  # fmt: skip
        c = rf.compare_values(
            expected.values, metric=metric, test=test, weights=weights, baseline="b",
            query_ids=expected.query_ids,
        )  # fmt: skip
        assert c.contrasts == expected.contrasts
        assert c.means == expected.means
        assert c.moved("a") == expected.moved("a")
        assert (c.random, c.perfect) == (None, None)
        assert "random ranking" not in c.table()

    def test_lower_is_better_is_up_to_the_metric(self) -> None:
        values = {"old": [3.0, 2.0, 4.0], "new": [2.0, 1.0, 2.0]}
        for metric, p in (("arp", 1 / 8), ("dcg@5", 1.0)):
            c = rf.compare_values(values, metric=metric, test="permutation")
            assert c.p_values["new"] == p  # all three better, or all worse

    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [
            ({}, {}, "values is an empty dictionary: give a dictionary, {'name': values, ...}"),
            ([0.5], {}, "values is list: give a dictionary"),
            ({1: [0.5]}, {}, "the name of a system is 1: it must be a text"),
            ({"a": [[0.5]]}, {}, "'a' has shape (1, 1), but there are 1 queries"),
            ({"a": [0.5, 0.5], "b": [0.5]}, {}, "'b' has shape (1,), but there are 2 queries"),
            ({"a": [0.5, math.inf]}, {"query_ids": ["p", "q"]}, "'a' has an infinite value for q"),
            ({"a": [0.5]}, {"query_ids": ["p", "q"]}, "'query_ids' has shape (2,), but there"),
            ({"a": [0.5]}, {"weights": [1, 1]}, "weights have shape (2,), but there are 1 queries"),
            ({"a": [math.nan]}, {}, "no query counts for MRR"),
            ({"a": [1.0, 0.5], "b": [1.0, math.nan]}, {}, "MRR of query 1 is a number for system"),
            ({"a": [0.5]}, {"baseline": "b"}, "baseline 'b' is none of the systems: a"),
        ],
    )
    def test_mistakes(self, values: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            rf.compare_values(values, metric="mrr", **options)
