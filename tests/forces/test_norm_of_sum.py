"""A norm of the whole mix: found by hand, and the same as that of one objective."""

from __future__ import annotations

import json
import statistics
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.kernels.notes import BY_SIZE, DOWN, UP
from tests import reference as ref
from tests.contract.cases import Floats, assert_close, draw_scores
from tests.reference import tiers
from tests.reference.ranking import Matrix, zeros

NAN = float("nan")
SIZES = (1, 30, 2, 17, 60, 5)
ROWS = sum(SIZES)
ENDS = np.cumsum(SIZES)
QUERIES = [slice(end - size, end) for size, end in zip(SIZES, ENDS, strict=True)]
RNG = np.random.default_rng(0)
SCORES = np.concatenate([draw_scores(RNG, n, 4.0) for n in SIZES])
GRADES = RNG.integers(0, 4, ROWS).astype(np.float64)
GRADES[QUERIES[-1]] = 1.0  # no pair
PAIRS = [(end - 1, end - 2, 0.5) for end in ENDS[1:-1]] + [(3, 4, 1.0), (4, 3, 2.0), (3, 4, 0.25)]
LABELS: dict[str, Any] = {
    "grade": GRADES,
    "click": RNG.choice([0.0, 0.125, 0.25, 1.0, NAN], ROWS),
    "preferences": tuple(map(list, zip(*PAIRS, strict=True))),
}

NDCG = rf.objective("lambdarank-ndcg", k=3)
RANKNET = rf.objective("ranknet")
STEEP = rf.objective("ranknet", source="click", sigma=2.0)
GAP = rf.objective("lambdagap-s", k=2)
SIGMOID = rf.objective("lambdarank-ndcg", k=3, cost="sigmoid", center=0.3)
EXPLICIT = rf.objective("preferences", sigma=0.5)
LIST = rf.objective("xendcg", seed=3)
STD = rf.objective("lambdarank-ndcg", norm="std")
NEAR = rf.objective("lambdarank-ndcg", cost="sigmoid", norm="std")


def gradients(one: Any, scores: Floats = SCORES, **how: Any) -> Floats:
    return np.array(one.gradients(scores, LABELS, group=SIZES, **how))


def naive_weights(one: Any, rows: slice, scores: list[float]) -> Matrix:
    """Of the parts above, those that are in pairs."""
    if one is EXPLICIT:
        W = zeros(len(scores))
        for hi, lo, weight in PAIRS:
            if rows.start <= hi < rows.stop:
                W[hi - rows.start][lo - rows.start] += weight
        return W
    clicks = LABELS["click"][rows].tolist()
    if one is STEEP:
        return tiers.tier_weights("RankNet", scores, 0, [clicks])
    grades = GRADES[rows].tolist()
    k = {} if one is RANKNET else {"k": one.arguments["k"]}
    return ref.weights(one.name, scores, grades, **k)


def costs(one: Any) -> dict[str, Any]:
    if one is EXPLICIT:
        return {"sigma": 0.5}
    return one.cost._asdict() | {"name": None, "cost": one.cost.name}


MIXES = {
    "hybrid": [(1.0, NDCG), (3.0, GAP)],
    "sources": [(0.7, NDCG), (0.3, STEEP), (0.0, SIGMOID)],
    "costs": [(0.5, RANKNET), (2.0, SIGMOID)],
    "preferences": [(0.25, GAP), (2.0, EXPLICIT)],
    "preferences alone": [(3.0, EXPLICIT)],
}


@pytest.mark.parametrize("spread", [1.0, 12.0])
@pytest.mark.parametrize("norm", ref.NORMS)
@pytest.mark.parametrize("name", MIXES)
def test_forces_are_naive_sums(name: str, norm: str, spread: float) -> None:
    terms, scores = MIXES[name], spread * SCORES
    ready = rf.mix(terms, norm=norm).prepare(LABELS, group=SIZES)
    lam, hess = ready.gradients(scores)
    for rows in QUERIES:
        some = scores[rows].tolist()
        parts = []
        for share, one in terms:
            how = {key: value for key, value in costs(one).items() if value is not None}
            if share > 0:
                parts.append((share, naive_weights(one, rows, some), how))
        expected = ref.summed_forces(parts, some, norm=norm)
        assert_close(lam[rows], expected[0], "lambda")
        assert_close(hess[rows], expected[1], "hess")
    for other in ref.NORMS:  # the caller's does not matter
        again = ready.gradients(scores, norm=other, threads=3)
        assert np.array_equal(again, (lam, hess))


