"""rf.compare and rf.evaluate on rows: scores, models, weights, own metrics, mistakes."""

from __future__ import annotations

import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rankforce as rf
from tests.evaluation.systems import LABELS, NAMES, NOISE, ROWS, SIZES, A, B, C, D, compare

approx = pytest.approx


def differences(metric: str | rf.Metric, system: Any = B) -> Any:
    """Of the values of single queries, system minus `A`."""
    made = rf.metric(metric)
    return made(system, LABELS, group=SIZES) - made(A, LABELS, group=SIZES)


def mean_difference(x: Any, y: Any, axis: int = -1) -> Any:
    return np.mean(x - y, axis=axis)


class TestFixedCalls:
    """Calls that are promised to work as they stand here."""

    def test_metric(self) -> None:
        values = rf.metric("ndcg@10", no_relevant=1)(A, LABELS, group=SIZES)
        assert values.shape == (len(SIZES),)

    def test_compare(self) -> None:
        systems = {"a": A, "b": B}
        c = rf.compare(
            systems,
            LABELS,
            group=SIZES,
            metric="p@5",
            baseline="a",
            test="permutation",
            seed=0,
        )
        expected = rf.metric("p@5")(B, LABELS, group=SIZES)
        assert c.means["b"] == approx(expected.mean())
        assert 0.0 < c.p_values["b"] <= 1.0
        assert c.table("markdown").startswith("| system | P@5 | difference |")

    @pytest.mark.parametrize("test", ["fisher", "permutation", "t", "bootstrap"])
    def test_tests(self, test: str) -> None:
        c = compare(test=test)
        assert set(c.p_values) == {"b"}
        assert c.contrasts["b"].low <= c.differences["b"] <= c.contrasts["b"].high

    def test_the_first_system_is_the_baseline(self) -> None:
        assert compare().baseline == "a"
        assert compare(baseline="b").baseline == "b"
        assert set(compare(baseline="b").p_values) == {"a"}


class TestAgainstSciPy:
    @pytest.mark.parametrize("metric", ["p@5", "ndcg@10", "mrr", "map"])
    @pytest.mark.parametrize("alternative", ["two-sided", "better", "worse"])
    def test_t(self, metric: str, alternative: str) -> None:
        c = compare(metric=metric, test="t", alternative=alternative)
        side = {"two-sided": "two-sided", "better": "greater", "worse": "less"}[alternative]
        expected = stats.ttest_rel(c.values["b"], c.values["a"], alternative=side)
        assert c.p_values["b"] == approx(expected.pvalue, rel=1e-9)
        interval = stats.ttest_rel(c.values["b"], c.values["a"]).confidence_interval(0.95)
        assert (c.contrasts["b"].low, c.contrasts["b"].high) == approx(tuple(interval), rel=1e-9)

    @pytest.mark.parametrize("metric", ["p@5", "ndcg@10", "mrr", "map"])
    @pytest.mark.parametrize("alternative", ["two-sided", "better", "worse"])
    def test_all_sign_assignments(self, metric: str, alternative: str) -> None:
        c = compare(metric=metric, test="fisher", alternative=alternative)
        assert c.contrasts["b"].is_exact
        side = {"two-sided": "two-sided", "better": "greater", "worse": "less"}[alternative]
        expected = stats.permutation_test(
            (c.values["b"], c.values["a"]),
            mean_difference,
            permutation_type="samples",
            n_resamples=np.inf,
            alternative=side,
            vectorized=True,
        )
        assert c.p_values["b"] == approx(expected.pvalue, rel=1e-12)

    def test_a_sample_of_sign_assignments(self) -> None:
        """14 queries have 16,384 of them; the share is known to 1 / sqrt(resamples)."""
        rng = np.random.default_rng(3)
        sizes = [6] * 14
        labels = rng.integers(0, 2, 84)
        a, b = rng.normal(size=84), rng.normal(size=84) + 0.6 * labels
        c = rf.compare({"a": a, "b": b}, labels, group=sizes, metric="ndcg", test="permutation")
        assert not c.contrasts["b"].is_exact
        exact = rf.compare(
            {"a": a, "b": b}, labels, group=sizes, metric="ndcg", test="permutation",
            resamples=2**14,
        )  # fmt: skip
        assert exact.contrasts["b"].is_exact
        p = exact.p_values["b"]
        assert c.p_values["b"] == approx(p, abs=4 * math.sqrt(p * (1 - p) / 10_000))

    def test_bootstrap(self) -> None:
        d = differences("ndcg@10")
        c = compare(test="bootstrap", resamples=50_000)
        rng = np.random.default_rng(0)
        drawn = rng.choice(d, (50_000, len(d))).mean(axis=1)
        p = np.mean(np.abs(drawn - d.mean()) >= abs(d.mean()))
        assert c.p_values["b"] == approx(p, abs=5 * math.sqrt(max(p, 1e-4) / 50_000))
        ends = np.quantile(drawn, [0.025, 0.975])
        assert (c.contrasts["b"].low, c.contrasts["b"].high) == approx(tuple(ends), abs=0.004)

    def test_effect(self) -> None:
        d = differences("ndcg@10")
        assert compare().contrasts["b"].effect == approx(d.mean() / d.std(ddof=1))

    def test_values_are_those_of_the_metric(self) -> None:
        c = compare(metric="ndcg@3")
        for name, scores in (("a", A), ("b", B)):
            expected = rf.metric("ndcg@3")(scores, LABELS, group=SIZES)
            assert np.array_equal(c.values[name], expected)
        assert c.differences["b"] == approx(c.means["b"] - c.means["a"])


