"""What the papers claim, one by one, and whether a table of figures bears it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.studies.papers import Printed, load

FACTS = ("value", "mark", "is_certain", "spelling", "p_value", "gain")  # the rest are keys


class Claim(NamedTuple):
    """A claim of a paper: about cells of its table, or about a `measure` of a picture."""

    name: str  # "PAPER-WORDS"
    place: str
    says: str
    table: str = ""
    first: tuple[dict[str, Any], ...] = ()
    second: tuple[dict[str, Any], ...] = ()  # empty: every other algorithm of the table
    where: dict[str, Any] = {}  # noqa: RUF012
    unless: tuple[dict[str, Any], ...] = ()
    in_turn: bool = False  # the first of `first` with the first of `second`, and so on
    direction: str = "higher"
    share: float = 1.0  # of the comparisons, at least
    marked: bool = False
    measure: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def paper(self) -> str:
        """The number of the paper.

        >>> claims("002")[0].paper
        '002'
        """
        return self.name.split("-")[0]


class Verdict(NamedTuple):
    """How many comparisons came out as a claim says."""

    held: int
    asked: int
    holds: bool

    def __str__(self) -> str:
        return f"{self.held} of {self.asked} comparisons: {'holds' if self.holds else 'fails'}"


def claims(paper: str | None = None) -> list[Claim]:
    """The claims of a paper, or of all.

    >>> for one in claims("002")[:2]:
    ...     print(one.name, "|", one.place, "|", one.says)
    002-figure-1 | Figure 1, section 4 | swapping two documents of one grade leaves NDCG@3 ...
    002-figure-2-all | Figure 2, section 4.2 | over all pairs of different click rates ...
    """
    found = [Claim(name, **facts) for name, facts in load("claims.toml").items()]
    return [one for one in found if paper in (None, one.paper)]


def judge(claim: Claim, table: Printed) -> Verdict:
    """Whether a table, the paper's or one of ours in its form, bears out a claim about it.

    >>> from rankforce.studies.papers import printed
    >>> claim = next(one for one in claims("001") if one.name == "001-arpbk")
    >>> print(judge(claim, printed("001", "4")))
    8 of 8 comparisons: holds
    """
    if not claim.table:
        raise RankforceError(f"{claim.name} is about {claim.measure}, and about no table")
    turns = (
        [[keys] for keys in claim.second] if claim.in_turn else [claim.second] * len(claim.first)
    )
    found = [
        _is_better(one, other["value"], claim)
        for keys, second in zip(claim.first, turns, strict=True)
        for one in _cells(keys, claim, table)
        for other in _others(one, second, table)
    ]
    if not found:
        raise RankforceError(f"{claim.name}: {table.source} has no cell to compare")
    return Verdict(sum(found), len(found), sum(found) >= claim.share * len(found))


def _is_better(one: dict[str, Any], other: float, claim: Claim) -> bool:
    value = one["value"]
    is_so = value > other if claim.direction == "higher" else value < other
    return is_so and (bool(one["mark"]) or not claim.marked)


def _cells(keys: dict[str, Any], claim: Claim, table: Printed) -> list[dict[str, Any]]:
    """The cells of a first one that a claim is about."""
    return [
        one
        for one in table.find(**(claim.where | keys))
        if not any(all(one[key] == no[key] for key in no) for no in claim.unless)
    ]


def _others(
    one: dict[str, Any], second: Sequence[dict[str, Any]], table: Printed
) -> list[dict[str, Any]]:
    """The cells to compare a cell with: those of the same place."""
    own = {key: value for key, value in one.items() if key not in FACTS}
    if second:
        return [other for keys in second for other in table.find(**(own | keys))]
    place = {key: own[key] for key in own if key not in ("algorithm", "tau")}
    return [
        other
        for other in table.find(**place)
        if other["algorithm"] not in table.others
        and any(other[key] != value for key, value in own.items())
    ]