@pytest.mark.parametrize("norm", ref.NORMS)
def test_tiers_are_naive_sums(norm: str) -> None:
    clicks = rf.objective("lambdarank(cndcg)", source="click")
    whole = rf.graded([NDCG, clicks], weights=[0.8, 0.2], norm=norm)
    lam, hess = gradients(whole)
    for rows in QUERIES:
        some, two = SCORES[rows].tolist(), [GRADES[rows].tolist(), LABELS["click"][rows].tolist()]
        parts: list[Any] = [
            (0.8, tiers.tier_weights("LambdaRank-NDCG", some, 0, two, k=3), {}),
            (0.2, tiers.tier_weights("lambdarank(cndcg)", some, 1, two), {}),
        ]
        expected = ref.summed_forces(parts, some, norm=norm)
        assert_close(lam[rows], expected[0], "lambda")
        assert_close(hess[rows], expected[1], "hess")


def test_a_list_in_a_sum() -> None:
    """Its forces are added before the standard deviation is taken; LightGBM's norm is of pairs."""
    lam, hess = gradients(rf.mix([(2.0, LIST), (1.0, NDCG)], norm="std"))
    raw = 2.0 * gradients(LIST)[0] + gradients(NDCG)[0]
    for rows in QUERIES[1:]:
        assert_close(lam[rows], raw[rows] / statistics.pstdev(raw[rows]), "lambda", 1e-6)
        assert (hess[rows] == 1.0).all()
    assert (lam[0], hess[0]) == (0.0, 0.0)
    plain = gradients(rf.mix([(2.0, LIST), (1.0, NDCG)], norm="none"), norm="std")
    np.testing.assert_allclose(plain, 2.0 * gradients(LIST) + gradients(NDCG), rtol=1e-12)
    with pytest.raises(ValueError, match="one of pairs, and its part 'xendcg' has none"):
        rf.mix([(2.0, LIST), (1.0, NDCG)], norm="lightgbm")


@pytest.mark.parametrize("norm", ref.NORMS)
@pytest.mark.parametrize("one", [NDCG, STEEP, GAP, SIGMOID, EXPLICIT], ids=str)
def test_the_norm_of_one_part_is_its_own(one: Any, norm: str) -> None:
    got = gradients(rf.mix([(1.0, one)], norm=norm))
    np.testing.assert_allclose(got, gradients(one, norm=norm), rtol=1e-12, atol=1e-300)


# 001, equation 2: A + mu B