class TestSides:
    def test_permutation_asks_whether_the_system_is_better(self) -> None:
        """One-sided p-values of the two directions share the assignment that was observed."""
        better = compare(test="permutation").p_values["b"]
        worse = compare(test="permutation", alternative="worse").p_values["b"]
        assert better < 0.05 < worse
        assert better + worse > 1.0

    def test_lower_is_better(self) -> None:
        """`B` ranks relevant documents higher: a lower sum of ranks, and that is better."""
        c = compare(metric="arpb@3", test="permutation")
        d = differences("arpb@3")
        found = c.contrasts["b"]
        assert d.mean() < 0
        assert found.difference == approx(d.mean())
        assert found.low < found.difference < found.high
        assert found.effect == approx(-d.mean() / d.std(ddof=1))
        assert found.is_better
        assert (found.wins, found.ties, found.losses) == (
            np.count_nonzero(d < 0), np.count_nonzero(d == 0), np.count_nonzero(d > 0),
        )  # fmt: skip
        expected = stats.permutation_test(
            (c.values["b"], c.values["a"]),
            mean_difference,
            permutation_type="samples",
            n_resamples=np.inf,
            alternative="less",
            vectorized=True,
        )
        assert found.p_value == approx(expected.pvalue, rel=1e-12)
        assert c.best == ["b"]

    def test_lower_is_better_by_t(self) -> None:
        c = compare(metric="arpb@3", test="t", alternative="better")
        expected = stats.ttest_rel(c.values["b"], c.values["a"], alternative="less")
        assert c.p_values["b"] == approx(expected.pvalue)
        interval = stats.ttest_rel(c.values["b"], c.values["a"]).confidence_interval()
        assert (c.contrasts["b"].low, c.contrasts["b"].high) == approx(tuple(interval))

    def test_minus_a_metric_is_the_metric_turned_round(self) -> None:
        """The same numbers with the sign changed, for everything that has a sign."""

        def cost(scores: Any, labels: Any) -> float:
            return -float(rf.metric("ndcg@5")(scores, labels)[0])

        plain = compare(metric="ndcg@5").contrasts["b"]
        turned = compare(metric=rf.metric(cost, higher_is_better=False)).contrasts["b"]
        assert turned.p_value == plain.p_value
        assert turned.effect == approx(plain.effect)
        assert (turned.difference, turned.low, turned.high) == approx(
            (-plain.difference, -plain.high, -plain.low)
        )
        assert (turned.wins, turned.losses) == (plain.wins, plain.losses)

    @pytest.mark.parametrize("test", ["fisher", "t", "bootstrap"])
    def test_swapped_systems(self, test: str) -> None:
        one = compare(test=test).contrasts["b"]
        other = compare(test=test, baseline="b").contrasts["a"]
        assert other.p_value == one.p_value
        assert other.difference == -one.difference
        assert (other.low, other.high) == approx((-one.high, -one.low))
        assert other.effect == -one.effect
        assert (other.wins, other.ties, other.losses) == (one.losses, one.ties, one.wins)
        assert other.is_better != one.is_better

    def test_swapped_systems_and_sides(self) -> None:
        one = compare(test="permutation", alternative="better").p_values["b"]
        other = compare(test="permutation", alternative="worse", baseline="b").p_values["a"]
        assert one == other


