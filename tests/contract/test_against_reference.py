"""Kernel = naive reference, for every objective, norm, cost, and spread of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref
from tests.contract.cases import (
    CASES,
    NOTHING,
    PAIRWISE,
    Case,
    Data,
    Floats,
    K,
    assert_close,
    largest,
    make_data,
)

SIZES = (2, 3, 17, 60)
SCORES = {
    "spread 1e-6": make_data(SIZES, spread=1e-6, seed=1),
    "spread 1": make_data(SIZES, spread=1.0, seed=2),
    "spread 10": make_data(SIZES, spread=10.0, seed=3),
    "spread 30": make_data(SIZES, spread=30.0, seed=4),
    "spread 1e3": make_data(SIZES, spread=1e3, seed=5),
    "spread 1e6": make_data(SIZES, spread=1e6, seed=6),
    "ties": make_data(SIZES, tied=True, seed=7),
    "all equal": make_data(SIZES, spread=0.0, seed=8),
}
# (parameters of the cost, norm)
HOW: list[tuple[dict[str, Any], str]] = [
    ({}, "none"),
    ({}, "lightgbm"),
    ({}, "std"),
    ({"sigma": 0.5}, "none"),
    ({"sigma": 2.0}, "lightgbm"),
    ({"cost": "sigmoid"}, "lightgbm"),
    ({"cost": "sigmoid", "center": 0.4}, "std"),
    ({"cost": "sigmoid", "center": -1.5, "sigma": 2.0}, "none"),
]
ITERATION = 4


def reference_weights(case: Case, data: Data) -> list[Floats]:
    """W of each query; ERR's top grade is that of the whole data set."""
    more: dict[str, Any] = {"iteration": ITERATION}
    if "(err)" in case.name:
        more["max_label"] = case.values.get("max_label", data.labels.max())
    return [
        case.weights(data.scores[rows], data.labels[rows], query=query, **more)
        for query, rows in enumerate(data)
    ]


def rounding_of(case: Case, W: Floats) -> float:
    """Brute-force swapping leaves rounding errors where nothing changes; formulas leave none."""
    is_brute_force = case.name.startswith("lambdarank(")
    return 1e-12 * float(W.max(initial=0.0)) if is_brute_force else 0.0


def assert_query(
    W: Floats, scores: Floats, got: tuple[Floats, Floats], how: dict[str, Any], norm: str, what: str
) -> None:
    lam, hess = (np.array(values) for values in ref.forces(W, scores, norm=norm, **how))
    raw = np.array(ref.forces(W, scores, **how)[0])
    assert np.isfinite(got).all(), what
    if W.any() and largest(raw) < NOTHING:
        # All forces underflow: there is nothing to scale to a standard deviation of 1.
        assert norm == "std" or largest(got[0]) < NOTHING, what
        return
    assert_close(got[0], lam, f"lambda, {what}")
    assert_close(got[1], hess, f"hess, {what}")