@pytest.mark.parametrize("norm", ref.NORMS)
@pytest.mark.parametrize(
    ("second", "hybrid"), [("lambdagap-s", "lambdagap-s+"), ("lambdagap-x", "lambdagap-x+")]
)
def test_a_sum_is_the_hybrid(second: str, hybrid: str, norm: str) -> None:
    """In everything that it can be asked."""
    k, mu = 3, 3.0
    parts = [(1.0, rf.objective("lambdarank-p@k", k=k)), (mu, rf.objective(second, k=k))]
    both = rf.mix(parts, norm=norm).prepare(LABELS, group=SIZES)
    whole = rf.objective(hybrid, k=k, mu=mu, norm=norm).prepare(LABELS, group=SIZES)
    found, expected = (ready.gradients(SCORES) for ready in (both, whole))
    for rows in QUERIES:
        assert_close(found[0][rows], expected[0][rows], "lambda")
        assert_close(found[1][rows], expected[1][rows], "hess")
    leaf = np.arange(ROWS, dtype=np.int32) % 4
    weight = np.random.default_rng(1).uniform(size=ROWS)
    for row_weight in (None, weight):
        how = {"norm": "none", "iteration": 0, "row_weight": row_weight}
        one, two = (
            [ready.shared_hessians(SCORES, leaf, 4, threads=t, **how) for t in (1, 3)]
            for ready in (both, whole)
        )
        assert np.array_equal(*one)
        np.testing.assert_allclose(one[0], two[0], rtol=1e-5)
    how = {"slot": np.arange(ROWS, dtype=np.int32), "code": GRADES.astype(np.int32), "codes": 4}
    now = {"norm": "none", "iteration": 0, "threads": 2}
    traces = [ready.trace(SCORES, **how, **now) for ready in (both, whole)]
    np.testing.assert_allclose(traces[0].sources, traces[1].sources, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(traces[0].factors, traces[1].factors, rtol=1e-5)


def test_the_numbers_of_a_hand() -> None:
    """S = S_1 + 3 S_2 by LightGBM's formula; each part by itself would shrink less."""
    scores, labels = [0.9, 0.7, 0.4, 0.2, 0.0], [0, 0, 1, 1, 0]
    terms = [(1.0, "lambdarank-p@2"), (3.0, "lambdagap-s@2")]
    lam, hess = rf.mix(terms, norm="lightgbm").gradients(scores, labels)
    assert lam.round(4).tolist() == [-0.9395, -1.0866, 1.5603, 0.9395, -0.4737]
    assert hess.round(4).tolist() == [0.3477, 0.4246, 0.7082, 0.3477, 0.2836]
    each, _ = rf.mix(terms).gradients(scores, labels, norm="lightgbm")
    assert each.round(4).tolist() == [-2.3171, -2.6236, 3.8991, 2.3171, -1.2754]


# Pairs and traces


@pytest.mark.parametrize("norm", ref.NORMS)
@pytest.mark.parametrize("name", MIXES)
def test_pair_forces_and_traces_add_up_to_forces(name: str, norm: str) -> None:
    """Also where the sum is a part of another mix."""
    normed = rf.mix(MIXES[name], norm=norm)
    for whole in (normed, 0.5 * RANKNET + 2.0 * normed):
        ready = whole.prepare(LABELS, group=SIZES)
        lam, _ = ready.gradients(SCORES)
        slot = np.arange(ROWS, dtype=np.int32)
        now: dict[str, Any] = {"norm": "none", "iteration": 0}
        trace = ready.trace(SCORES, slot=slot, code=slot % 3, codes=3, threads=1, **now)
        assert np.array_equal(trace.counts, ready.effective_pairs(SCORES))
        plain = rf.mix(MIXES[name])
        plain = plain if whole is normed else 0.5 * RANKNET + 2.0 * plain
        bare, _ = plain.prepare(LABELS, group=SIZES).gradients(SCORES, norm="none")
        signed = (trace.sources[:, UP] - trace.sources[:, DOWN]).sum(axis=1)
        np.testing.assert_allclose(signed, bare, rtol=1e-4, atol=1e-6)
        for query, rows in enumerate(QUERIES):
            hi, lo, _, force = ready.pair_forces(SCORES, query=query, **now)
            up, down = (np.bincount(side, force, ROWS) for side in (hi, lo))
            assert_close((up - down)[rows], lam[rows], "lambda")
            assert_close(
                (up + down)[rows], trace.sources[:, BY_SIZE].sum(axis=1)[rows], "by size", 1e-6
            )


def test_factors_are_those_of_the_sum() -> None:
    parts = [(1.0, NDCG), (3.0, GAP)]
    raw = gradients(rf.mix(parts))[0]
    found = rf.diagnostics.norm_factors(
        rf.mix(parts, norm="std"), SCORES, LABELS, group=SIZES, norm="none"
    ).factors
    for rows, factor in zip(QUERIES, found, strict=True):
        deviation = statistics.pstdev(raw[rows])
        assert factor == pytest.approx(1.0 / deviation if deviation else 0.0, rel=1e-5)
    none = rf.mix(parts, norm="none")
    found = rf.diagnostics.norm_factors(none, SCORES, LABELS, group=SIZES).factors
    assert found.tolist() == [0.0, 1.0, float(raw[QUERIES[2]].any()), 1.0, 1.0, 0.0]


# Nesting


@pytest.mark.parametrize("norm", ref.NORMS)
def test_a_sum_with_a_norm_is_one_part_of_another(norm: str) -> None:
    normed = rf.mix([(1.0, NDCG), (3.0, GAP)], norm=norm)
    for caller in ref.NORMS:
        how = {"norm": caller, "iteration": 5}
        inner, other = gradients(normed, **how), gradients(RANKNET, **how)
        got = gradients(0.5 * normed + RANKNET, **how)
        np.testing.assert_allclose(got, 0.5 * inner + other, rtol=1e-12, atol=1e-15)
        moving = rf.scheduled(2.0 * normed, RANKNET, start=0.2, rate=0.1)
        got = gradients(moving, **how)
        np.testing.assert_allclose(got, 0.6 * inner + 0.7 * other, rtol=1e-9, atol=1e-15)
    inside = "(LambdaRank-NDCG@3 + 3 LambdaGap-S@2, norm "
    assert (0.5 * normed + RANKNET).name == f"0.5 {inside}{norm}) + RankNet"
    assert (1.0 * normed).weights(0) == [1.0]
    assert 1.0 * normed != normed
    with pytest.raises(ValueError, match=r"but its part .* has the norm"):
        rf.mix([(1.0, normed)], norm="std")


# What `scheduled` does by itself


def test_the_sum_of_a_schedule_is_divided_by_its_deviation() -> None:
    """Svore et al. 2011, section 5.3, and what each part by itself would give."""
    scores, labels = [0.5, 0.2, 0.1, 0.0], [1, 2, 0, 0]
    moving = rf.scheduled(STD, NEAR, start=0.25)
    one = rf.objective("lambdarank-ndcg").gradients(scores, labels)[0]
    two = rf.objective("lambdarank-ndcg", cost="sigmoid").gradients(scores, labels)[0]
    raw = 0.75 * one + 0.25 * two
    lam, hess = moving.gradients(scores, labels, norm="lightgbm")
    np.testing.assert_allclose(lam, raw / statistics.pstdev(raw), rtol=1e-6)
    assert lam.round(4).tolist() == [0.0255, 1.6207, -0.7283, -0.9178]
    assert hess.tolist() == [1.0] * 4
    each = rf.scheduled(STD, NEAR, start=0.25, norm="each")
    apart = 0.75 * one / statistics.pstdev(one) + 0.25 * two / statistics.pstdev(two)
    np.testing.assert_allclose(each.gradients(scores, labels)[0], apart, rtol=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "norm"),
    [
        (STD, NEAR, "std"),
        (STD, STD, "std"),
        (SIGMOID, NEAR, "std"),
        (rf.objective("preferences", norm="std"), SIGMOID, "std"),
        (NDCG, NEAR, None),
        (NDCG, RANKNET, None),
        (STD, rf.objective("ranknet", cost="sigmoid", norm="none"), None),
        (STD, rf.objective("ranknet", norm="lightgbm"), None),
        (STD, 1.0 * NEAR, None),
    ],
    ids=repr,
)
def test_when_a_schedule_follows_the_paper(first: Any, second: Any, norm: str | None) -> None:
    moving = rf.scheduled(first, second)
    assert moving.norm == norm
    assert (moving.table().get("norm"), rf.scheduled(first, second, norm="each").norm) == (
        norm,
        None,
    )
    if norm is not None:
        assert [part.objective.norm for part in moving.parts] == [None, None]