class TestSeveralSystems:
    SYSTEMS = {"a": A, "b": B, "c": C, "d": D}  # noqa: RUF012 - nothing changes it

    def found(self, correction: Any) -> rf.Comparison:
        return rf.compare(self.SYSTEMS, LABELS, group=SIZES, metric="p@5", correction=correction)

    def test_holm(self) -> None:
        c = self.found("holm")
        names = sorted(c.p_values, key=c.p_values.__getitem__)
        least = 0.0
        for name, factor in zip(names, (3, 2, 1), strict=True):
            least = max(least, factor * c.p_values[name])
            assert c.adjusted[name] == approx(min(least, 1.0))

    def test_benjamini_and_hochberg(self) -> None:
        c = self.found("bh")
        expected = stats.false_discovery_control(list(c.p_values.values()), method="bh")
        assert list(c.adjusted.values()) == approx(expected.tolist())

    @pytest.mark.parametrize("correction", ["none", None])
    def test_none(self, correction: Any) -> None:
        c = self.found(correction)
        assert c.adjusted == c.p_values

    def test_p_values_do_not_depend_on_the_others(self) -> None:
        alone = compare(metric="p@5")
        assert alone.adjusted == alone.p_values
        assert self.found("holm").p_values["b"] == alone.p_values["b"]

    def test_stars_are_of_corrected_p_values(self) -> None:
        for contrast in self.found("holm").contrasts.values():
            assert contrast.stars == contrast._replace(p_value=0.0).stars

    def test_a_single_system(self) -> None:
        c = rf.compare({"a": A}, LABELS, group=SIZES)
        assert (c.contrasts, c.p_values, c.best) == ({}, {}, ["a"])
        assert "difference: from" not in c.table()


