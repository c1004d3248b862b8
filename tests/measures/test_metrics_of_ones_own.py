"""A user's additive metric, and a user's own pair weight."""

from __future__ import annotations

import functools
import math
import pickle
from typing import Any

import numba
import numpy as np
import pytest

import rankforce as rf

approx = pytest.approx
RNG = np.random.default_rng(0)
SCORES, LABELS = RNG.normal(size=90), RNG.integers(0, 5, 90).astype(float)
SIZES = [30, 1, 40, 19]


def gain(label: float) -> float:
    return 2.0**label - 1.0


def discount(rank: int) -> float:
    return 1.0 / math.log2(1.0 + rank)


def assert_same(mine: rf.Objective, built_in: rf.Objective) -> None:
    """Forces with every norm, and weights."""
    for norm in ("none", "lightgbm", "std"):
        got = mine.gradients(SCORES, LABELS, group=SIZES, norm=norm)
        expected = built_in.gradients(SCORES, LABELS, group=SIZES, norm=norm)
        for some, others in zip(got, expected, strict=True):
            assert some == approx(others, rel=1e-4, abs=1e-5 * np.abs(others).max())
    got_pairs, expected_pairs = (
        {(h, o): w for h, o, w in zip(*objective.pairs(SCORES[:30], LABELS[:30]), strict=True)}
        for objective in (mine, built_in)
    )
    assert got_pairs == approx(expected_pairs, rel=1e-12)


# Additive metrics.


def test_ndcg_from_its_two_functions() -> None:
    assert_same(rf.additive(gain, discount, normalised=True), rf.objective("lambdarank(ndcg)"))
    assert_same(rf.additive("2^y-1", discount), rf.objective("lambdarank(dcg)"))


@pytest.mark.parametrize("T", [1, 5, 32, 33, 500])
def test_ndcg_that_ends_from_its_two_functions(T: int) -> None:
    def ends(rank: int) -> float:
        return discount(rank) if rank <= T else 0.0

    built_in = rf.objective(f"lambdarank(ndcg@{T})")
    assert_same(rf.additive(gain, ends, normalised=True), built_in)
    assert_same(rf.additive(gain, ends, normalised=True, cutoff=T), built_in)


def test_the_ideal_of_a_query_does_not_depend_on_longer_ones() -> None:
    # Value of a rank that grows: the ideal list has its best document at the last rank.
    rising = rf.additive(lambda y: y, lambda rank: float(rank), normalised=True)
    scores, labels = [3.0, 2.0, 1.0], [0.0, 1.0, 2.0]
    alone = rising.pairs(scores, labels)
    assert sorted(alone.weight) == sorted([1 / 8, 1 / 8, 2 * 2 / 8])  # ideal: 2 * 3 + 1 * 2
    beside = rising.prepare([*labels, *[0.0] * 9], group=[3, 9]).pairs([*scores, *[0.0] * 9])
    assert beside.weight.tolist() == alone.weight.tolist()


def test_precision_and_rbp_from_their_functions() -> None:
    inside = rf.additive("binary", lambda rank: float(rank <= 5), cutoff=5)
    assert_same(inside, rf.objective("lambdarank-p@k", k=5))
    rbp = rf.additive("binary", lambda rank: 0.2 * 0.8 ** (rank - 1))
    assert_same(rbp, rf.objective("lambdarank(rbp)"))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_values_of_any_size(scale: float) -> None:
    """Weights are scaled, so that float32 holds whatever a user's values are."""
    mine = rf.additive("y", lambda rank: scale * discount(rank))
    expected, _ = rf.additive("y", discount).gradients(SCORES, LABELS)
    got, _ = mine.gradients(SCORES, LABELS)
    assert got / scale == approx(expected, rel=1e-5)


def test_additive_parameters() -> None:
    with pytest.raises(ValueError, match="cutoff is 0: it must be an integer from 1 up"):
        rf.additive(gain, discount, cutoff=0)
    with pytest.raises(ValueError, match="sigma is -1"):
        rf.additive(gain, discount, sigma=-1)
    with pytest.raises(ValueError, match="unknown gain 'cubic'"):
        rf.additive("cubic", discount)
    with pytest.raises(ValueError, match="value of rank 3 is not finite"):
        rf.additive(gain, lambda rank: math.inf if rank == 3 else 0.0).prepare([0, 1, 2])


