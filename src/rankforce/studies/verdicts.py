"""What the papers claim, and what came out: of their tables as made again here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.evaluation.paired import adjust
from rankforce.studies.papers import Printed, printed
from rankforce.studies.papers.claims import Claim, claims, judge

LEVEL = 0.05
ABOUT = 1.5  # times: two durations are about the same
Tables = Mapping[str, Printed]  # by number


class Judged(NamedTuple):
    """A claim, and whether it holds; None where nothing here can tell."""

    claim: Claim
    holds: bool | None
    seen: str

    def __str__(self) -> str:
        said = {True: "holds", False: "does not hold", None: "not checked"}[self.holds]
        return f"{self.claim.place}: {self.claim.says}. **{said.capitalize()}** ({self.seen})."


def judge_all(paper: str, tables: Tables) -> list[Judged]:
    """All claims of a paper but those that pictures judge."""
    found = []
    for claim in claims(paper):
        if claim.table:
            found.append(_of_table(claim, tables))
        elif claim.name in MEASURES:
            try:
                found.append(Judged(claim, *MEASURES[claim.name](tables)))
            except (KeyError, RankforceError):
                found.append(Judged(claim, None, "not all that it needs was run"))
    return found


def _of_table(claim: Claim, tables: Tables) -> Judged:
    """A claim about a table; sets that the paper has not stand for all of its sets."""
    if claim.table not in tables:
        return Judged(claim, None, f"table {claim.table} was not made")
    ours = tables[claim.table]
    theirs = {one.get("data") for one in printed(claim.paper, claim.table).records}
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
    return Judged(claim, verdict.holds, f"{verdict}{_told(own, ours)}")


def _told(claim: Claim, table: Printed) -> str:
    """How sure the differences are that a claim is about."""
    cells = [one for keys in claim.first for one in table.find(**(claim.where | keys))]
    tested = [one for one in cells if "p_value" in one]
    if not tested:
        return ""
    better, worse = (
        sum(one["p_value"] < LEVEL for one in tested if (one["gain"] > 0) is is_gain)
        for is_gain in (True, False)
    )
    least = min(one["p_value"] for one in tested)
    return (
        f"; at p < {LEVEL}: {better} better, {worse} worse than the baseline of {len(tested)}, "
        f"least p {least:.2g}"
    )


def count_tests(table: Printed) -> str:
    """How many cells differ from their baseline, as tested, and corrected for many tests.

    A one-sided test finds what is worse where its p-value is near 1.
    """
    tested = [one for one in table.records if "p_value" in one]
    if not tested:
        return ""
    is_one_sided = "one-sided" in table.test
    p_values = np.array([one["p_value"] for one in tested])
    gains = np.array([one["gain"] for one in tested])
    corrected = adjust(p_values, "holm")
    better, sure = (int(np.sum((found < LEVEL) & (gains > 0))) for found in (p_values, corrected))
    worse = p_values > 1.0 - LEVEL if is_one_sided else (p_values < LEVEL) & (gains < 0)
    return (
        f"{len(tested)} cells were tested against their baseline: at the level {LEVEL} {better} "
        f"are better and {int(worse.sum())} worse, where {LEVEL * len(tested):.0f} of each or fewer "
        f"come by chance; {sure} are better after Holm's correction."
    )


def _never_worse(tables: Tables) -> tuple[bool, str]:
    cells = _extended(tables["5"])
    worse = [one for one in cells if one["gain"] < 0 and one["p_value"] < LEVEL]
    least = min(cells, key=lambda one: float(one["gain"]))
    return not worse, (
        f"{len(worse)} of {len(cells)} tests, the largest loss is {-least['gain']:.2f} points with "
        f"p = {least['p_value']:.2g}"
    )


def _small_cutoffs(tables: Tables) -> tuple[bool, str]:
    cells = _extended(tables["5"])
    cutoffs = sorted({one["k"] for one in cells})
    gains = [float(np.mean([one["gain"] for one in cells if one["k"] == k])) for k in cutoffs]
    if len(cutoffs) < 2:
        raise RankforceError("one cutoff shows no trend")
    seen = ", ".join(f"{gain:+.2f} at {k}" for k, gain in zip(cutoffs, gains, strict=True))
    return gains[0] > gains[-1], f"mean gain in points: {seen}"


def _many_irrelevant(tables: Tables) -> tuple[bool, str]:
    cells = _extended(tables["5"])
    sides = [
        [one["gain"] for one in cells if ("istella" in one["data"]) is is_istella]
        for is_istella in (True, False)
    ]
    if not all(sides):
        raise RankforceError("sets of both kinds are needed")
    first, second = (float(np.mean(side)) for side in sides)
    return first > second, f"mean gain {first:+.2f} points against {second:+.2f}"


def _objective_time(tables: Tables) -> tuple[bool, str]:
    ratios = _ratios(tables["6"], "objective", {"algorithm": "LambdaRank-NDCG", "tau": "k+3"})
    return max(ratios) < ABOUT, f"{min(ratios):.2f} to {max(ratios):.2f} times that of tau = k + 3"


def _tree_time(tables: Tables) -> tuple[bool, str]:
    static = {"algorithm": "LambdaMART-eX static"}
    pairs = [
        (one["value"], tables["6"].value(part="tree", data=one["data"], **static))
        for one in tables["6"].find(part="tree", algorithm="LambdaRank-NDCG", tau="inf")
        if "istella-x" in one["data"]
    ]
    if not pairs:
        raise RankforceError("it is about long lists")
    ratios = [full / static for full, static in pairs]
    return min(ratios) >= 4.0, f"{min(ratios):.2f} times"


def _tuned(tables: Tables) -> tuple[bool, str]:
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


MEASURES: dict[str, Callable[[Tables], tuple[bool, str]]] = {
    "000-never-worse": _never_worse,
    "000-many-irrelevant": _many_irrelevant,
    "000-small-k": _small_cutoffs,
    "000-time-ex": _objective_time,
    "000-time-tree": _tree_time,
    "001-tuned": _tuned,
}
