"""Training judged by any source of labels, and by a scorecard, against a naive reference."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

import rankforce as rf
from rankforce.evaluation.scorecard import Scorecard, scorecard
from rankforce.training.watch import Trail, default_metric, make_metrics

HIGH, LOW, CLICKS = "ndcg@3", "arpb@3", "cndcg@3(source=Click)"
TREES = 16
PARAMS: dict[str, Any] = {
    "n_estimators": TREES,
    "num_leaves": 6,
    "learning_rate": 0.4,
    "min_child_samples": 5,
    "seed": 1,
    "engine": "lightgbm",  # whose curves the tests below were chosen by
    "threads": 1,
    "progress": False,
}


def with_clicks(queries: int, seed: int, **options: Any) -> rf.RankingData:
    """Clicks that rather go against the grades, and are not known of all."""
    data = rf.make_data("mslr", queries=queries, seed=seed)
    rng = np.random.default_rng(seed)
    clicks = 1.0 / (1.0 + np.exp(rng.normal(size=data.rows) + 0.6 * data.labels))
    clicks[rng.uniform(size=data.rows) < 0.2] = math.nan
    return rf.RankingData(
        data.features, data.labels, qid=data.qid, sources={"Click": clicks}, **options
    )


TRAIN, VALID, OTHER = (with_clicks(n, seed) for n, seed in ((14, 21), (12, 22), (6, 24)))
WEIGHTS = np.linspace(0.0, 3.0, 12)
WEIGHTED = with_clicks(12, 22, query_weight=WEIGHTS)


def fit(data: Any = VALID, **given: Any) -> rf.Ranker:
    fitting = {"eval_metric", "early_stopping_rounds", "eval_set", "eval_names", "callbacks"}
    params = {name: value for name, value in given.items() if name not in fitting}
    given = {name: value for name, value in given.items() if name in fitting}
    return rf.Ranker(**PARAMS | params).fit(TRAIN, **{"eval_set": [data]} | given)


def per_query(ranker: rf.Ranker, data: rf.RankingData, metric: rf.Metric, trees: int) -> Any:
    """By labels in which what is missing is 0."""
    labels = data.labels if metric.source is None else np.nan_to_num(data.sources["Click"])
    plain = rf.metric(metric.name.replace("(source=Click)", ""))
    return plain(ranker.predict(data, num_iteration=trees), labels, qid=data.qid)


def is_better(one: Any, other: Any, card: Scorecard, weights: Any = None) -> bool:
    """Values of the best so far, and of a candidate: metrics x queries."""
    for tier, before, after in zip(card.tiers, one, other, strict=True):
        change = after - before
        difference = float(np.average(change, weights=weights))
        if abs(difference) < 1e-13 or abs(difference) <= tier.tolerance:
            continue
        if tier.level is not None:
            assert weights is None
            p = stats.ttest_rel(after, before).pvalue
            if p >= tier.level:
                continue
        return (difference > 0) == tier.metric.higher_is_better
    return False


def naive(
    values: list[Any], card: Scorecard, rounds: int | None, weights: Any = None
) -> tuple[int, int]:
    """Number of trees at the best value, and of those grown when training stops."""
    best, number = 1, 1
    for number in range(2, len(values) + 1):
        if is_better(values[best - 1], values[number - 1], card, weights):
            best = number
        if rounds is not None and number - best >= rounds:
            break
    return best, number


@pytest.fixture(scope="module")
def whole() -> rf.Ranker:
    return fit(eval_metric=[HIGH, LOW, CLICKS])


@pytest.fixture(scope="module")
def values(whole: rf.Ranker) -> dict[str, list[Any]]:
    """By metric, for each number of trees: one value per query."""
    return {
        name: [per_query(whole, VALID, rf.metric(name), n) for n in range(1, TREES + 1)]
        for name in (HIGH, LOW, CLICKS)
    }


def of_tiers(values: dict[str, list[Any]], card: Scorecard) -> list[Any]:
    return [np.stack(rows) for rows in zip(*(values[m.key] for m in card), strict=True)]


CARDS = {
    "one tier": scorecard([HIGH]),
    "no tolerance": scorecard([HIGH, CLICKS]),
    "small": scorecard([HIGH, CLICKS], tolerance=0.005),
    "large": scorecard([HIGH, CLICKS], tolerance=0.03),
    "huge": scorecard([HIGH, CLICKS], tolerance=1.0),
    "lower": scorecard([LOW, CLICKS], tolerance=0.5),
    "three": scorecard([CLICKS, LOW, HIGH], tolerance=[0.02, 0.3, 0.01]),
    "level": scorecard([HIGH, CLICKS], level=[0.2, None]),
    "levels": scorecard([HIGH, CLICKS], level=0.2),
    "both": scorecard([LOW, CLICKS], level=[0.3, None], tolerance=0.2),
}
every_card = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


class TestSources:
    def test_history_reads_the_source(self, whole: rf.Ranker, values: Any) -> None:
        history = whole.evals_result_["valid_0"]
        assert list(history) == [HIGH, LOW, CLICKS]
        for name in history:
            assert history[name] == pytest.approx([v.mean() for v in values[name]], rel=1e-12)
        assert history[CLICKS] != history[HIGH]

    def test_it_decides(self, whole: rf.Ranker, values: Any) -> None:
        ranker = fit(eval_metric=CLICKS, early_stopping_rounds=3)
        best, end = naive([[v] for v in values[CLICKS]], scorecard([CLICKS]), 3)
        assert end < TREES
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
        by_grades = naive([[v] for v in values[HIGH]], scorecard([HIGH]), 3)
        assert by_grades != (best, end)

    def test_score(self, whole: rf.Ranker) -> None:
        expected = per_query(whole, VALID, rf.metric(CLICKS), TREES).mean()
        assert whole.score(VALID, metric=CLICKS) == pytest.approx(expected, rel=1e-12)
        assert fit(eval_metric=CLICKS).score(VALID) == pytest.approx(expected, rel=1e-12)
        weighted = per_query(whole, VALID, rf.metric(CLICKS), TREES)
        assert whole.score(WEIGHTED, metric=CLICKS) == pytest.approx(
            np.average(weighted, weights=WEIGHTS), rel=1e-12
        )

    def test_score_after_loading(self, tmp_path: Path) -> None:
        """The case of the source is kept in the files."""
        ranker = fit(eval_metric=CLICKS, n_estimators=3)
        ranker.save(tmp_path / "model")
        loaded = rf.load(tmp_path / "model")
        assert loaded.score(VALID) == ranker.score(VALID) != ranker.score(VALID, metric=HIGH)
        assert loaded.evals_result_ == ranker.evals_result_

    def test_a_set_without_the_source(self) -> None:
        bare = rf.make_data("mslr", queries=4, seed=5)
        message = r"^valid_1: CNDCG@3\(source=Click\) reads the labels 'Click', but those of the"
        with pytest.raises(ValueError, match=message):
            fit(eval_set=[VALID, bare], eval_metric=[HIGH, CLICKS])
        with pytest.raises(ValueError, match=r"reads the labels 'click'.* are 'label', 'Click'"):
            fit(eval_metric="mrr(source=click)")

    def test_two_functions_whose_names_differ_in_case(self) -> None:
        """They have one key in a history."""
        metrics = [rf.metric(lambda s, y: 0.0, name=name) for name in ("Mine", "mine")]
        with pytest.raises(ValueError, match="the metric Mine is asked for twice"):
            fit(eval_metric=metrics)

    def test_two_sources_whose_names_differ_in_case(self) -> None:
        made = make_metrics("mrr(source=Click),mrr(source=click)", None, k=None)
        assert [metric.key for metric in made] == ["mrr(source=Click)", "mrr(source=click)"]

    def test_cutoffs_go_to_metrics_with_a_source(self) -> None:
        made = make_metrics("ndcg(source=Click), mrr@2(source=Click)", None, k=None, cutoffs=[1, 5])
        assert [metric.name for metric in made] == [
            "NDCG@1(source=Click)", "NDCG@5(source=Click)", "MRR@2(source=Click)",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "name", [e.name for e in rf.objectives() if e.name.startswith("lambdarank(")]
    )
    def test_lambdarank_for_a_metric_is_watched_by_it(self, name: str) -> None:
        wanted = name.removeprefix("lambdarank(").removesuffix(")")
        [made] = make_metrics(None, rf.objective(name, k=4), k=4)
        at = "" if wanted in ("rbp", "arp") else "@4"
        assert made == rf.metric(wanted + at)

    def test_the_metric_of_an_objective_reads_its_source(self) -> None:
        objective = rf.objective("lambdarank(cndcg)", k=4, source="Click")
        assert default_metric(objective, 4) == "cndcg@4"
        [made] = make_metrics(None, objective, k=None)
        assert made == rf.metric("cndcg@4(source=Click)")
        [made] = make_metrics(None, rf.objective("lambdarank-ndcg"), k=7)
        assert made == rf.metric("ndcg@7")


class TestStopping:
    def test_the_cards_differ(self, values: Any) -> None:
        """Otherwise the tests below would show little."""
        bests = {name: naive(of_tiers(values, card), card, None)[0] for name, card in CARDS.items()}
        assert len(set(bests.values())) >= 6, bests
        assert any(naive(of_tiers(values, c), c, 2)[1] < TREES for c in CARDS.values())
        assert bests["one tier"] != bests["large"]

    @every_card
    @pytest.mark.parametrize("rounds", [None, 2, 4, 100])
    def test_best_iteration_and_early_stopping(
        self, whole: rf.Ranker, values: Any, card: Scorecard, rounds: int | None
    ) -> None:
        best, end = naive(of_tiers(values, card), card, rounds)
        ranker = fit(eval_metric=card, early_stopping_rounds=rounds)
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
        history = whole.evals_result_["valid_0"]
        assert ranker.evals_result_ == {"valid_0": {m.key: history[m.key][:end] for m in card}}
        used = TREES if rounds is None else best
        assert np.array_equal(ranker.predict(VALID), whole.predict(VALID, num_iteration=used))

    def test_among_the_parameters(self, values: Any) -> None:
        card = CARDS["small"]
        best, end = naive(of_tiers(values, card), card, 2)
        params = PARAMS | {"eval_metric": card, "early_stopping_rounds": 2}
        ranker = clone(rf.Ranker(**params)).fit(TRAIN, eval_set=[VALID])
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
        again = pickle.loads(pickle.dumps(ranker))
        assert again.get_params()["eval_metric"] == card
        trained = rf.train(params | {"train": TRAIN, "valid": VALID})
        assert trained.best_iteration_ == best

    def test_further_metrics_only_watch(self, values: Any) -> None:
        card = CARDS["small"]
        best, end = naive(of_tiers(values, card), card, 2)
        ranker = fit(eval_metric=[card, LOW, "mrr"], early_stopping_rounds=2)
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
        assert list(ranker.evals_result_["valid_0"]) == [HIGH, CLICKS, LOW, "mrr"]

    @pytest.mark.parametrize("name", ["small", "level"])
    def test_the_first_set_decides(self, whole: rf.Ranker, values: Any, name: str) -> None:
        card = CARDS[name]
        best, end = naive(of_tiers(values, card), card, 3)
        ranker = fit(eval_set=[VALID, OTHER], eval_metric=card, early_stopping_rounds=3)
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
        assert {len(v) for part in ranker.evals_result_.values() for v in part.values()} == {end}
        others = [
            np.stack([per_query(whole, OTHER, metric, trees) for metric in card])
            for trees in range(1, TREES + 1)
        ]
        turned = fit(eval_set=[OTHER, VALID], eval_metric=card, early_stopping_rounds=3)
        expected = naive(others, card, 3)
        assert (turned.best_iteration_, len(turned.model_.trees)) == expected != (best, end)

    @pytest.mark.parametrize("name", ["no tolerance", "small", "large", "three"])
    def test_weights_of_queries(self, values: Any, name: str) -> None:
        card = CARDS[name]
        expected = naive(of_tiers(values, card), card, 4, WEIGHTS)
        ranker = fit(WEIGHTED, eval_metric=card, early_stopping_rounds=4)
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == expected

    def test_weights_of_queries_change_the_test(self) -> None:
        """Without the first query, the others are better, and by nearly as much."""
        card = scorecard([HIGH], level=0.5)
        one = np.array([[0.5, 0.5, 0.5, 0.5]])
        trails = [Trail(card, weights) for weights in (None, np.array([0.0, 1.0, 1.0, 1.0]))]
        for trail in trails:
            trail.add(one)
            trail.add(one + np.array([[-0.4, 0.01, 0.01, 0.02]]))
        assert [trail.best(2) for trail in trails] == [1, 2]

    def test_score_is_by_the_first_tier(self) -> None:
        ranker = fit(eval_metric=CARDS["small"], n_estimators=3)
        assert ranker.score(VALID) == ranker.score(VALID, metric=HIGH)
        assert ranker.score(VALID, metric=CARDS["lower"]) == ranker.score(VALID, metric=LOW)

    def test_a_function_of_ones_own(self) -> None:
        def top(scores: Any, labels: Any) -> float:
            return float(labels[scores.argmax()])

        card = scorecard([HIGH, rf.metric(top, name="Top", source="Click")], tolerance=0.05)
        ranker = fit(eval_metric=card)
        tiers = ranker.evals_result_["valid_0"]
        assert list(tiers) == [HIGH, "top"]
        means = [np.array([[a], [b]]) for a, b in zip(*tiers.values(), strict=True)]
        assert ranker.best_iteration_ == naive(means, card, None)[0]

    @pytest.mark.parametrize("level", [None, 0.05])
    def test_a_tier_that_knows_no_value(self, level: float | None) -> None:
        """NaN is never best, and where it always is, there is nothing to decide by."""
        never = rf.metric(lambda scores, labels: math.nan, name="never")
        card = scorecard([HIGH, never], level=level)
        ranker = fit(eval_metric=card, early_stopping_rounds=1, n_estimators=4)
        assert len(ranker.model_.trees) == ranker.best_iteration_ == 4

    def test_a_tier_whose_first_values_are_not_known(self) -> None:
        calls = 0

        def late(scores: Any, labels: Any) -> float:
            nonlocal calls
            calls += 1
            return math.nan if calls <= 2 * len(VALID.sizes) else 0.5

        ranker = fit(eval_metric=scorecard([rf.metric(late), "p@1"]), n_estimators=5)
        precision = ranker.evals_result_["valid_0"]["p@1"][2:]
        assert ranker.best_iteration_ == 3 + int(np.argmax(precision))

    @pytest.mark.parametrize("name", ["small", "level"])
    def test_interrupted(self, values: Any, name: str) -> None:
        """In the middle of the second set: the tree that the first has seen already is gone."""
        calls = 0

        def interrupts(scores: Any, labels: Any) -> float:
            nonlocal calls
            calls += 1
            if calls == 3 * (len(VALID.sizes) + len(OTHER.sizes)) - 2:
                raise KeyboardInterrupt
            return 0.5

        card = CARDS[name]
        metrics = [card, rf.metric(interrupts, name="mine")]
        ranker = fit(eval_set=[VALID, OTHER], eval_metric=metrics)
        assert len(ranker.model_.trees) == 2
        tiers = of_tiers(values, card)
        assert ranker.best_iteration_ == naive(tiers[:2], card, None)[0]
        assert naive(tiers[:3], card, None)[0] == 3
        assert {len(v) for part in ranker.evals_result_.values() for v in part.values()} == {2}

    def test_lightgbms_callbacks_see_every_tier(self) -> None:
        seen: list[list[str]] = []
        fit(
            eval_metric=CARDS["three"],
            n_estimators=2,
            callbacks=[lambda m: seen.append([e.metric_name for e in m.evaluation_result_list])],
        )
        assert seen == [[CLICKS, LOW, HIGH]] * 2

    def test_mistakes(self) -> None:
        with pytest.raises(ValueError, match="comes after a metric: it decides, so put it first"):
            fit(eval_metric=[HIGH, CARDS["lower"]])
        with pytest.raises(ValueError, match="the metric NDCG@3 is asked for twice"):
            fit(eval_metric=[CARDS["small"], HIGH])
        with pytest.raises(ValueError, match=r"min_delta is 0\.1: a scorecard has its own toler"):
            fit(eval_metric=CARDS["small"], min_delta=0.1)
        with pytest.raises(ValueError, match="early_stopping_rounds needs a validation set"):
            fit(eval_set=[], eval_metric=CARDS["small"], early_stopping_rounds=2)
        assert fit(eval_set=[], eval_metric=CARDS["level"], n_estimators=2).best_iteration_ == 2


class TestCheckpoints:
    @pytest.mark.parametrize("name", ["small", "large", "lower"])
    def test_going_on_with_tolerances(self, tmp_path: Path, values: Any, name: str) -> None:
        card = CARDS[name]
        given = {"eval_metric": card, "early_stopping_rounds": 4, "checkpoint": tmp_path / "run"}
        fit(**given, n_estimators=3)
        ranker = fit(**given)
        expected = naive(of_tiers(values, card), card, 4)
        assert (ranker.best_iteration_, len(ranker.model_.trees)) == expected

    def test_going_on_with_levels(self, tmp_path: Path, values: Any) -> None:
        """A history does not have what a test looks at, so that trees are measured again."""
        card = CARDS["level"]
        given = {"eval_metric": card, "early_stopping_rounds": 4}
        whole = fit(**given)
        fit(**given, checkpoint=tmp_path / "run", n_estimators=3)
        again = fit(**given, checkpoint=tmp_path / "run")
        assert again.model_.text() == whole.model_.text()
        assert again.model_.history == whole.model_.history
        assert again.best_iteration_ == whole.best_iteration_


class TestCrossValidation:
    CARD = scorecard([HIGH, CLICKS], tolerance=0.01)
    PARAMS = PARAMS | {"n_estimators": 4}

    def test_results_by_source(self) -> None:
        found = rf.cv(self.PARAMS, TRAIN, folds=3, metrics=[HIGH, CLICKS])
        plain = rf.metric("cndcg@3")
        expected = plain(found.scores, np.nan_to_num(TRAIN.sources["Click"]), qid=TRAIN.qid)
        assert np.array_equal(found.values[CLICKS], expected)
        assert f"{CLICKS}  {expected.mean():.4f}" in str(found)
        parts = [expected[found.fold == number].mean() for number in range(3)]
        assert found.fold_means[CLICKS] == pytest.approx(parts)

    def test_by_a_scorecard(self) -> None:
        """Its metrics are those of the results, and it chooses among them."""
        many = {
            name: rf.cv(self.PARAMS | more, TRAIN, folds=3, metrics=self.CARD)
            for name, more in (("a", {}), ("b", {"learning_rate": 0.05}), ("c", {"num_leaves": 2}))
        }
        assert all(list(found.means) == [HIGH, CLICKS] for found in many.values())
        rows = {name: [found.values[m.key] for m in self.CARD] for name, found in many.items()}
        assert self.CARD.choose(many) == self.CARD.choose(rows)
        assert self.CARD.verdict(many["a"], many["b"]) == self.CARD.verdict(rows["a"], rows["b"])

    def test_it_decides_when_to_stop(self) -> None:
        """By its second metric, where no difference of the first one counts."""
        card = scorecard([HIGH, CLICKS], tolerance=1.0)
        params = PARAMS | {"n_estimators": 12}
        found = rf.cv(params, TRAIN, folds=2, metrics=card, early_stopping_rounds=2)
        ends, others = [], []
        for ranker in found.rankers:
            history = ranker.evals_result_["valid_0"]
            assert list(history) == [HIGH, CLICKS]
            means = list(np.array([*history.values()]).T[:, :, None])
            ends.append((ranker.best_iteration_, len(ranker.model_.trees)))
            assert ends[-1] == naive(means, card, 2)
            others.append(naive(means, scorecard([HIGH, CLICKS]), 2))
        assert ends != others

    def test_a_card_among_the_parameters(self) -> None:
        found = rf.cv(self.PARAMS | {"eval_metric": self.CARD}, TRAIN, folds=2)
        assert list(found.means) == [HIGH, CLICKS]

    def test_weights_of_queries_count(self) -> None:
        weighted = with_clicks(12, 2, query_weight=np.arange(1.0, 13.0))
        one, other = (
            rf.cv(self.PARAMS | {"learning_rate": rate}, weighted, folds=2, metrics=self.CARD)
            for rate in (0.4, 0.01)
        )
        rows = [[found.values[m.key] for m in self.CARD] for found in (one, other)]
        expected = self.CARD.verdict(*rows, weights=np.arange(1.0, 13.0))
        assert self.CARD.verdict(one, other) == expected != self.CARD.verdict(*rows)

    def test_a_source_that_is_not_there_is_missed_before_training(self) -> None:
        bare = rf.make_data("mslr", queries=4, seed=5)

        def trains(moment: Any) -> None:
            raise AssertionError("trained a tree")

        with pytest.raises(ValueError, match="reads the labels 'Click', but those of the data"):
            rf.cv(self.PARAMS, bare, folds=2, metrics=self.CARD, callbacks=[trains])