def test_additive_sigma_name_and_pickle() -> None:
    mine = rf.additive(gain, discount, name="my DCG", sigma=2.0)
    assert mine.name == "my DCG"
    expected = rf.objective("lambdarank(dcg)", sigma=2.0).gradients(SCORES, LABELS)[0]
    assert mine.gradients(SCORES, LABELS)[0] == approx(expected, rel=1e-5, abs=1e-5)
    copy = pickle.loads(pickle.dumps(mine))
    assert copy == mine
    assert np.array_equal(copy.gradients(SCORES, LABELS), mine.gradients(SCORES, LABELS))


# Pair weights.


def one(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return 1.0


def dcg_weight(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    rho = abs(1.0 / math.log2(1.0 + rank_hi) - 1.0 / math.log2(1.0 + rank_lo))
    return (2.0**y_hi - 2.0**y_lo) * rho


def test_ranknet_as_a_function() -> None:
    assert_same(rf.objective(one), rf.objective("ranknet"))


def test_dcg_as_a_function() -> None:
    assert_same(rf.objective(dcg_weight), rf.objective("lambdarank(dcg)"))


def test_function_of_hi_and_lo() -> None:
    """NDCG-Loss1 looks at hi alone; ranks come from 1, labels as they are."""

    def loss1(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
        return (2.0**y_hi - 1.0) / math.log2(1.0 + rank_hi)

    labels = np.array([0.0, 2.0, 1.0])
    ideal = 3.0 + 1.0 / math.log2(3)
    got = rf.objective(loss1).pairs([3, 2, 1], labels)
    expected = rf.objective("ndcg-loss1").pairs([3, 2, 1], labels)
    assert np.array_equal(got.hi, expected.hi)
    assert got.weight == approx(expected.weight * ideal)
    # A truncated set has rows in which the fixed document is lo.
    got = rf.objective(loss1, tau=1).pairs([3, 2, 1], labels)
    assert dict(zip(got.hi.tolist(), got.weight, strict=True)) == approx(
        {1: 3 / math.log2(3), 2: 1 / math.log2(4)}
    )


@pytest.mark.parametrize("tau", [1, 5, 40])
def test_function_with_truncation(tau: int) -> None:
    hi, lo, _ = rf.objective(one, tau=tau).pairs(SCORES[:30], LABELS[:30])
    expected = rf.objective("lambdarank-ndcg", tau=tau).pairs(SCORES[:30], LABELS[:30])
    assert {*zip(hi, lo, strict=True)} == {*zip(expected.hi, expected.lo, strict=True)}
    assert rf.objective(one, k=tau).effective_pairs(SCORES[:30], LABELS[:30])[0] == len(hi)


def test_closure_over_constants() -> None:
    for power in (1, 2):
        objective = rf.objective(
            lambda y_hi, y_lo, rank_hi, rank_lo: (y_hi - y_lo) ** power  # noqa: B023
        )
        _, _, weight = objective.pairs([3, 2, 1], [0, 1, 3])
        assert sorted(weight) == sorted([1**power, 2**power, 3**power])


def test_function_of_any_number_type() -> None:
    whole = rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: rank_hi - rank_hi + 2)
    truth = rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: y_hi > 1)
    assert whole.pairs([2, 1], [0, 1]).weight.tolist() == [2.0]
    assert truth.pairs([3, 2, 1], [0, 1, 2]).weight.tolist() == [1.0, 1.0]


def test_function_with_costs() -> None:
    for how in ({"sigma": 2.0}, {"cost": "sigmoid", "center": 0.3}):
        assert_same(rf.objective(one, **how), rf.objective("ranknet", **how))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("norm", ["none", "lightgbm", "std"])
@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_weight_that_is_no_weight(bad: float, norm: str, threads: int) -> None:
    """Bad for the pair of labels 2 and 1 only, which is in the second query."""
    objective = bad_objective(bad)
    scores, labels = [0.5, 0.1, 0.3, 0.2, 0.4], [0, 2, 0, 1, 2]
    with pytest.raises(ValueError, match=r"rows 4 \(hi\) and 3 \(lo\) is negative or not finite"):
        objective.gradients(scores, labels, group=[2, 3], norm=norm, threads=threads)
    with pytest.raises(ValueError, match="negative or not finite"):
        objective.pairs(scores[2:], labels[2:])
    lam, _ = objective.gradients(scores[:2], labels[:2])
    assert np.isfinite(lam).all()


BAD: dict[str, rf.Objective] = {}


def bad_objective(bad: float) -> rf.Objective:
    """Compiled once for each bad value."""
    if str(bad) not in BAD:
        BAD[str(bad)] = rf.objective(
            lambda y_hi, y_lo, rank_hi, rank_lo: bad if y_hi == 2 and y_lo == 1 else 1.0
        )
    return BAD[str(bad)]


def test_user_objectives_refuse_what_they_do_not_have() -> None:
    with pytest.raises(ValueError, match="has no parameter 'mu'"):
        rf.objective(one, mu=1.0)


def test_user_objective_pickles_by_its_function() -> None:
    objective = rf.objective(one, tau=3)
    copy = pickle.loads(pickle.dumps(objective))
    assert copy == objective
    assert np.array_equal(copy.gradients(SCORES, LABELS), objective.gradients(SCORES, LABELS))


# Additive metrics as metrics.


def top(rank: int) -> float:
    return 1.0 if rank <= 3 else 0.0


def first_three() -> rf.Objective:
    return rf.additive("y", top, name="Top3", cutoff=3)


def by_hand() -> list[float]:
    """Labels of the best three of each query, added up."""
    queries = [slice(end - size, end) for end, size in zip(np.cumsum(SIZES), SIZES, strict=True)]
    best = [np.argsort(-SCORES[rows], kind="stable")[:3] for rows in queries]
    return [float(LABELS[rows][three].sum()) for rows, three in zip(queries, best, strict=True)]


def test_an_additive_objective_is_its_metric() -> None:
    metric = rf.metric(first_three())
    assert (metric.name, metric.k, metric.higher_is_better) == ("Top3", 3, True)
    ready = metric.prepare(LABELS, group=SIZES)
    assert ready.values(SCORES).tolist() == by_hand()
    lists = [LABELS[end - size : end] for end, size in zip(np.cumsum(SIZES), SIZES, strict=True)]
    assert ready.perfect().tolist() == [sum(sorted(labels)[-3:]) for labels in lists]
    assert ready.random() == approx([min(3, len(labels)) * labels.mean() for labels in lists])


def test_ndcg_of_ones_own_is_ndcg() -> None:
    mine = rf.metric(rf.additive(gain, discount, normalised=True, name="mine"))
    assert mine(SCORES, LABELS, group=SIZES) == approx(
        rf.metric("ndcg", no_relevant=0)(SCORES, LABELS, group=SIZES)
    )
    assert mine.definition.is_share
    assert mine([1.0, 2.0], [0, 0]).tolist() == [0.0]
    skips = rf.metric(rf.additive(gain, discount, normalised=True), no_relevant="skip")
    assert np.isnan(skips([1.0, 2.0], [0, 0])).all()


def test_ranks_beyond_the_cutoff_may_have_a_value() -> None:
    punished = rf.additive("y", lambda rank: 0.0 if rank <= 1 else -1.0, cutoff=1, name="punished")
    assert rf.metric(punished)([3.0, 2.0, 1.0], [0, 1, 2]).tolist() == [-3.0]


def test_an_additive_metric_is_evaluated_and_compared() -> None:
    expected = float(np.mean(by_hand()))
    top3 = first_three()
    assert rf.evaluate(SCORES, LABELS, top3, group=SIZES).means == {"Top3": expected}
    found = rf.evaluate(SCORES, LABELS, ["mrr", top3], group=SIZES).means
    assert list(found) == ["MRR", "Top3"]
    assert found[top3] == expected
    systems = {"given": SCORES, "ideal": LABELS}
    compared = rf.compare(systems, LABELS, group=SIZES, metric=top3)
    assert compared.means["given"] == expected
    card = rf.scorecard([top3, "mrr"])
    assert rf.compare(systems, LABELS, group=SIZES, metric=card).best == "ideal"
    assert rf.scorecard(top3).metrics == [rf.metric(top3)]


def test_an_additive_metric_is_watched() -> None:
    train, valid = (rf.make_data("yahoo", queries=40, seed=seed) for seed in (0, 1))
    top3 = first_three()
    how = {"n_estimators": 6, "num_leaves": 5, "progress": False, "early_stopping_rounds": 3}
    ranker = rf.Ranker(top3, eval_metric=[top3, "ndcg@5"], **how).fit(train, eval_set=[valid])
    (history,) = ranker.evals_result_.values()
    assert list(history) == ["top3", "ndcg@5"]
    assert ranker.score(valid, metric=top3) == approx(max(history["top3"]))
    again = rf.Ranker("ranknet", eval_metric=top3, **how).fit(train, eval_set=[valid])
    assert list(next(iter(again.evals_result_.values()))) == ["top3"]
    folds = rf.cv({"objective": top3, "n_estimators": 2, "progress": False}, train, metrics=top3)
    assert list(folds.means) == ["top3"]


def test_an_additive_metric_reads_its_source_and_travels() -> None:
    clicked = rf.additive("y", discount, source="click")
    labels = {"grade": [3, 0], "click": [0.0, 0.5]}
    assert rf.metric(clicked)([1.0, 2.0], labels).tolist() == [0.5]
    plain = rf.metric(rf.additive("y", discount, name="mine"), name="other")
    copy = pickle.loads(pickle.dumps(plain))
    assert copy == plain
    assert copy.name == "other"
    assert hash(copy) == hash(plain)


def test_what_is_no_metric_says_so() -> None:
    with pytest.raises(ValueError, match="RankNet is an objective and no metric"):
        rf.evaluate([1.0, 2.0], [0, 1], rf.objective("ranknet"))
    rising = rf.additive("y", lambda rank: float(rank), name="rising")
    with pytest.raises(ValueError, match="'rising' as a metric: the value of rank 2 is above that"):
        rf.evaluate([1.0, 2.0], [0, 1], rising)
    with pytest.raises(ValueError, match=r"'Top3' has no parameter 'k': give it to rf\.additive"):
        rf.metric(first_three(), k=3)
    with pytest.raises(ValueError, match="'Top3' has no parameter 'higher_is_better'"):
        rf.metric(first_three(), higher_is_better=False)


# Mistakes are told in one sentence.


class Weight:
    """Something that can be called, but not compiled."""

    def __call__(self, y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
        return 1.0

    def method(self, y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
        return 1.0


def scaled(scale: float, y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return scale


def sometimes(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float | None:
    return 1.0 if rank_hi > 3 else None


WRONG_WEIGHTS: dict[str, tuple[Any, str]] = {
    "text": (lambda a, b, c, d: "much", "gives a text: it must give a number"),
    "None": (lambda a, b, c, d: None, "gives None: it must give a number"),
    "None for some": (sometimes, "sometimes gives None for some pairs: it must give a number"),
    "tuple": (lambda a, b, c, d: (a, b), "gives a tuple: it must give a number"),
    "list": (lambda a, b, c, d: [a], r"gives list\(float64\).*: it must give a number"),
    "complex": (lambda a, b, c, d: 1j, "gives a complex number: it must give a number"),
    "three": (lambda a, b, c: 1.0, "must take y_hi, y_lo, rank_hi and rank_lo: too many"),
    "five": (scaled, "scaled must take y_hi, .*: missing a required argument: 'rank_lo'"),
    "attribute": (lambda a, b, c, d: a.foo, "cannot be compiled: Unknown attribute 'foo' of type"),
    "unknown": (lambda a, b, c, d: nowhere, "cannot be compiled: NameError: name 'nowhere'"),  # type: ignore[name-defined]  # noqa: F821
    "object": (Weight(), "the pair weight is <.*Weight object.*: it must be a plain function"),
    "method": (Weight().method, "the pair weight is <bound method .*: it must be a plain function"),
    "partial": (
        functools.partial(scaled, 2.0),
        r"the pair weight is functools\.partial.*: it must be a plain function \(def or lambda\)",
    ),
    "built-in": (max, "the pair weight is <built-in function max>: it must be a plain function"),
}


@pytest.mark.parametrize(("weight", "message"), WRONG_WEIGHTS.values(), ids=WRONG_WEIGHTS)
def test_a_pair_weight_that_is_wrong(weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        rf.objective(weight).gradients([1.0, 2.0], [0, 1])
    assert "\n" not in str(caught.value)


def test_pair_weights_that_are_right() -> None:
    for weight in (
        lambda *several: 1,
        lambda a, b, c, d, e=1.0: e,
        lambda a, b, c, d: a > b,
        numba.njit(lambda a, b, c, d: 1.0),
    ):
        lam, _ = rf.objective(weight).gradients([0.0, 0.0], [0, 1])
        assert lam.tolist() == [-0.5, 0.5]


@pytest.mark.parametrize("value", [None, "much", (1, 2)])
def test_functions_of_an_additive_metric_that_give_no_number(value: Any) -> None:
    with pytest.raises(ValueError, match=r"the value of rank 1 is .*, which is no number"):
        rf.additive("y", lambda rank: value).prepare([0, 1])
    with pytest.raises(ValueError, match=r"row 0: gain of label 0 is .*: a gain is a number"):
        rf.additive(lambda label: value, discount).prepare([0, 1])