class TestCounts:
    LABELS = (1, 0, 1, 0, 1, 0, 1, 0)
    UP, DOWN = (1, 0), (0, 1)

    def test_wins_ties_losses(self) -> None:
        a = [*self.UP, *self.DOWN, *self.DOWN, *self.UP]
        b = [*self.UP, *self.UP, *self.UP, *self.DOWN]
        c = rf.compare({"a": a, "b": b}, self.LABELS, group=[2] * 4, metric="mrr")
        found = c.contrasts["b"]
        assert (found.wins, found.ties, found.losses) == (2, 1, 1)

    def test_rounding_is_a_tie(self) -> None:
        """0.1 + 0.2 is not 0.3, but no ranking is better for it."""
        values = {"a": [0.3, 0.3, 0.7], "b": [0.1 + 0.2, 0.1 + 0.2, 0.7]}
        labels = [1.0, 1.0, 1.0]

        def told(scores: Any, labels: Any) -> float:
            return float(scores[0])

        c = rf.compare(values, labels, group=[1] * 3, metric=rf.metric(told), test="permutation")
        found = c.contrasts["b"]
        assert (found.wins, found.ties, found.losses) == (0, 3, 0)
        assert (found.p_value, found.effect, found.difference) == (1.0, 0.0, 0.0)
        assert c.best == ["a", "b"]
        assert c.moved("b") == []

    def test_differences_that_even_out(self) -> None:
        """Up by 0.2 twice and down by 0.4, with rounding: neither better nor worse."""
        values = {"a": [0.1, 0.1, 0.7], "b": [0.1 + 0.2, 0.1 + 0.2, 0.7 - 0.4]}

        def told(scores: Any, labels: Any) -> float:
            return float(scores[0])

        c = rf.compare(values, [1.0] * 3, group=[1] * 3, metric=told)
        found = c.contrasts["b"]
        assert (found.difference, found.effect, found.is_better) == (0.0, 0.0, False)
        assert found.p_value == 1.0
        assert "-0.00 " not in c.table().split("\n\n")[0]
        assert r"\textcolor{red}" not in c.table("latex")

    def test_equal_systems(self) -> None:
        for test in ("fisher", "permutation", "t", "bootstrap"):
            c = rf.compare({"a": A, "b": A}, LABELS, group=SIZES, test=test)
            found = c.contrasts["b"]
            assert (found.p_value, found.low, found.high, found.effect) == (1.0, 0.0, 0.0, 0.0)
            assert (found.wins, found.ties, found.losses) == (0, len(SIZES), 0)
            assert c.best == ["a", "b"]

    def test_moved(self) -> None:
        c = compare(metric="ndcg@5")
        d = c.values["b"] - c.values["a"]
        moved = c.moved("b", 3)
        expected = np.argsort(-np.abs(d), kind="stable")[:3]
        assert [one.query for one in moved] == expected.tolist()
        assert [one.difference for one in moved] == approx(d[expected].tolist())
        assert all(type(one.query) is int for one in moved)

    def test_moved_leaves_out_what_did_not_move(self) -> None:
        c = compare(metric="p@1")
        changed = np.count_nonzero(c.values["b"] != c.values["a"])
        assert 0 < changed < len(SIZES)
        assert len(c.moved("b", 100)) == changed

    def test_moved_has_the_ids(self) -> None:
        c = rf.compare({"a": A, "b": B}, LABELS, qid=NAMES)
        assert {one.query for one in c.moved("b", 3)} < set(NAMES.tolist())
        assert type(c.moved("b")[0].query) is str


class TestNothingElseMatters:
    @pytest.mark.parametrize("test", ["fisher", "permutation", "bootstrap"])
    def test_threads(self, test: str) -> None:
        """Enough queries that work is handed to threads."""
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 3, 1200)
        systems = {name: rng.normal(size=1200) for name in "ab"}
        found = [
            rf.compare(
                systems, labels, group=[4] * 300, test=test, seed=5, resamples=6000, threads=n
            )
            for n in (1, 2, 5)
        ]
        assert found[0].contrasts == found[1].contrasts == found[2].contrasts
        again = rf.compare(systems, labels, group=[4] * 300, test=test, seed=5, resamples=6000)
        assert again.contrasts == found[0].contrasts
        other = rf.compare(systems, labels, group=[4] * 300, test=test, seed=6, resamples=6000)
        assert other.contrasts["b"].low != found[0].contrasts["b"].low

    @pytest.mark.parametrize("test", ["fisher", "t", "bootstrap"])
    def test_order_of_queries(self, test: str) -> None:
        rng = np.random.default_rng(0)
        starts = np.cumsum([0, *SIZES])
        order = rng.permutation(len(SIZES))
        rows = np.concatenate([np.arange(starts[q], starts[q + 1]) for q in order])
        options = {"test": test, "metric": "ndcg@5", "resamples": 1000}
        weights = rng.uniform(0.5, 2.0, len(SIZES))
        for given in (None, weights):
            one = compare(**options, weights=given)
            other = rf.compare(
                {"a": A[rows], "b": B[rows]},
                LABELS[rows],
                group=np.array(SIZES)[order],
                weights=None if given is None else given[order],
                **options,
            )
            assert other.p_values == one.p_values
            assert other.contrasts["b"] == approx(one.contrasts["b"], rel=1e-12)

    def test_order_of_rows_with_qid(self) -> None:
        rows = np.random.default_rng(0).permutation(ROWS)
        one = rf.compare({"a": A, "b": B}, LABELS, qid=NAMES)
        other = rf.compare({"a": A[rows], "b": B[rows]}, LABELS[rows], qid=NAMES[rows])
        assert other.p_values == one.p_values
        for query, value in zip(one.query_ids, one.values["b"], strict=True):
            assert other.values["b"][other.query_ids == query] == value

    def test_inputs_stay_as_they_are(self) -> None:
        a, b, labels = A.copy(), B.copy(), LABELS.copy()
        rf.compare({"a": a, "b": b}, labels, group=SIZES, weights=np.ones(len(SIZES)))
        for now, before in ((a, A), (b, B), (labels, LABELS)):
            assert np.array_equal(now, before)

    def test_forms_of_scores(self) -> None:
        expected = compare().contrasts
        for a in (A.tolist(), tuple(A), A[::-1][::-1], np.asfortranarray(A)):
            c = rf.compare({"a": a, "b": B}, LABELS.tolist(), group=np.array(SIZES))
            assert c.contrasts == expected

    def test_pickle(self) -> None:
        c = compare()
        copy = pickle.loads(pickle.dumps(c))
        assert copy.table("json") == c.table("json")
        assert c != copy  # as objects, without a quarrel of arrays
        assert len({c, copy}) == 2


