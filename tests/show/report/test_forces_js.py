"""The page computes the forces that the kernels compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.diagnostics import pair_forces
from rankforce.diagnostics.coherence import incoherence
from tests.contract.cases import CASES, OF_CLICKS, PAIRWISE, Case, assert_close, draw_labels
from tests.show.report.browser import open_page
from tests.show.report.in_page import Floats, Lists, compute, script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NORMS = ("none", "lightgbm", "std")
SIZES = (1, 2, 3, 5, 17, 60, 33)
ITERATION = 7


@pytest.fixture(scope="module")
def arithmetic(browser: Browser) -> Iterator[Page]:
    """A page with the arithmetic and nothing else."""
    with open_page(browser) as page:
        page.add_script_tag(content=script("forces.js"))
        yield page


def draw_lists(seed: int, *, spread: float = 4.0, sizes: tuple[int, ...] = SIZES) -> Lists:
    """Lists with tied labels; every second one has tied scores as well."""
    rng = np.random.default_rng(seed)
    scores = []
    for number, n in enumerate(sizes):
        tied = rng.integers(0, 4, n) / 4.0 if number % 2 else rng.uniform(size=n)
        scores.append(spread * (tied - 0.5))
    labels = np.concatenate([draw_labels(rng, n) for n in sizes])
    return Lists(np.concatenate(scores), {None: labels}, sizes)


def draw_sources(seed: int, *, preferences: bool = False) -> Lists:
    """Grades, and clicks of which some are not known and some are 0."""
    lists = draw_lists(seed)
    rng = np.random.default_rng(seed + 1)
    rows = len(lists.scores)
    clicks = np.round(rng.uniform(size=rows), 1)
    clicks[rng.uniform(size=rows) < 0.2] = np.nan
    pairs = None
    if preferences:
        # Both ways round, several times, and without a weight: all that the data may bring.
        several = [
            rng.integers(r.start, r.stop, (8, 2)) for r in lists.rows if r.stop > r.start + 1
        ]
        hi, lo = (column.tolist() for column in np.concatenate(several).T)
        kept = [(a, b) for a, b in zip(hi, lo, strict=True) if a != b]
        weight = np.round(rng.uniform(-0.3, 2.0, len(kept)).clip(0.0), 2).tolist()
        pairs = ([a for a, _ in kept], [b for _, b in kept], weight)
    return replace(lists, labels={**lists.labels, "click": clicks}, preferences=pairs)


def assert_same(
    page: Page, objective: Any, lists: Lists, *, norm: str, iteration: int = ITERATION
) -> None:
    """Forces and hessians within 1e-5 of the query's largest."""
    found = compute(page, objective, lists, norm=norm, iteration=iteration)
    lam, hess = objective.gradients(
        lists.scores, lists.for_python(), group=lists.sizes, norm=norm, iteration=iteration
    )
    for rows, got in zip(lists.rows, found, strict=True):
        what = f"{objective.name}, norm {norm}, {rows.stop - rows.start} documents"
        assert_close(np.array(got["lambda"], float), lam[rows], f"lambda of {what}", 1e-5)
        assert_close(np.array(got["hess"], float), hess[rows], f"hess of {what}", 1e-5)


def matrix(n: int, hi: Any, lo: Any, weight: Any) -> Floats:
    found = np.zeros((n, n))
    np.add.at(found, (np.asarray(hi, int), np.asarray(lo, int)), np.asarray(weight, float))
    return found


def assert_same_pairs(page: Page, objective: Any, lists: Lists) -> None:
    """Weights to 1e-9, forces by pair as Python has them, and as many as Python counts."""
    ready = objective.prepare(lists.for_python(), group=lists.sizes)
    counts = ready.effective_pairs(lists.scores, iteration=ITERATION)
    found = compute(page, objective, lists, iteration=ITERATION)
    for query, (rows, got) in enumerate(zip(lists.rows, found, strict=True)):
        n = rows.stop - rows.start
        hi, lo, weight = ready.pairs(lists.scores, query=query, iteration=ITERATION)
        expected = matrix(n, hi - rows.start, lo - rows.start, weight)
        pairs = got["pairs"]
        columns = {name: [pair[name] for pair in pairs] for name in ("hi", "lo", "weight", "force")}
        shown = matrix(n, columns["hi"], columns["lo"], columns["weight"])
        tolerance = 1e-9 * expected.max(initial=0.0)
        assert np.abs(shown - expected).max(initial=0.0) <= tolerance
        # Rounding leaves dust where a swap of two ranks changes nothing.
        assert np.count_nonzero(shown > tolerance) == np.count_nonzero(expected > tolerance)
        assert got["count"] == len(pairs)
        is_dusty = np.count_nonzero(expected) != np.count_nonzero(expected > tolerance)
        assert got["count"] == counts[query] or is_dusty
        pushed = matrix(n, columns["hi"], columns["lo"], columns["force"])
        assert_close(pushed.sum(axis=1) - pushed.sum(axis=0), np.array(got["lambda"]), "sum", 1e-12)


