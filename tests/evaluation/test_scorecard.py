"""Scorecards: the first tier that differs decides, against a naive reference."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import rankforce as rf
from rankforce.evaluation.graded import GradedComparison
from rankforce.evaluation.scorecard import Scorecard, Verdict, scorecard

NAN = math.nan
HIGH, LOW, CLICKS = "ndcg@3", "arpb@3", "cndcg@3(source=click)"
LEVELS = (None, 0.05, 0.3)


def naive(
    baseline: Any,
    system: Any,
    higher: list[bool],
    tolerance: list[float],
    level: list[float | None],
) -> tuple[str, int | None]:
    """The verdict in words, and the tier that decided."""
    for tier, (one, other) in enumerate(zip(baseline, system, strict=True)):
        known = [(a, b) for a, b in zip(one, other, strict=True) if not math.isnan(a)]
        difference = math.fsum(b - a for a, b in known) / len(known)
        is_there = abs(difference) > tolerance[tier] + (1e-12 if tolerance[tier] else 1e-15)
        alpha = level[tier]
        if alpha is not None:
            spread = math.sqrt(sum((b - a - difference) ** 2 for a, b in known))
            if spread > 1e-12:  # else no doubt is left
                t = difference / (spread / math.sqrt(len(known) * (len(known) - 1)))
                is_there = is_there and 2.0 * stats.t.sf(abs(t), len(known) - 1) < alpha
        if is_there:
            return ("better" if (difference > 0) == higher[tier] else "worse"), tier
    return "same", None


def word(verdict: Verdict) -> str:
    assert not (verdict.better and verdict.worse)
    assert (verdict.tier is None) == (not verdict.better and not verdict.worse)
    return "better" if verdict.better else "worse" if verdict.worse else "same"


# Few distinct values, so that tiers are often the same, and enough queries for any level.
rows = st.lists(st.integers(0, 4).map(lambda n: n / 4), min_size=6, max_size=6)
tables = st.lists(rows, min_size=3, max_size=3)
names = ["ndcg@3", "arpb@3", "mrr"]


class TestVerdict:
    @given(
        tables,
        tables,
        st.lists(st.sampled_from([0.0, 0.1, 0.25]), min_size=3, max_size=3),
        st.lists(st.sampled_from(LEVELS), min_size=3, max_size=3),
    )
    @settings(max_examples=300, deadline=None, derandomize=True)
    def test_it_is_the_naive_one(self, one: Any, other: Any, tolerance: Any, level: Any) -> None:
        card = scorecard(names, tolerance=tolerance, level=level)
        expected = naive(one, other, [True, False, True], tolerance, level)
        found = card.verdict(one, other)
        assert (word(found), found.tier) == expected
        turned = card.verdict(other, one)
        assert (turned.better, turned.worse, turned.tier) == (
            found.worse,
            found.better,
            found.tier,
        )

    def test_differences_and_p_values(self) -> None:
        rng = np.random.default_rng(0)
        one, other = rng.uniform(size=(2, 2, 30))
        found = scorecard([HIGH, LOW], level=[0.05, None]).verdict(one, other)
        assert found.differences == pytest.approx((other - one).mean(axis=1).tolist())
        assert found.p_values[0] == pytest.approx(
            stats.ttest_rel(other[0], one[0]).pvalue, rel=1e-9
        )
        assert found.p_values[1] is None

    def test_the_first_tier_decides_if_it_differs(self) -> None:
        better, worse = [[0.6, 0.6], [0.1, 0.1]], [[0.5, 0.5], [0.9, 0.9]]
        found = scorecard([HIGH, "mrr"]).verdict(worse, better)
        assert found[:3] == (True, False, 0)
        assert found.differences == pytest.approx((0.1, -0.8))
        assert found.p_values == (None, None)

    def test_a_lower_metric_is_better(self) -> None:
        found = scorecard([LOW]).verdict([[3.0, 2.0]], [[2.0, 2.0]])
        assert (word(found), found.differences) == ("better", (-0.5,))

    @pytest.mark.parametrize(("tolerance", "tier"), [(0.0, 0), (0.009, 0), (0.01, 1), (0.02, 1)])
    def test_tolerance(self, tolerance: float, tier: int) -> None:
        """0.51 - 0.5 is more than 0.01 by rounding alone."""
        assert 0.51 - 0.5 > 0.01
        card = scorecard([HIGH, "mrr"], tolerance=tolerance)
        found = card.verdict([[0.5], [0.5]], [[0.51], [0.500001]])
        assert (word(found), found.tier) == ("better", tier)

    def test_one_tolerance_is_not_for_the_last_tier(self) -> None:
        card = scorecard([HIGH, "mrr"], tolerance=0.1)
        assert [tier.tolerance for tier in card.tiers] == [0.1, 0.0]
        assert word(card.verdict([[0.5], [0.5]], [[0.5], [0.49]])) == "worse"
        card = scorecard([HIGH, "mrr"], tolerance=[0.1, 0.1])
        assert word(card.verdict([[0.5], [0.5]], [[0.5], [0.49]])) == "same"

    def test_one_level_is_for_every_tier(self) -> None:
        card = scorecard([HIGH, "mrr"], level=0.05)
        assert [tier.level for tier in card.tiers] == [0.05, 0.05]
        noise = np.array([0.2, -0.1, 0.1, -0.15])
        values = np.full((2, 4), 0.5)
        found = card.verdict(values, values + noise)
        assert (word(found), found.p_values[0]) == ("same", found.p_values[1])
        steady = noise / 1000 + 0.01
        assert card.verdict(values, values + np.stack([noise, steady])).tier == 1
        assert word(card.verdict(values, values + np.stack([noise, -steady]))) == "worse"

    def test_significant_but_within_the_tolerance(self) -> None:
        values = np.full((1, 5), 0.5)
        system = values + 0.01 + np.arange(5) / 1000
        assert scorecard([HIGH], level=0.05).verdict(values, system).better
        card = scorecard([HIGH], level=0.05, tolerance=[0.02])
        assert word(card.verdict(values, system)) == "same"

    @pytest.mark.parametrize("test", ["fisher", "permutation", "bootstrap"])
    def test_other_tests_are_two_sided_too(self, test: str) -> None:
        rng = np.random.default_rng(1)
        values = np.full((1, 40), 0.5)
        card = scorecard([HIGH], level=0.05, test=test)
        steady = rng.normal(0.1, 0.02, (1, 40))
        up, down = card.verdict(values, values + steady), card.verdict(values, values - steady)
        assert (word(up), word(down)) == ("better", "worse")
        assert up.p_values == down.p_values != (None,)

    def test_rounding_is_no_difference(self) -> None:
        found = scorecard([HIGH, "mrr"]).verdict(
            [[0.3, 0.7], [0.5, 0.5]], [[0.1 + 0.2, 0.7], [0.4, 0.5]]
        )
        assert (found.tier, found.differences[0]) == (1, 0.0)
        evened = scorecard([HIGH, "mrr"]).verdict(
            [[0.1, 0.1, 0.7], [0.5] * 3], [[0.1 + 0.2, 0.1 + 0.2, 0.7 - 0.4], [0.5] * 3]
        )
        assert (word(evened), evened.differences) == ("same", (0.0, 0.0))

    def test_queries_that_do_not_count(self) -> None:
        one, other = [[0.5, NAN, 0.2], [0.1, 0.1, 0.1]], [[0.6, NAN, 0.1], [0.1, 0.4, 0.1]]
        found = scorecard([HIGH, "mrr"]).verdict(one, other)
        assert found.tier == 1
        assert found.differences == pytest.approx((0.0, 0.1), abs=1e-12)

    def test_weights(self) -> None:
        one, other = [[0.5, 0.5]], [[0.6, 0.3]]
        card = scorecard([HIGH])
        assert word(card.verdict(one, other)) == "worse"
        assert word(card.verdict(one, other, weights=[3, 1])) == "better"
        assert word(card.verdict(one, other, weights=[2, 1])) == "same"
        found = card.verdict([[0.5, NAN]], [[0.6, NAN]], weights=[1, 0])
        assert found.differences == pytest.approx((0.1,))

    @pytest.mark.parametrize(
        ("one", "other", "options", "message"),
        [
            ([[0.5]], [[0.5], [0.5]], {}, "values of the baseline have shape (1, 1): expected a"),
            ([0.5, 0.5], [[0.5], [0.5]], {}, "values of the baseline have shape (2,)"),
            ([[0.5], [0.5]], [[0.5, 1.0], [0.5, 1.0]], {}, "the system has 2 queries, but the"),
            ([[NAN], [1.0]], [[0.5], [1.0]], {}, "NDCG@3 of query 0 is a number for one system"),
            ([[1.0], [NAN]], [[0.5], [NAN]], {}, "no query counts for MRR"),
            ([[1.0], [1.0]], [[0.5], [0.5]], {"weights": [1, 2]}, "weights have shape (2,), but"),
            ([[1.0], [1.0]], [[0.5], [0.5]], {"weights": [0]}, "no query counts for NDCG@3"),
            ({"ndcg@3": [1.0]}, [[0.5], [0.5]], {}, "the baseline has no values of MRR: it has"),
        ],
    )  # fmt: skip
    def test_mistakes(self, one: Any, other: Any, options: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            scorecard([HIGH, "mrr"]).verdict(one, other, **options)
        assert "\n" not in str(caught.value)

    def test_a_t_test_needs_two_queries(self) -> None:
        with pytest.raises(ValueError, match="1 query counts: a t-test needs at least two"):
            scorecard([HIGH], level=0.05).verdict([[0.5]], [[0.6]])


class TestChoose:
    def test_of_those_as_good_the_best_in_the_last_tier(self) -> None:
        card = scorecard([HIGH, "mrr"], tolerance=0.05)
        systems = {"a": [[0.50], [0.3]], "b": [[0.46], [0.5]], "c": [[0.3], [0.9]]}
        assert card.choose(systems) == "b"
        assert scorecard([HIGH, "mrr"]).choose(systems) == "a"
        assert scorecard([HIGH, "mrr"], tolerance=0.2).choose(systems) == "c"

    def test_every_tier_is_against_its_own_best(self) -> None:
        """`a` is as good as `b` and `b` as `c`, but `a` is not as good as `c`."""
        systems = {"a": [[0.50], [0.9]], "b": [[0.54], [0.5]], "c": [[0.58], [0.1]]}
        assert scorecard([HIGH, "mrr"], tolerance=0.05).choose(systems) == "b"

    def test_three_tiers(self) -> None:
        systems = {
            "a": [[0.50], [4.0], [0.1]],
            "b": [[0.50], [4.1], [0.9]],
            "c": [[0.52], [3.9], [0.3]],
            "d": [[0.2], [1.0], [1.0]],
        }
        card = scorecard([HIGH, LOW, "mrr"], tolerance=[0.05, 0.1, 0.0])
        assert card.choose(systems) == "c"  # b is worse than c by 0.2
        card = scorecard([HIGH, LOW, "mrr"], tolerance=[0.05, 0.5, 0.0])
        assert card.choose(systems) == "b"  # and d is worse from the beginning

    def test_ties_in_the_last_tier(self) -> None:
        card = scorecard([HIGH, "mrr"], tolerance=0.1)
        assert card.choose({"a": [[0.50], [0.3]], "b": [[0.52], [0.1 + 0.2]]}) == "b"
        assert card.choose({"a": [[0.50], [0.3]], "b": [[0.50], [0.3]]}) == "a"
        assert card.choose({"b": [[0.50], [0.3]], "a": [[0.50], [0.3]]}) == "b"

    def test_by_significance(self) -> None:
        rng = np.random.default_rng(2)
        base = np.full(50, 0.5)
        noise = rng.normal(0.0, 0.2, 50)
        systems = {
            "steady": [base + 0.02, base],
            "noisy": [base + 0.01 + noise - noise.mean(), base + 0.1],
            "worse": [base - 0.01, base + 0.3],
        }
        assert scorecard([HIGH, "mrr"], level=0.05).choose(systems) == "noisy"
        assert scorecard([HIGH, "mrr"]).choose(systems) == "steady"

    def test_weights(self) -> None:
        systems = {"a": [[0.9, 0.1]], "b": [[0.1, 0.8]]}
        assert scorecard([HIGH]).choose(systems) == "a"
        assert scorecard([HIGH]).choose(systems, weights=[1, 2]) == "b"

    @given(st.dictionaries(st.sampled_from("abcd"), tables, min_size=1))
    @settings(max_examples=100, deadline=None, derandomize=True)
    def test_nothing_is_better_than_the_choice_without_tolerance(self, systems: Any) -> None:
        """Then tiers are ordered as words are, by the first letter that differs."""
        card = scorecard(names)
        best = card.choose(systems)
        assert not any(card.verdict(systems[best], values).better for values in systems.values())

    @pytest.mark.parametrize(
        ("systems", "message"),
        [
            ({}, "systems is {}: give a dictionary"),
            ([[0.5]], "systems is [[0.5]]: give a dictionary"),
            ({"a": [[NAN]]}, "no query counts for NDCG@3"),
            ({"a": [[0.1]], "b": [[NAN]]}, "NDCG@3 of query 0 is a number for one system"),
            ({"a": [[0.1]], "b": [[0.1, 0.2]]}, "b has 2 queries, but a has 1"),
        ],
    )
    def test_mistakes(self, systems: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            scorecard([HIGH]).choose(systems)


class TestMaking:
    def test_names_metrics_functions_and_texts(self) -> None:
        made = scorecard([HIGH, rf.metric(CLICKS)])
        assert made == scorecard("NDCG@3, CNDCG@3(source=click)") == scorecard(list(made))
        assert [metric.name for metric in made] == ["NDCG@3", "CNDCG@3(source=click)"]
        assert len(made) == 2
        assert scorecard(HIGH) == scorecard([HIGH]) == scorecard(rf.metric(HIGH))
        assert scorecard([max]).metrics[0].name == "max"

    def test_equal_if_made_alike(self) -> None:
        plain = scorecard([HIGH, LOW])
        others = [
            scorecard([LOW, HIGH]),
            scorecard([HIGH]),
            scorecard([HIGH, LOW], tolerance=0.1),
            scorecard([HIGH, LOW], level=0.1),
            scorecard([HIGH, LOW], level=[0.1, None]),
            scorecard([HIGH, LOW], level=0.1, test="fisher"),
            scorecard([HIGH, "arpb@4"]),
        ]
        assert plain == scorecard([HIGH, LOW])
        assert len({plain, *others}) == 8
        for other in others:
            assert other != plain
            assert other != others[others.index(other) - 1]
        assert plain != [HIGH, LOW]

    @pytest.mark.parametrize(
        "made",
        [
            scorecard([HIGH, CLICKS]),
            scorecard([HIGH, CLICKS], tolerance=0.01, level=0.05, test="Fisher"),
            scorecard([HIGH, CLICKS], tolerance=(0.0, 0.1), level=[None, 0.05]),
            scorecard([HIGH, CLICKS], tolerance=np.array([0.5, 0.25]), level=np.float64(0.5)),  # type: ignore[arg-type]
        ],
        ids=repr,
    )
    def test_text_and_pickle(self, made: Scorecard) -> None:
        assert pickle.loads(pickle.dumps(made)) == made
        space = {"rf": type("rf", (), {"metric": rf.metric, "scorecard": scorecard})}
        assert eval(repr(made), space) == made
        assert hash(pickle.loads(pickle.dumps(made))) == hash(made)

    def test_the_text(self) -> None:
        assert repr(scorecard([HIGH], level=0.05)) == (
            "rf.scorecard([rf.metric('NDCG@3')], level=0.05)"
        )
        card = scorecard([HIGH, LOW, "mrr"], tolerance=0.01, level=[0.05, None, None])
        assert card.conventions == (
            "NDCG@3 if the difference is above 0.01 and p < 0.05 (t test), then "
            "ARPb@3 if the difference is above 0.01, then MRR if it differs"
        )

    @pytest.mark.parametrize(
        ("given", "options", "message"),
        [
            ([], {}, "a scorecard needs a metric"),
            ([HIGH, "NDCG@3"], {}, "two tiers are called NDCG@3: they must differ"),
            (["ndgc"], {}, "unknown metric 'ndgc'"),
            ([HIGH], {"tolerance": -1}, "tolerance is -1: it must be a finite number from 0 up"),
            ([HIGH], {"tolerance": None}, "tolerance is None"),
            ([HIGH], {"tolerance": "0.1"}, "tolerance is '0.1'"),
            ([HIGH, LOW], {"tolerance": [0.1]}, "tolerance is [0.1]: give one number, or one for"),
            ([HIGH, LOW], {"tolerance": [0.1, NAN]}, "tolerance is nan"),
            ([HIGH, LOW], {"level": [0.1, 0.1, 0.1]}, "give one number, or one for each of NDCG@3"),
            ([HIGH], {"level": 0}, "level is 0: it must lie between 0 and 1"),
            ([HIGH], {"level": 5}, "level is 5: it must lie between 0 and 1"),
            ([HIGH], {"level": True}, "level is True"),
            ([HIGH], {"test": "z"}, "test is 'z': choose 'fisher', 'permutation', 't' or"),
        ],
    )
    def test_mistakes(self, given: Any, options: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            scorecard(given, **options)
        assert "\n" not in str(caught.value)

    def test_it_is_no_metric(self) -> None:
        with pytest.raises(ValueError, match="a metric is made by name or from a function"):
            rf.metric(scorecard([HIGH]))  # type: ignore[arg-type]


RNG = np.random.default_rng(4)
SIZES = [8] * 30
GRADE = RNG.integers(0, 4, 240).astype(float)
CLICK = np.where(RNG.uniform(size=240) < 0.2, NAN, RNG.uniform(size=240))
COLUMNS = {"grade": GRADE, "click": CLICK}
A = RNG.normal(size=240) + 2.0 * GRADE
B = A + np.nan_to_num(CLICK)  # nearly the grades of A, and more of the clicks
C = RNG.normal(size=240) + 3.0 * np.nan_to_num(CLICK)  # clicks alone
SYSTEMS = {"a": A, "b": B, "c": C}
CARD = scorecard([HIGH, CLICKS], level=[0.05, None])


def compare(**options: Any) -> GradedComparison:
    return rf.compare(SYSTEMS, COLUMNS, group=SIZES, metric=CARD, **options)


class TestCompare:
    def test_tiers_are_comparisons(self) -> None:
        found = compare()
        assert isinstance(found, GradedComparison)
        for tier, metric in zip(found.tiers, CARD, strict=True):
            alone = rf.compare(SYSTEMS, COLUMNS, group=SIZES, metric=metric)
            assert tier.contrasts == alone.contrasts
            assert tier.means == alone.means
            assert (tier.random, tier.perfect) == (alone.random, alone.perfect)
            assert tier.table() == alone.table()
        assert found.tiers[0].random != found.tiers[1].random

    def test_verdicts(self) -> None:
        found = compare()
        values = {
            name: [metric(scores, COLUMNS, group=SIZES) for metric in CARD]
            for name, scores in SYSTEMS.items()
        }
        assert list(found.verdicts) == ["b", "c"]
        for name, verdict in found.verdicts.items():
            expected = naive(values["a"], values[name], [True, True], [0.0, 0.0], [0.05, None])
            assert (word(verdict), verdict.tier) == expected
        assert (word(found.verdicts["b"]), found.verdicts["b"].tier) == ("better", 1)
        assert (word(found.verdicts["c"]), found.verdicts["c"].tier) == ("worse", 0)
        assert found.best == CARD.choose(values) == "b"
        assert compare(baseline="c").verdicts["a"].better
        assert compare(baseline="c").best == "b"

    def test_options_go_to_every_tier(self) -> None:
        found = compare(baseline="b", test="t", correction="bh", seed=3)
        for tier in found.tiers:
            assert (tier.baseline, tier.test.name, tier.test.correction) == ("b", "t", "bh")
        assert found.baseline == "b"

    def test_weights(self) -> None:
        weights = np.arange(30.0)
        found = compare(weights=weights)
        for tier, metric in zip(found.tiers, CARD, strict=True):
            values = metric(B, COLUMNS, group=SIZES)
            assert tier.means["b"] == pytest.approx(np.average(values, weights=weights))
        expected = CARD.verdict(
            [metric(A, COLUMNS, group=SIZES) for metric in CARD],
            [metric(B, COLUMNS, group=SIZES) for metric in CARD],
            weights=weights,
        )
        assert found.verdicts["b"] == expected

    def test_a_data_set_and_models(self) -> None:
        class Column:
            def __init__(self, number: int) -> None:
                self.number, self.calls = number, 0

            def predict(self, features: Any) -> Any:
                self.calls += 1
                return features[:, self.number]

        data = rf.RankingData(
            np.stack([A, B], axis=1), GRADE, group=SIZES, sources={"click": CLICK}
        )
        models = {"a": Column(0), "b": Column(1)}
        found = rf.compare(models, data, metric=CARD)
        assert word(found.verdicts["b"]) == "better"
        assert [model.calls for model in models.values()] == [1, 1]  # and not once for each tier

    def test_runs(self) -> None:
        qrels = {f"q{i}": {"x": 1, "y": 0, "z": 2} for i in range(4)}
        runs = {
            "a": {q: {"x": 3.0, "y": 2.0, "z": 1.0} for q in qrels},
            "b": {q: {"x": 3.0, "y": 1.0, "z": 2.0} for q in qrels},
        }
        found = rf.compare(runs, qrels, metric=scorecard(["mrr", "ndcg"]))
        assert (word(found.verdicts["b"]), found.verdicts["b"].tier) == ("better", 1)
        assert "rank by id" in found.table()
        with pytest.raises(ValueError, match="reads the labels 'click', but qrels know one"):
            rf.compare(runs, qrels, metric=CARD)

    def test_functions_of_ones_own(self) -> None:
        def top(scores: Any, labels: Any) -> float:
            return float(labels[scores.argmax()])

        card = scorecard([HIGH, rf.metric(top, source="click")], level=[0.05, None])
        found = rf.compare(SYSTEMS, COLUMNS, group=SIZES, metric=card)
        assert found.tiers[0].random is not None
        assert found.tiers[1].random is None
        assert "top(source=click)" in found.table()

    def test_a_single_system(self) -> None:
        found = rf.compare({"a": A}, COLUMNS, group=SIZES, metric=CARD)
        assert (found.verdicts, found.best) == ({}, "a")
        assert "verdict:" not in found.table()

    def test_text(self) -> None:
        lines = compare().table().splitlines()
        assert lines[0].split() == ["NDCG@3", "CNDCG@3(source=click)"]
        assert lines[2].split() == ["system", "mean", "difference", "mean", "difference", "verdict"]
        first, second, third = lines[4:7]
        assert first.endswith("baseline")
        assert second.endswith("better by CNDCG@3(source=click)")
        assert third.endswith("worse by NDCG@3")
        best = [tier.best[0] for tier in compare().tiers]
        assert best == ["a", "c"]  # and neither is the choice
        assert [line.count(">") for line in (first, second, third)] == [1, 0, 1]
        assert re.search(r"\+0\.\d{4}\*\*\*", second)
        assert re.search(r"-0\.\d{4}\*\*\*", third)
        means = [tier.means["b"] for tier in compare().tiers]
        for mean in means:
            assert f"{mean:.4f}" in second
            assert f"{mean * 100:.1f}" in compare().table(percent=True, digits=1)
        text = str(compare())
        assert "(t test), then CNDCG@3(source=click) if it differs; the choice is b" in text
        assert "labels click, missing labels count 0" in text
        assert "are missing: they count 0" in text
        assert "Fisher's randomisation test" in text

    def test_every_format(self) -> None:
        assert compare().table("markdown").startswith("| system | NDCG@3 mean | NDCG@3 diff")
        assert r"\begin{tabular}" in compare().table("latex")
        assert '<th scope="col" colspan="2" class="group">NDCG@3</th>' in compare().table("html")
        with pytest.raises(ValueError, match="the format is 'pdf': choose one of text, markdown"):
            compare().table("pdf")
        with pytest.raises(ValueError, match="digits is -1"):
            compare().table(digits=-1)

    def test_csv(self) -> None:
        found = compare()
        lines = list(csv.DictReader(io.StringIO(found.table("csv"))))
        assert [line["system"] for line in lines] == ["a", "b", "c"]
        assert [line["best"] for line in lines] == ["False", "True", "False"]
        assert float(lines[1]["CNDCG@3(source=click) mean"]) == found.tiers[1].means["b"]
        assert float(lines[1]["NDCG@3 difference"]) == found.tiers[0].differences["b"]
        assert float(lines[2]["NDCG@3 adjusted"]) == found.tiers[0].adjusted["c"]
        assert (lines[0]["NDCG@3 difference"], lines[0]["verdict"]) == ("", "baseline")

    def test_json(self) -> None:
        found = compare()
        record = json.loads(found.table("json"))
        assert record["card"]["tiers"][0] == {"metric": "NDCG@3", "tolerance": 0.0, "level": 0.05}
        assert (record["best"], record["baseline"]) == ("b", "a")
        assert record["verdicts"]["b"]["better"] is True
        assert record["verdicts"]["b"]["told"] == "better by CNDCG@3(source=click)"
        assert record["verdicts"]["b"]["differences"] == list(found.verdicts["b"].differences)
        assert [tier["metric"] for tier in record["tiers"]] == [m.name for m in CARD]

    def test_mistakes_show_before_models_predict(self) -> None:
        class Slow:
            def predict(self, features: Any) -> Any:
                raise AssertionError("asked to predict")

        data = rf.RankingData(np.eye(4), [1, 0, 1, 0], group=[2, 2])
        with pytest.raises(ValueError, match="those of the data are 'label'"):
            rf.compare({"slow": Slow()}, data, metric=CARD)


class TestResults:
    """What other calls return, in place of values."""

    def test_evaluated(self) -> None:
        found = {
            name: rf.evaluate(scores, COLUMNS, ["mrr", CLICKS, HIGH], group=SIZES)
            for name, scores in SYSTEMS.items()
        }
        whole = compare()
        assert CARD.verdict(found["a"], found["b"]) == whole.verdicts["b"]
        assert CARD.choose(found) == whole.best
        with pytest.raises(ValueError, match=r"a has no values of P@3: it has those of MRR"):
            scorecard(["p@3"]).choose(found)

    def test_evaluated_with_weights(self) -> None:
        weights = np.arange(1.0, 31.0)
        one, other = (
            rf.evaluate(scores, COLUMNS, CARD, group=SIZES, weights=weights) for scores in (A, C)
        )
        assert CARD.verdict(one, other) == CARD.verdict(one.values, other.values, weights=weights)
        assert CARD.verdict(one, other) != CARD.verdict(one.values, other.values)

    def test_dictionaries_by_name(self) -> None:
        values = {"NDCG@3": [0.5], "cndcg@3(source=click)": [0.1]}
        assert CARD.metrics[1].key in values
        card = scorecard([HIGH, CLICKS])
        assert card.verdict(values, values | {"NDCG@3": [0.6]}).tier == 0
