"""The pictures of Marcuzzi et al. 2023: incoherent forces, and Lambda-eX against them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import rankforce as rf
from rankforce.diagnostics import incoherence
from rankforce.show.plots.lists import draw_bars
from rankforce.show.plots.style import panels, share_legend, style
from rankforce.studies.figure import Drawn, Finding, figure, percent
from rankforce.studies.sets import VALIDATION
from rankforce.studies.study import K, Study, Trial, Want

PAPER = "Marcuzzi et al. 2023, Figure"
SHAPES = ("istella-s", "mslr")  # of synthetic data; Istella-S stands in for Istella-X
EX = ("static", "random", "all")
STRATEGIES = (*EX, "all-static", "all-random")
# A synthetic query for NDCG@2: the best document is second, and those of grade 2 are missed.
EXAMPLE = [1, 3, 0, 2, 1, 2, 0, 2, 0]


def objectives() -> dict[str, Any]:
    """LambdaMART at three truncation levels, and Lambda-eX."""
    truncated = {"τ = k": K, "τ = k + 3": K + 3, "τ = ∞": math.inf}
    made = {name: rf.objective("lambdarank-ndcg", k=K, tau=tau) for name, tau in truncated.items()}
    return made | {f"eX {name}": rf.objective(f"lambdamart-ex {name}", k=K) for name in EX}


def wants(study: Study) -> list[Want]:
    """All of them on each data set."""
    runs = [
        Trial(one, found.name) for found in study.pick(*SHAPES) for one in objectives().values()
    ]
    return [Want(run, ("incoherence",)) for run in runs]


def first_wants(study: Study) -> list[Want]:
    """All of them on the first data set."""
    return [Want(Trial(one, study.pick(*SHAPES)[0].name)) for one in objectives().values()]


def ramp(n: int) -> list[float]:
    """Scores of n documents, best first, 0.01 apart as in the paper."""
    return [0.01 * (n - rank) for rank in range(1, n + 1)]


def examples() -> dict[str, list[int]]:
    """The four lists; in (c) as few documents lie between the relevant two as it takes."""
    between = next(n for n in range(4, 100) if is_incoherent([1, *[0] * n, 2]))
    return {
        "(a)": [1, 2, 0, 0, 0],
        "(b)": [1, 0, 0, 0, 2],
        "(c)": [1, *[0] * between, 2],
        "(d)": [1, 2, 0, 0, 1],
    }


def is_incoherent(labels: list[int]) -> bool:
    """Whether the forces of LambdaRank, truncated at 1, are so."""
    objective = rf.objective("lambdarank-ndcg", k=1)
    return incoherence(objective, ramp(len(labels)), labels).share > 0.0


@figure("marcuzzi-1", f"{PAPER} 1")
def draw_examples(study: Study) -> Drawn:
    """Forces of LambdaRank, truncated at 1, on four lists: numbers in bars are grades, arrows
    forces; incoherent where the best document gets less push than a worse one above it.
    """
    lists = examples()
    longest = max(map(len, lists.values()))
    with style():
        axes = panels(1, len(lists), (7.0, 0.75 + 0.24 * longest))
        for one, (name, labels) in zip(axes, lists.items(), strict=True):
            objective = {"forces, τ = 1": rf.objective("lambdarank-ndcg", k=1)}
            rf.plots.forces(ramp(len(labels)), labels, objective, k=1, ax=one)
            one.set_ylim(longest + 0.6, 0.0)
            one.text(0.0, 0.3, name)
            if one is not axes[0]:
                one.set_ylabel("")
    found = [name for name, labels in lists.items() if is_incoherent(labels)]
    claim = "(a) and (c) are incoherent, (b) and (d) are not"
    seen = f"{' and '.join(found) or 'none'} incoherent, (c) from {len(lists['(c)'])} documents on"
    return Drawn(axes[0], [Finding(claim, seen, found == ["(a)", "(c)"])])


def full_set(objective: Any, labels: list[int]) -> set[int]:
    """Rows that the objective pairs with every document of another label: the set X."""
    scores = ramp(len(labels))
    pairs = objective.pairs(scores, labels)
    counts = np.bincount(np.concatenate([pairs.hi, pairs.lo]), minlength=len(labels))
    grades = np.asarray(labels)
    others = np.array([np.count_nonzero(grades != grade) for grade in labels])
    return set(np.flatnonzero(counts == others).tolist())


@figure("marcuzzi-2", f"{PAPER} 2")
def draw_strategies(study: Study) -> Drawn:
    """Documents that each strategy compares with all others at k = 2, found from the pairs: the top
    2 (framed), and the missed ones that it adds (orange, hatched).
    """
    sets = {"τ = k": full_set(rf.objective("lambdarank-ndcg", k=2), EXAMPLE)}
    for name in STRATEGIES:
        sets[name] = full_set(rf.objective(f"lambdamart-ex {name}", k=2), EXAMPLE)
    top = sets["τ = k"]
    with style():
        axes = panels(1, len(sets) + 1, (7.0, 2.3), share_y=True)
        draw_bars(axes[0], sorted(EXAMPLE, reverse=True), title="ideal")
        for one, (name, rows) in zip(axes[1:], sets.items(), strict=True):
            draw_bars(one, EXAMPLE, title=name, chosen=top, added=rows - top)
        for one in axes:
            one.axhline(2.5, color="0.4", linewidth=0.7, linestyle=(0, (4, 2)))
        axes[0].set_ylabel("rank")
        key = "framed: compared with every document; hatched: added to the top $k$ = 2"
        axes[0].figure.supxlabel(key, fontsize=7.0)
    missed = {row for row, grade in enumerate(EXAMPLE) if grade == 2 and row >= 2}
    added = {name: rows - top for name, rows in sets.items()}
    is_so = (
        added["static"] == {min(missed)}
        and len(added["random"]) == 1
        and added["random"] <= missed
        and added["all"] == missed
    )
    claim = (
        "static adds the best-ranked missed document for each false one, random any, all every one"
    )
    seen = ", ".join(
        f"{name} adds ranks {' '.join(str(row + 1) for row in sorted(rows))}"
        for name, rows in added.items()
        if name in EX
    )
    return Drawn(axes[0], [Finding(claim, seen, is_so)])


@figure("marcuzzi-3", f"{PAPER} 3", wants)
def draw_incoherence(study: Study) -> Drawn:
    """Share of queries in which a false top-{K} document gets more push than a missed one; in the
    paper Istella-X and MSLR-WEB30K.
    """
    findings = []
    sets = study.pick(*SHAPES)
    with style():
        axes = panels(1, len(sets), (3.5 * len(sets), 2.9))
        for one, found in zip(axes, sets, strict=True):
            curves = {
                name: study.train(Trial(objective, found.name)).curves
                for name, objective in objectives().items()
            }
            rf.plots.incoherence(curves, ax=one)
            one.set_xlabel(f"trees ({found.title})")
            findings += _judge(curves, found.title)
            findings += _judge_shares(curves, found.title) if "istella-x" in found.name else []
        for one in axes[1:]:
            one.set_ylabel("")
        share_legend(axes)
    return Drawn(axes[0], findings)


def _judge(curves: dict[str, Any], data: str) -> list[Finding]:
    """By the mean over all trees: single trees go up and down."""
    means = {
        name: float(np.mean(one.series["incoherence"]["restricted"]))
        for name, one in curves.items()
    }
    last = {name: one.last["incoherence"]["restricted"] for name, one in curves.items()}
    usual, wider, full, *extended = means.values()
    seen = ", ".join(f"{name} {percent(share)}" for name, share in means.items())
    return [
        Finding(
            f"truncated at k has the most incoherent queries, k + 3 fewer ({data})",
            f"mean over the trees {seen}",
            usual == max(means.values()) and wider < usual,
        ),
        Finding(
            f"all of Lambda-eX have about as few as without truncation ({data})",
            f"mean over the trees {percent(min(extended))} to {percent(max(extended))} against "
            f"{percent(full)}; after the last one "
            + ", ".join(f"{name} {percent(share)}" for name, share in last.items()),
            max(extended) - full < (wider - full) / 2,
        ),
    ]


def _judge_shares(curves: dict[str, Any], data: str) -> list[Finding]:
    """The numbers that the paper names for Istella-X."""
    wanted = [("τ = k", 10, 0.10), ("τ = k", 100, 0.04), ("τ = ∞", 10, 0.02)]
    found = []
    for name, trees, share in wanted:
        series = curves[name].series["incoherence"]["restricted"]
        place = int(np.argmin(np.abs(np.subtract(curves[name].trees, trees))))
        at, seen = curves[name].trees[place], series[place]
        found.append(
            Finding(
                f"about {percent(share)} of the queries are incoherent after {trees} trees of "
                f"{name} ({data})",
                f"{percent(seen)} after {at} trees",
                share / 2 <= seen <= share * 2,
            )
        )
    return found


@figure("marcuzzi-4", f"{PAPER} 4", first_wants)
def draw_performance(study: Study) -> Drawn:
    """NDCG@{K} on the validation queries after each tree; in the paper of Istella-X."""
    data = study.pick(*SHAPES)[0]
    runs = {name: Trial(one, data.name) for name, one in objectives().items()}
    with style():
        histories = {name: study.train(run).history for name, run in runs.items()}
        axes = rf.plots.metric_curves(histories, metric=f"ndcg@{K}", data=VALIDATION)
        axes.set_ylabel(f"NDCG@{K}, validation")
    values = {name: study.history(run, VALIDATION, f"ndcg@{K}") for name, run in runs.items()}
    claims = (("τ = k + 3", 0.3), ("τ = k", 0.25))
    return Drawn(axes, [_overtakes(values, base, share, data.title) for base, share in claims])


def _overtakes(values: dict[str, list[float]], base: str, share: float, data: str) -> Finding:
    """Whether few trees of Lambda-eX random do as well as all trees of another."""
    trees, goal = len(values[base]), values[base][-1]
    needed = next((n for n, one in enumerate(values["eX random"], 1) if one >= goal), None)
    seen = "never" if needed is None else f"{needed} of {trees} trees do"
    return Finding(
        f"{100 * share:.0f} % of the trees of Lambda-eX random do as well as all of {base}",
        f"NDCG@{K} {goal:.4f}: {seen} ({data})",
        needed is not None and needed <= share * trees,
    )
