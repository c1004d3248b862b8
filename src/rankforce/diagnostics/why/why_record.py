"""What is known about why one document stands above another."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankforce.common.types import plain
from rankforce.diagnostics.why.ranked_list import Standing


class Gap(NamedTuple):
    """What one feature does for either document."""

    feature: str
    first: Any  # its value; None where it is missing
    second: Any
    of_first: float  # what it adds to the score
    of_second: float

    @property
    def difference(self) -> float:
        """How much it lifts the first above the second.

        >>> Gap("bm25", 5.1, 3.2, 0.5, 0.25).difference
        0.25
        """
        return self.of_first - self.of_second


class Why(NamedTuple):
    """Why one document stands above another. Made by :func:`rankforce.why`."""

    query: Any  # its id
    first: Standing
    second: Standing
    features: list[Gap]  # all of them, the largest difference first
    rest: float  # what a base model and scores to start from lift the first above the second

    @property
    def difference(self) -> float:
        """By how much the first scores above the second: the sum over features, and the rest."""
        return self.first.score - self.second.score

    def table(self, width: int = 80, *, top: int = 20, encoding: str | None = None) -> str:
        """The features that matter most as bars: to the right those that lift the first document.

        Bars are drawn with what `encoding` has (None: that of standard output).

        >>> first, second = Standing(1, 4, "d3", 1.5), Standing(2, 7, "d9", 1.25)
        >>> gaps = [Gap("bm25", 5.1, 3.2, 0.5, 0.1), Gap("age", None, 7.0, -0.1, 0.05)]
        >>> print(Why("q7", first, second, gaps, 0.0).table(64, encoding="ascii"))
        query q7: d3 (rank 1, score 1.500) stands 0.2500 above d9 (rank
           2, score 1.250)
        <BLANKLINE>
        feature        d3   d9  difference             d9|d3
        bm25          5.1  3.2     +0.4000               |============>
        age       missing    7     -0.1500          <====|
        together                   +0.2500               |=======>
        """
        from rankforce.diagnostics.why.show_why import show_why

        return show_why(self, width=width, top=top, encoding=encoding)

    def record(self) -> dict[str, Any]:
        """The same for programs: JSON can hold it."""
        return {
            "query": plain(self.query),
            "first": self.first._asdict(),
            "second": self.second._asdict(),
            "difference": self.difference,
            "features": [
                one._asdict()
                | {"first": plain(one.first), "second": plain(one.second)}
                | {"difference": one.difference}
                for one in self.features
            ],
            "rest": self.rest,
        }
