"""What the papers claim, and what came out: of their tables as made again here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.evaluation.paired import adjust
from rankforce.studies.papers import Printed, printed
from rankforce.studies.papers.claims import Claim, claims, judge

LEVEL = 0.05
ABOUT = 1.5  # times: two durations are about the same
Tables = Mapping[str, Printed]  # by number
Verdict = tuple[bool | None, str]


class Judged(NamedTuple):
    """A claim, and whether it holds; None where nothing here can tell."""

    claim: Claim
    holds: bool | None
    seen: str

    def __str__(self) -> str:
        said = {True: "holds", False: "does not hold", None: "not checked"}[self.holds]
        return f"{self.claim.place}: {self.claim.says}. **{said.capitalize()}** ({self.seen})."


def judge_all(paper: str, tables: Tables) -> list[Judged]:
    """The claims of a paper about these tables."""
    found = []
    for claim in claims(paper):
        if claim.table:
            found += [_of_table(claim, tables)] if claim.table in tables else []
        elif claim.name in MEASURES:
            needed, measure = MEASURES[claim.name]
            if {*needed} <= {*tables}:
                found.append(Judged(claim, *measure(tables)))
    return found


def _of_table(claim: Claim, tables: Tables) -> Judged:
    """A claim about a table; sets that the paper has not stand for all of its sets."""
    ours = tables[claim.table]
    theirs = dict.fromkeys(one.get("data") for one in printed(claim.paper, claim.table).records)
    wanted = claim.where.get("data", [*theirs])
    named = wanted if isinstance(wanted, list) else [wanted]
    mine = dict.fromkeys(one["data"] for one in ours.records)
    sets = [name for name in mine if name in named or name not in theirs]
    if not sets:
        return Judged(claim, None, f"it is about {', '.join(map(str, named))}")
    own = claim._replace(where=claim.where | {"data": sets})
    try:
        verdict = judge(own, ours)
    except RankforceError:
        return Judged(claim, None, "its cells were not made")
    seen = f"{verdict.held} of {verdict.asked} comparisons{_told(own, ours)}"
    if "data" in claim.where and not {*sets} <= {*named}:
        seen += f"; the paper says it of {', '.join(map(str, named))}"
    return Judged(claim, verdict.holds, seen)


def _told(claim: Claim, table: Printed) -> str:
    """How sure the differences are that a claim is about."""
    cells = [one for keys in claim.first for one in table.find(**(claim.where | keys))]
    tested = [one for one in cells if "p_value" in one]
    if not tested:
        return ""
    better, worse = _count(tested, table)
    least = min(one["p_value"] for one in tested)
    return (
        f"; of {len(tested)} tests at p < {LEVEL} {better} better and {worse} worse than the "
        f"baseline, least p {least:.2g}"
    )


def _count(tested: Sequence[Mapping[str, Any]], table: Printed) -> tuple[int, int]:
    """How many are better than their baseline, and worse, at the level.

    A one-sided test finds what is worse where its p-value is near 1.
    """
    p_values, gains = (np.array([one[key] for one in tested]) for key in ("p_value", "gain"))
    of_worse = 1.0 - p_values if "one-sided" in table.test else p_values
    better, worse = (p_values < LEVEL) & (gains > 0), (of_worse < LEVEL) & (gains < 0)
    return int(better.sum()), int(worse.sum())


def count_tests(table: Printed) -> str:
    """How many cells differ from their baseline, as tested, and corrected for many tests."""
    tested = [one for one in table.records if "p_value" in one]
    if not tested:
        return ""
    better, worse = _count(tested, table)
    corrected = adjust([one["p_value"] for one in tested], "holm")
    sure = sum(
        p_value < LEVEL and one["gain"] > 0 for p_value, one in zip(corrected, tested, strict=True)
    )
    return (
        f"{len(tested)} cells were tested against their baseline. At the level {LEVEL}, {better} "
        f"are better and {worse} worse; by chance {LEVEL * len(tested):.0f} would be. After Holm's "
        f"correction {sure} are better."
    )


def _never_worse(tables: Tables) -> Verdict:
    cells = _extended(tables["5"])
    worse = [one for one in cells if one["gain"] < 0 and one["p_value"] < LEVEL]
    least = min(cells, key=lambda one: float(one["gain"]))
    return not worse, (
        f"{len(worse)} of {len(cells)} tests, the largest loss is {-least['gain']:.2f} points with "
        f"p = {least['p_value']:.2g}"
    )


def _small_cutoffs(tables: Tables) -> Verdict:
    cells = _extended(tables["5"])
    cutoffs = sorted({one["k"] for one in cells})
    gains = [float(np.mean([one["gain"] for one in cells if one["k"] == k])) for k in cutoffs]
    if len(cutoffs) < 2:
        return None, "one cutoff shows no trend"
    seen = ", ".join(f"{gain:+.2f} at {k}" for k, gain in zip(cutoffs, gains, strict=True))
    return gains == sorted(gains, reverse=True), f"mean gain in points: {seen}"


def _many_irrelevant(tables: Tables) -> Verdict:
    cells = _extended(tables["5"])
    sides = [
        [one["gain"] for one in cells if ("istella" in one["data"]) is is_istella]
        for is_istella in (True, False)
    ]
    if not all(sides):
        return None, "it takes sets of both kinds"
    first, second = (float(np.mean(side)) for side in sides)
    return first > second, f"mean gain {first:+.2f} points against {second:+.2f}"


def _objective_time(tables: Tables) -> Verdict:
    ratios = _ratios(tables["6"], "objective", {"algorithm": "LambdaRank-NDCG", "tau": "k+3"})
    return max(ratios) < ABOUT, f"{min(ratios):.2f} to {max(ratios):.2f} times that of tau = k + 3"


def _tree_time(tables: Tables) -> Verdict:
    static = {"algorithm": "LambdaMART-eX static"}
    pairs = [
        (one["value"], tables["6"].value(part="tree", data=one["data"], **static))
        for one in tables["6"].find(part="tree", algorithm="LambdaRank-NDCG", tau="inf")
        if "istella-x" in one["data"]
    ]
    if not pairs:
        return None, "it is about Istella-X"
    ratios = [full / static for full, static in pairs]
    return min(ratios) >= 4.0, f"{min(ratios):.2f} times"


def _tuned(tables: Tables) -> Verdict:
    gains = [
        one["value"] - tables["4"].value(data=one["data"], k=one["k"], algorithm=one["algorithm"])
        for one in tables["8"].find(algorithm="LambdaRank-P@k")
    ]
    return min(gains) > 0.0, f"{min(gains):+.2f} to {max(gains):+.2f} points"


def _extended(table: Printed) -> list[dict[str, Any]]:
    """The cells of Lambda-eX."""
    return [one for one in table.records if "-eX" in one["algorithm"]]


def _ratios(table: Printed, part: str, base: Mapping[str, Any]) -> list[float]:
    return [
        one["value"] / table.value(part=part, data=one["data"], **base)
        for one in _extended(table)
        if one["part"] == part
    ]


# Claims that no comparison of cells tells: the tables they need, and what judges them.
MEASURES: dict[str, tuple[tuple[str, ...], Callable[[Tables], Verdict]]] = {
    "000-never-worse": (("5",), _never_worse),
    "000-many-irrelevant": (("5",), _many_irrelevant),
    "000-small-k": (("5",), _small_cutoffs),
    "000-time-ex": (("6",), _objective_time),
    "000-time-tree": (("6",), _tree_time),
    "001-tuned": (("4", "8"), _tuned),
}
