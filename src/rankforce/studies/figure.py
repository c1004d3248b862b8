"""What a picture of a paper is: how it is drawn, what it needs, and what it was found to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import rankforce as rf
from rankforce.studies.study import TOP, K, Study, Want


class Finding(NamedTuple):
    """A claim, and what came out here.

    >>> print(Finding("water is wet", "it is", True))
    The paper: water is wet. Here: it is: as in the paper.
    """

    claim: str
    seen: str
    holds: bool
    is_of_paper: bool = True  # else it is what one would expect of a picture without words

    def __str__(self) -> str:
        who, end = ("The paper", "in the paper") if self.is_of_paper else ("Expected", "expected")
        return f"{who}: {self.claim}. Here: {self.seen}: {'' if self.holds else 'not '}as {end}."


class Drawn(NamedTuple):
    """A picture: any axes of its figure, and the findings."""

    axes: Any
    findings: Sequence[Finding]


class Figure(NamedTuple):
    """One entry of the table of pictures."""

    name: str  # of the file, without its ending
    source: str
    caption: str
    draw: Callable[[Study], Drawn]
    wants: Callable[[Study], Sequence[Want]]
    needs: str = ""  # a source of labels


FIGURES: dict[str, list[Figure]] = {}  # by the module that draws them


def figure(
    name: str,
    source: str,
    wants: Callable[[Study], Sequence[Want]] = lambda study: (),
    needs: str = "",
) -> Callable[[Callable[[Study], Drawn]], Callable[[Study], Drawn]]:
    """Put a function into the table of pictures; its first words are the caption."""

    def add(draw: Callable[[Study], Drawn]) -> Callable[[Study], Drawn]:
        caption = " ".join((draw.__doc__ or "").split()).format(K=K, TOP=TOP)
        made = Figure(name, source, caption, draw, wants, needs)
        FIGURES.setdefault(draw.__module__, []).append(made)
        return draw

    return add


def value_of(metric: str, scores: Any, labels: Any) -> float:
    """A metric of a single list."""
    return float(rf.metric(metric)(scores, labels)[0])


def percent(share: float) -> str:
    """A share for a sentence.

    >>> percent(0.234), percent(0.0123)
    ('23 %', '1.2 %')
    """
    return f"{100.0 * share:.0f} %" if share >= 0.0995 else f"{100.0 * share:.1f} %"