def suited(case: Case, lists: Lists) -> Lists:
    return replace(lists, labels={None: case.labels(lists.labels[None])})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_objective(arithmetic: Page, case: Case) -> None:
    """With its defaults, a cutoff, and all its parameters changed; at three norms."""
    lists = suited(case, draw_lists(1))
    for norm in NORMS:
        assert_same(arithmetic, case.objective(), lists, norm=norm)
    if not case.is_listwise:  # forces of a list come from no pair
        assert_same_pairs(arithmetic, case.objective(), lists)


CUTS = [case for case in PAIRWISE if case.values.get("k") and len(case.values) == 1]


@pytest.mark.parametrize("case", CUTS, ids=lambda case: case.name)
def test_other_cutoffs_costs_and_spreads(arithmetic: Page, case: Case) -> None:
    """k from 1 to above every list, steep and flat costs, scores far apart."""
    hows: list[tuple[int, float, dict[str, Any]]] = [
        (1, 0.1, {"sigma": 2.0}),
        (5, 40.0, {"sigma": 0.5, "seed": -3}),
        (20, 4.0, {"cost": "sigmoid", "center": 0.7}),
        (70, 4.0, {"sigma": 1.5}),
    ]
    for (k, spread, how), norm in zip(hows, (*NORMS, "lightgbm"), strict=True):
        lists = suited(case, draw_lists(2, spread=spread))
        objective = rf.objective(case.name, k=k, **how)
        assert_same(arithmetic, objective, lists, norm=norm)
        assert_same_pairs(arithmetic, objective, lists)


def test_random_draws_follow_seed_and_iteration(arithmetic: Page) -> None:
    lists = draw_lists(3)
    one = rf.objective("lambdamart-ex random", k=4, seed=2**40 + 1)
    first, other = (compute(arithmetic, one, lists, iteration=i) for i in (2, 3))
    assert first != other
    assert_same(arithmetic, one, lists, norm="none", iteration=2)
    assert_same(arithmetic, one, lists, norm="none", iteration=3)


@pytest.mark.parametrize("norm", NORMS)
def test_forces_of_single_pairs(arithmetic: Page, norm: str) -> None:
    """Those of `pair_forces`, norm included."""
    lists, objective = draw_lists(9), MIXES["mix"]
    found = compute(arithmetic, objective, lists, norm=norm, iteration=ITERATION)
    for query, (rows, got) in enumerate(zip(lists.rows, found, strict=True)):
        n = rows.stop - rows.start
        hi, lo, _, force = pair_forces(
            objective,
            lists.scores,
            lists.for_python(),
            group=lists.sizes,
            query=query,
            norm=norm,
            iteration=ITERATION,
        )
        expected = matrix(n, hi - rows.start, lo - rows.start, force)
        columns = ([pair[name] for pair in got["pairs"]] for name in ("hi", "lo", "force"))
        assert_close(matrix(n, *columns).ravel(), expected.ravel(), "forces of pairs", 1e-9)


GRADES = rf.objective("lambdarank-ndcg", k=3)
CLICKS = rf.objective("lambdarank(cndcg)", source="click", k=5)
MIXES = {
    "mix": 0.7 * GRADES + 0.3 * rf.objective("lambdagap-x+", k=4, mu=0.5),
    "norms of their own": rf.objective("ranknet", norm="std")
    + 2.0 * rf.objective("lambdarank(map)", norm="lightgbm"),
    **{
        f"norm {norm} of the sum": rf.mix([(0.7, GRADES), (2.0, CLICKS)], norm=norm)
        for norm in NORMS
    },
    "a hybrid": rf.mix([(1.0, "lambdarank-p@3"), (3.0, "lambdagap-s@3")], norm="lightgbm"),
    "as Svore et al.": rf.scheduled(
        rf.objective("lambdarank-ndcg", norm="std"),
        rf.objective("lambdarank-ndcg", cost="sigmoid", norm="std"),
        start=0.1,
    ),
    "sigmoid": rf.mix(
        [(0.5, GRADES), (2.0, rf.objective("ranknet", cost="sigmoid"))], norm="lightgbm"
    ),
    "a list": rf.mix([(2.0, "xendcg"), (1.0, GRADES)], norm="std"),
    "graded": rf.graded([GRADES, CLICKS], weights=[0.8, 0.2]),
    "graded with zeros": rf.graded([GRADES, CLICKS], leave_out_zeros=False),
    "clicks alone": CLICKS,
    "binary clicks": rf.objective("lambdarank-p@k", k=3, source="click"),
    "scheduled": rf.scheduled(GRADES, "lambdarank-p@3", schedule="linear", start=0.1, rate=0.05),
    "scheduled, at its end": rf.scheduled("ranknet", GRADES, schedule=lambda m: 1.0),
    "by the name of the labels": rf.objective("lambdarank-ndcg", k=3, source="label"),
}