class TestWeights:
    def test_means(self) -> None:
        weights = np.arange(len(SIZES), dtype=float)
        c = compare(weights=weights, metric="ndcg@5")
        for name in "ab":
            assert c.means[name] == approx(np.average(c.values[name], weights=weights))
        assert c.differences["b"] == approx(c.means["b"] - c.means["a"])
        assert ", weighted" in c.table()

    def test_means_stay_among_the_values(self) -> None:
        """Of equal values with any weights, to the last bit."""
        rng = np.random.default_rng(0)
        for value in (0.1, 0.3, 1 / 3, 0.7):
            weights = 10.0 ** rng.uniform(-300, 300, 50)

            def same(scores: Any, labels: Any, value: float = value) -> float:
                return value

            c = rf.compare(
                {"a": np.zeros(50)}, np.ones(50), group=[1] * 50, metric=same, weights=weights
            )
            assert c.means["a"] == value

    def test_whole_weights_repeat_queries(self) -> None:
        """For the mean; the tests do not take repeated queries for more evidence."""
        weights = np.array([1, 2, 3] * 4)
        copies = np.repeat(np.arange(len(SIZES)), weights)
        c = compare(weights=weights)
        assert c.means["b"] == approx(c.values["b"][copies].mean())

    def test_weight_zero_is_no_query(self) -> None:
        weights = np.ones(len(SIZES))
        weights[[2, 5]] = 0.0
        keep = np.repeat(weights > 0, SIZES)
        for test in ("fisher", "permutation", "t", "bootstrap"):
            c = compare(weights=weights, test=test)
            without = rf.compare(
                {"a": A[keep], "b": B[keep]},
                LABELS[keep],
                group=np.array(SIZES)[weights > 0],
                test=test,
            )
            assert c.contrasts == without.contrasts
            assert c.queries == without.queries == len(SIZES) - 2
            assert not {2, 5} & {one.query for one in c.moved("b", 100)}

    def test_equal_weights_are_none(self) -> None:
        for test in ("fisher", "t", "bootstrap"):
            plain, weighted = compare(test=test), compare(test=test, weights=[7.0] * len(SIZES))
            assert weighted.contrasts["b"] == approx(plain.contrasts["b"], rel=1e-12)

    def test_of_the_data(self) -> None:
        weights = np.arange(1.0, len(SIZES) + 1)
        data = rf.RankingData(NOISE.T, LABELS, group=SIZES, query_weight=weights)
        c = rf.compare({"a": A, "b": B}, data)
        assert c.contrasts == compare(weights=weights).contrasts
        ones = np.ones(len(SIZES))
        over = rf.compare({"a": A, "b": B}, data, weights=ones)
        assert over.means == approx(compare().means)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1.0], "weights have shape (1,), but there are 12 queries"),
            (2.0, "weights have shape (), but there are 12 queries"),
            (
                [1.0] * 11 + [-1.0],
                "weight of query q11 is -1.0: weights are finite numbers from 0 up",
            ),
            ([math.nan] + [1.0] * 11, "weight of query q0 is nan: weights are finite"),
            ([0.0] * 12, "all weights are 0: at least one query must count"),
            (["x"] * 12, "give one number per query"),
        ],
    )
    def test_mistakes(self, weights: Any, message: str) -> None:
        for systems in ({"a": A}, {"a": A, "b": B}):
            with pytest.raises(ValueError, match=re.escape(message)):
                rf.compare(systems, LABELS, qid=NAMES, weights=weights)