@pytest.mark.parametrize("data", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("case", PAIRWISE, ids=str)
def test_gradients_are_those_of_the_reference(case: Case, data: Data) -> None:
    """1e-4 of the query's largest lambda and hessian."""
    data = case.suited(data)
    weights = reference_weights(case, data)
    for how, norm in HOW:
        lam, hess = case.objective(**how).gradients(
            data.scores, data.labels, group=data.sizes, norm=norm, iteration=ITERATION
        )
        for W, rows in zip(weights, data, strict=True):
            what = f"{how or 'logistic'}, norm {norm}, {len(W)} documents"
            assert_query(W, data.scores[rows], (lam[rows], hess[rows]), how, norm, what)


@pytest.mark.parametrize("data", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("case", [case for case in CASES if case.is_listwise], ids=str)
def test_lists_have_the_forces_of_the_reference(case: Case, data: Data) -> None:
    """To 1e-9: kernels of lists are in float64 throughout."""
    for seed, norm in ((0, "none"), (5, "lightgbm"), (-1, "std")):
        got = case.objective(seed=seed).gradients(
            data.scores, data.labels, group=data.sizes, norm=norm, iteration=ITERATION
        )
        for query, rows in enumerate(data):
            given = data.scores[rows].tolist(), data.labels[rows].tolist()
            if case.is_pointwise:
                expected = ref.squared_error_forces(*given, norm=norm)
            else:
                key = {"seed": seed, "iteration": ITERATION, "query": query}
                expected = ref.xendcg_forces(*given, **key, norm=norm)
            for values, other, what in zip(got, expected, ("lambda", "hess"), strict=True):
                assert_close(values[rows], np.array(other), f"{what}, norm {norm}", 1e-9)


@pytest.mark.parametrize("scores", ["spread 1e-6", "spread 1", "spread 1e6", "ties", "all equal"])
@pytest.mark.parametrize("case", PAIRWISE, ids=str)
def test_pairs_are_those_of_the_reference(case: Case, scores: str) -> None:
    """Weights to 1e-12; each pair once; as many as `effective_pairs` says."""
    data = case.suited(SCORES[scores])
    ready = case.objective().prepare(data.labels, group=data.sizes)
    counts = ready.effective_pairs(data.scores, iteration=ITERATION)
    for query, (W, rows) in enumerate(zip(reference_weights(case, data), data, strict=True)):
        hi, lo, weight = ready.pairs(data.scores, query=query, iteration=ITERATION)
        got = np.zeros_like(W)
        np.add.at(got, (hi - rows.start, lo - rows.start), weight)
        assert np.abs(got - W).max() <= 1e-12 * W.max(initial=0.0)
        assert counts[query] == len(weight)
        noise = rounding_of(case, W)
        assert np.count_nonzero(weight > noise) == np.count_nonzero(noise < W)
        assert len(set(zip(hi, lo, strict=True))) == len(hi)
        assert (data.labels[hi] > data.labels[lo]).all()
        assert (weight > 0).all()


@pytest.mark.parametrize("case", PAIRWISE, ids=str)
def test_pairs_of_one_query(case: Case) -> None:
    """`Objective.pairs` and `effective_pairs` of a query by itself."""
    data = case.suited(make_data([17], seed=9))
    W = case.weights(data.scores, data.labels)
    hi, lo, weight = case.objective().pairs(data.scores, data.labels)
    assert weight == pytest.approx(W[hi, lo], rel=1e-12, abs=1e-12 * W.max())
    assert case.objective().effective_pairs(data.scores, data.labels).tolist() == [len(hi)]
    noise = rounding_of(case, W)
    assert np.count_nonzero(weight > noise) == np.count_nonzero(noise < W) > 0


SWAPS = [
    ("LambdaRank-NDCG", {}, "lambdarank(ndcg)"),
    ("LambdaRank-BNDCG", {}, "lambdarank(bndcg)"),
    *[("LambdaRank-ARPbk", {"k": k}, f"lambdarank(arpb@{k})") for k in (1, 3, 16, 17, 20)],
    *[("LambdaRank-P@k", {"k": k}, f"lambdarank(p@{k})") for k in (1, 3, 16, 17, 20)],
    *[(f"lambdarank(p@{k})", {}, f"lambdarank(p@{k})") for k in (1, 3, 16)],
    *[(f"lambdarank(arpb@{k})", {}, f"lambdarank(arpb@{k})") for k in (1, 3, 16)],
]


@pytest.mark.parametrize(("name", "parameters", "swaps"), SWAPS)
@pytest.mark.parametrize("tied", [False, True])
def test_closed_form_is_what_swapping_changes(
    name: str, parameters: dict[str, Any], swaps: str, tied: bool
) -> None:
    """Objectives that claim a metric, against swapping the two documents and looking."""
    data = make_data([17], tied=tied, seed=10)
    W = Case(name, tuple(parameters.items())).objective().pairs(data.scores, data.labels)
    got = np.zeros((17, 17))
    got[W.hi, W.lo] = W.weight
    expected = np.array(ref.weights(swaps, data.scores, data.labels))
    assert got == pytest.approx(expected, rel=1e-11, abs=1e-12)


CUTS = [case for case in PAIRWISE if case.parameters == (("k", K),)]


@pytest.mark.parametrize("k", [1, 2, 4, 7, 31, 33, 58])
@pytest.mark.parametrize("case", CUTS, ids=lambda case: case.name)
def test_gradients_at_other_cutoffs(case: Case, k: int) -> None:
    """Members are done by four with a rest, and the top is selected or sorted."""
    case, data = Case(case.name, (("k", k),)), case.suited(make_data([60], seed=11))
    W = case.weights(data.scores, data.labels)
    for norm in ("none", "lightgbm"):
        got = case.objective().gradients(data.scores, data.labels, norm=norm)
        assert_query(W, data.scores, got, {}, norm, norm)


@pytest.mark.parametrize("missed", ["deficit", "label"])
@pytest.mark.parametrize("strategy", ref.STRATEGIES)
def test_labels_up_to_0_are_never_missed(strategy: str, missed: str) -> None:
    """Nor do they count where missed documents are drawn from, though the ideal top has some."""
    rng = np.random.default_rng(12)
    for seed in range(60):
        labels = rng.choice([-1.0, 0.0, 1.0, 2.0], 12, p=[0.4, 0.3, 0.2, 0.1])
        how = {"missed": missed, "seed": seed}
        objective = rf.objective(f"lambdamart-ex {strategy}", k=6, gain=lambda y: y + 2.0, **how)
        hi, lo, _ = objective.pairs(-np.arange(12.0), labels)
        X = ref.extended_set(strategy, labels.tolist(), 6, **how)
        inside = np.isin(np.arange(12), [*X])
        is_pair = (labels[:, None] > labels) & (inside | inside[:, None])
        assert set(zip(hi, lo, strict=True)) == set(zip(*np.nonzero(is_pair), strict=True))
