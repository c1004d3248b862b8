"""Random queries, objectives and parameters against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rankforce as rf
from tests import reference as ref
from tests.contract.cases import (
    ENDLESS,
    NOTHING,
    Case,
    Floats,
    assert_close,
    largest,
)

THOROUGH = settings(max_examples=60, deadline=None, derandomize=True)
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
ENTRIES = [entry for entry in rf.objectives() if not entry.listwise]

LABELS = {
    "grades": st.integers(0, 4),
    "binary": st.integers(0, 1),
    "floats": st.sampled_from([0.0, 0.25, 0.5, 1.5, 2.25, 3.0]),
    "beyond 31": st.sampled_from([0, 1, 5, 31, 32, 40, 63]),
}
SCORES = {
    "tied": st.integers(-3, 3).map(lambda i: i / 2.0),
    "near": st.floats(-1e-6, 1e-6, allow_subnormal=False),
    "usual": st.floats(-7.9, 7.9, allow_subnormal=False),
    "far": st.floats(-600.0, 600.0, allow_subnormal=False),
}
PARAMETERS: dict[str, Any] = {
    "tau": st.integers(1, 40),
    "mu": st.floats(0.0, 5.0, allow_subnormal=False),
    "gain": st.sampled_from(["2^y-1", "y", "binary"]),
    "delta_offset": st.sampled_from([0, 1]),
    "missed": st.sampled_from(["deficit", "label"]),
    "p": st.floats(0.3, 0.95),
    "max_label": st.just(64.0),
}


@st.composite
def queries(draw: Any, kinds: tuple[str, ...] = tuple(LABELS)) -> tuple[Floats, Floats]:
    """Scores and labels of one query."""
    n = draw(st.integers(2, 40))
    label, score = LABELS[draw(st.sampled_from(kinds))], SCORES[draw(st.sampled_from([*SCORES]))]
    scores = draw(st.lists(score, min_size=n, max_size=n))
    labels = draw(st.lists(label, min_size=n, max_size=n))
    return np.array(scores, dtype=np.float64), np.array(labels, dtype=np.float64)


@st.composite
def cases(draw: Any) -> Case:
    """Any objective of the registry with any of its parameters."""
    entry = draw(st.sampled_from(ENTRIES))
    chosen = {key: draw(PARAMETERS[key]) for key in sorted(entry.uses) if draw(st.booleans())}
    if entry.name == "lambdarank(arp)" and chosen.get("gain") == "2^y-1":
        chosen["gain"] = "y"  # ARP has a binary and a graded form only
    if entry.needs_k or (entry.name not in ENDLESS and draw(st.booleans())):
        chosen["k"] = draw(st.integers(1, 12))
    return Case(entry.name, tuple(chosen.items()))


@st.composite
def costs(draw: Any) -> dict[str, Any]:
    how: dict[str, Any] = {"sigma": draw(st.sampled_from([0.25, 1.0, 3.0]))}
    if draw(st.booleans()):
        how |= {"cost": "sigmoid", "center": draw(st.floats(-3.0, 3.0, allow_subnormal=False))}
    return how


def assert_as_reference(
    case: Case, query: tuple[Floats, Floats], how: dict[str, Any], norm: str, iteration: int
) -> None:
    scores, labels = query[0], case.labels(query[1])
    W = case.weights(scores, labels, iteration=iteration)
    got = case.objective(**how).gradients(scores, labels, norm=norm, iteration=iteration)
    assert np.isfinite(got).all()
    if W.any() and largest(np.array(ref.forces(W, scores, **how)[0])) < NOTHING:
        return  # forces that underflow
    expected = ref.forces(W, scores, norm=norm, **how)
    assert_close(got[0], np.array(expected[0]), "lambda")
    assert_close(got[1], np.array(expected[1]), "hess")


@given(cases(), queries(("grades", "binary", "floats")), costs(), st.sampled_from(ref.NORMS))
@settings(THOROUGH, max_examples=400)
def test_forces_are_those_of_the_reference(
    case: Case, query: tuple[Floats, Floats], how: dict[str, Any], norm: str
) -> None:
    assert_as_reference(case, query, how, norm, iteration=2)


@given(
    cases().filter(lambda case: "(err)" not in case.name), queries(("beyond 31",)), st.booleans()
)
@settings(THOROUGH, max_examples=150)
def test_labels_beyond_31(case: Case, query: tuple[Floats, Floats], is_normed: bool) -> None:
    assert_as_reference(case, query, {}, "lightgbm" if is_normed else "none", iteration=0)


@given(cases(), queries(("grades", "floats")), st.integers(0, 2**63))
@settings(THOROUGH, max_examples=200)
def test_pairs_are_those_of_the_reference(
    case: Case, query: tuple[Floats, Floats], iteration: int
) -> None:
    scores, labels = query[0], case.labels(query[1])
    W = case.weights(scores, labels, iteration=iteration)
    hi, lo, weight = case.objective().pairs(scores, labels, iteration=iteration)
    got = np.zeros_like(W)
    np.add.at(got, (hi, lo), weight)
    assert np.abs(got - W).max() <= 1e-11 * W.max(initial=0.0)
    assert case.objective().effective_pairs(scores, labels, iteration=iteration)[0] == len(hi)


@given(cases(), st.lists(queries(), min_size=1, max_size=6), st.integers(1, 5))
@QUICK
def test_queries_do_not_touch_each_other(
    case: Case, parts: list[tuple[Floats, Floats]], threads: int
) -> None:
    """Each query's forces are those it has when the others' scores are all different."""
    scores = np.concatenate([part[0] for part in parts])
    labels = case.labels(np.concatenate([part[1] for part in parts]))
    sizes = [len(part[0]) for part in parts]
    ready = case.objective().prepare(labels, group=sizes)
    together = ready.gradients(scores, threads=threads)
    start = 0
    for size in sizes:
        others = np.full(len(scores), 0.5)
        others[start : start + size] = scores[start : start + size]
        alone = ready.gradients(others)
        rows = slice(start, start + size)
        assert np.array_equal(together[0][rows], alone[0][rows])
        assert np.array_equal(together[1][rows], alone[1][rows])
        start += size


@given(cases(), queries(), st.sampled_from(ref.NORMS), costs())
@settings(THOROUGH, max_examples=150)
def test_forces_balance(
    case: Case, query: tuple[Floats, Floats], norm: str, how: dict[str, Any]
) -> None:
    lam, hess = case.objective(**how).gradients(query[0], case.labels(query[1]), norm=norm)
    assert np.isfinite(lam).all()
    assert abs(lam.sum()) <= 1e-6 * np.abs(lam).sum()
    assert (hess >= 0.0).all()


FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(cases(), st.lists(st.tuples(FINITE, st.integers(0, 4)), max_size=12), costs())
@settings(THOROUGH, max_examples=150)
def test_no_finite_score_gives_nan(
    case: Case, rows: list[tuple[float, int]], how: dict[str, Any]
) -> None:
    scores, labels = [score for score, _ in rows], case.labels([label for _, label in rows])
    for norm in ref.NORMS:
        assert np.isfinite(case.objective(**how).gradients(scores, labels, norm=norm)).all()