class TestQueriesThatDoNotCount:
    SIZES = (2, 2, 2, 0, 2)
    LABELS = (1, 0, 0, 0, 1, 0, 0, 1)
    SYSTEMS = {"a": (1, 0, 1, 0, 0, 1, 1, 0), "b": (1, 0, 0, 1, 1, 0, 0, 1)}  # noqa: RUF012

    def test_skip(self) -> None:
        metric = rf.metric("mrr", no_relevant="skip")
        c = rf.compare(self.SYSTEMS, self.LABELS, group=self.SIZES, metric=metric)
        assert np.isnan(c.values["a"]).tolist() == [False, True, False, True, False]
        assert c.means == {"a": (1 + 1 / 2 + 1 / 2) / 3, "b": 1.0}
        assert c.queries == 3
        found = c.contrasts["b"]
        assert (found.wins, found.ties, found.losses) == (2, 1, 0)
        assert found.p_value == 2 / 4  # two differences: both up or both down, of four
        assert "mean over 3 queries, 2 do not count" in c.table()
        assert [one.query for one in c.moved("b")] == [2, 4]

    def test_counted(self) -> None:
        """Without relevant document a query is a tie, and lowers no p-value."""
        c = rf.compare(self.SYSTEMS, self.LABELS, group=self.SIZES, metric="mrr")
        assert c.queries == 4  # the empty one has no ranking
        assert c.contrasts["b"].ties == 2
        assert c.p_values["b"] == 2 / 4

    def test_nothing_counts(self) -> None:
        metric = rf.metric("mrr", no_relevant="skip")
        with pytest.raises(ValueError, match=r"no query counts for MRR.*is skipped"):
            rf.compare({"a": [1, 2]}, [0, 0], metric=metric)

    def test_nan_for_one_system_only(self) -> None:
        """Such a query would be in one mean and not in the other."""

        def picky(scores: Any, labels: Any) -> float:
            return math.nan if scores[0] == B[6] else float(labels[scores.argmax()])

        with pytest.raises(
            ValueError,
            match=r"^picky of query q1 is a number for system 'a', but not for 'b': a query must "
            r"count for every system or for none$",
        ):
            rf.compare({"a": A, "b": B}, LABELS, qid=NAMES, metric=picky)
        with pytest.raises(ValueError, match="query 1 is a number for system 'a', but not for 'b'"):
            rf.compare({"b": B, "a": A}, LABELS, group=SIZES, metric=picky)

    def test_nan_for_both(self) -> None:
        def first_relevant(scores: Any, labels: Any) -> float:
            return math.nan if not labels.any() else float(labels[scores.argmax()])

        c = rf.compare(self.SYSTEMS, self.LABELS, group=self.SIZES, metric=first_relevant)
        assert c.queries == 3
        assert c.means == {"a": 1 / 3, "b": 1.0}