@pytest.mark.parametrize("name", MIXES)
def test_mixes_tiers_and_schedules(arithmetic: Page, name: str) -> None:
    lists = draw_sources(4)
    for norm in NORMS:
        assert_same(arithmetic, MIXES[name], lists, norm=norm)
    if name != "a list":  # forces of a list come from no pair
        assert_same_pairs(arithmetic, MIXES[name], lists)


@pytest.mark.parametrize("sigma", [1.0, 3.0])
def test_explicit_preferences(arithmetic: Page, sigma: float) -> None:
    lists = draw_sources(5, preferences=True)
    alone = rf.objective("preferences", sigma=sigma)
    normed = rf.mix([(0.5, alone), (1.0, GRADES)], norm="lightgbm")
    for objective in (alone, 0.5 * alone + GRADES, normed):
        for norm in NORMS:
            assert_same(arithmetic, objective, lists, norm=norm)
        assert_same_pairs(arithmetic, objective, lists)


def test_functions_of_a_user_become_tables(arithmetic: Page) -> None:
    """A metric of one's own is a gain for each label and a value for each rank."""
    top = rf.additive(lambda y: float(y > 1), lambda r: 1.0 if r <= 3 else 0.0, cutoff=3)
    steps = rf.additive({0: 0, 1: 1, 2: 5, 3: 5, 4: 9}, lambda r: 1 / r, normalised=True)
    rising = rf.additive(lambda y: y, lambda r: float(r), normalised=True)
    for objective in (top, steps, rising):
        assert_same(arithmetic, objective, draw_lists(6), norm="lightgbm")
        assert_same_pairs(arithmetic, objective, draw_lists(6))


EDGES = {
    "one document": ([0.5], [2.0]),
    "all labels equal": ([0.5, 0.1, 0.3], [1.0, 1.0, 1.0]),
    "nothing relevant": ([0.5, 0.1, 0.3], [0.0, 0.0, 0.0]),
    "all scores equal": ([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]),
    "as many as k": ([0.1, 0.2, 0.3], [2.0, 0.0, 1.0]),
    "fewer than k": ([0.1, 0.2], [1.0, 0.0]),
    "far apart": ([1e6, -1e6, 0.0], [0.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("norm", NORMS)
def test_edges_have_no_nan(arithmetic: Page, norm: str) -> None:
    """Every objective: JSON would turn NaN into null, which is no number."""
    scores, labels = (np.concatenate(parts) for parts in zip(*EDGES.values(), strict=True))
    sizes = [len(scores) for scores, _ in EDGES.values()]
    for entry in rf.objectives():
        y = labels / 4.0 if entry.name in OF_CLICKS else labels
        objective = rf.objective(entry.name, k=3) if entry.has_cutoff else rf.objective(entry.name)
        assert_same(arithmetic, objective, Lists(scores, {None: y}, sizes), norm=norm)


def test_ties_go_by_document(arithmetic: Page) -> None:
    lists = Lists(np.array([1.0, 2.0, 1.0, 2.0]), {None: np.array([0.0, 1, 2, 3])}, [4])
    assert compute(arithmetic, GRADES, lists)[0]["rank"] == [2, 0, 3, 1]


@pytest.mark.parametrize("k", [1, 3, 100])
def test_ndcg_is_that_of_the_metric(arithmetic: Page, k: int) -> None:
    lists = draw_lists(7)
    metric = rf.metric("ndcg", k=k)
    for query, rows in zip(lists.queries(), lists.rows, strict=True):
        got = arithmetic.evaluate(
            "([q, k]) => rankforce.forces.ndcg(q.labels, q.scores, k)", [query, k]
        )
        if not any(query["labels"]):
            assert got is None or np.isnan(got)
            continue
        expected = metric(lists.scores[rows], lists.labels[None][rows])
        assert got == pytest.approx(expected, rel=1e-12)


# LambdaGap-S leaves documents without force: two that have none are no violation.
LOOKED_AT: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("lambdarank-ndcg", "lambdarank-p@k", "lambdagap-s")),
    *(("lambdamart-ex static", {"missed": missed}) for missed in ("deficit", "label")),
]


@pytest.mark.parametrize(("name", "more"), LOOKED_AT)
def test_incoherent_pairs_are_those_of_the_diagnostic(
    arithmetic: Page, name: str, more: dict[str, Any]
) -> None:
    """As many violations as Python counts, at the cutoff."""
    objective, lists = rf.objective(name, k=2, **more), draw_lists(8, spread=0.5, sizes=(12,) * 30)
    written = lists.written([objective])
    counts = incoherence(objective, lists.scores, lists.labels[None], group=lists.sizes).violations
    seen = arithmetic.evaluate(
        """([one, tables, queries]) => queries.map((query) => {
          const { lambda } = rankforce.forces.compute(one, tables, query, query);
          return rankforce.forces.incoherent(one, query, query.scores, lambda, 2).length;
        })""",
        [written["list"][0], written["tables"], lists.queries()],
    )
    assert seen == counts.tolist()
    assert name != "lambdarank-ndcg" or sum(seen) > 0