def test_tables_of_runs_before_there_was_a_norm_of_the_sum() -> None:
    table = {"scheduled": [STD.table(), NEAR.table()], "schedule": "linear", "start": 0.1}
    assert rf.objective(table) == rf.scheduled(STD, NEAR, start=0.1)
    assert rf.objective(table | {"norm": "each"}) == rf.scheduled(STD, NEAR, start=0.1, norm="each")


# Text, tables, mistakes

KEPT = {
    "mix": rf.mix([(1.0, NDCG), (3.0, GAP)], norm="lightgbm"),
    "none": rf.mix([(1.0, NDCG), (3.0, GAP)], norm="none"),
    "each": rf.mix([(1.0, NDCG), (3.0, GAP)], norm="each"),
    "graded": rf.graded([NDCG, STEEP], norm="STD"),
    "scheduled": rf.scheduled(NDCG, RANKNET, norm="lightgbm"),
    "as the paper": rf.scheduled(STD, NEAR),
    "not as the paper": rf.scheduled(STD, NEAR, norm="each"),
    "inside": 0.5 * rf.scheduled(STD, NEAR) + rf.mix([(2.0, NDCG)], norm="lightgbm"),
}


@pytest.mark.parametrize("name", KEPT)
def test_texts_and_tables(name: str) -> None:
    one = KEPT[name]
    assert eval(repr(one), {"rf": rf}) == one
    assert rf.objective(json.loads(json.dumps(one.table()))) == one
    assert [one == other for other in KEPT.values()].count(True) == 1


def test_the_usual_is_not_written() -> None:
    assert KEPT["each"] == NDCG + 3.0 * GAP
    assert KEPT["each"].table() == (NDCG + 3.0 * GAP).table()
    assert KEPT["mix"].table() == (NDCG + 3.0 * GAP).table() | {"norm": "lightgbm"}
    assert KEPT["mix"].name == "LambdaRank-NDCG@3 + 3 LambdaGap-S@2, norm lightgbm"


def test_mistakes() -> None:
    with pytest.raises(ValueError, match=r"norm is 'l2': choose 'each', 'none'"):
        rf.mix([(1.0, NDCG)], norm="l2")
    own = r"norm is 'std' for the sum, but its part 'LambdaRank-NDCG' has the norm 'std' of its own"
    for make in (
        lambda: rf.mix([(1.0, RANKNET), (0.0, STD)], norm="std"),
        lambda: rf.graded([STD, STEEP], norm="std"),
        lambda: rf.scheduled(STD, NEAR, norm="std"),
        lambda: rf.mix([(1.0, RANKNET + STD)], norm="std"),
    ):
        with pytest.raises(ValueError, match=own):
            make()


def test_second_derivatives_of_a_sum() -> None:
    """Exact Newton steps need them, whatever norm the ranker has."""
    for bad in (
        rf.mix([(1.0, NDCG)], norm="std"),
        2.0 * rf.mix([(1.0, NDCG)], norm="std"),
        2.0 * rf.mix([(1.0, SIGMOID)], norm="lightgbm"),
    ):
        with pytest.raises(ValueError, match="needs second derivatives"):
            rf.Ranker(bad, step="exact-newton").settings()
    good = rf.mix([(1.0, NDCG)], norm="lightgbm")
    for one in (good, 2.0 * good):
        rf.Ranker(one, step="exact-newton", norm="std").settings()
