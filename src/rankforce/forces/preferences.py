"""The objective of explicit pairs (Tunys 2015): each is pushed apart, as RankNet does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankforce.common.errors import RankforceError
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import AnyObjective

if TYPE_CHECKING:
    from rankforce.forces.prepared import PreparedPreferences

NAME = "Preferences"
ALIASES = ("preferences", "preference", "rankmart(preferences)")


class PreferenceObjective(AnyObjective):
    """Pairs of rows that the data brings: `RankingData(preferences=...)`.

    The cost of a pair is weight * log(1 + exp(-sigma (s_hi - s_lo))). A pair may occur several
    times and both ways round. Made by `rf.objective("preferences")`.
    """

    def __init__(self, *, sigma: float = 1.0, norm: str | None = None) -> None:
        self.name = NAME
        self.sigma = sigma
        self.norm = norm
        self.source: str | None = None
        self.seed = 0
        self.about = {
            "formula": "the weight of the pair, 1 if it has none",
            "source": "Tunys 2015",
            "cost": "O(pairs)",
        }

    @property
    def arguments(self) -> dict[str, Any]:
        """What the objective was made from, apart from its name."""
        given = {"sigma": self.sigma, "norm": self.norm}
        usual = {"sigma": 1.0, "norm": None}
        return {key: value for key, value in given.items() if value != usual[key]}

    def table(self) -> dict[str, Any]:
        """The objective as a small table, which `rf.objective` makes it from again."""
        return {"name": NAME} | self.arguments

    def described(self) -> dict[str, Any]:
        """The table: there is no function in it."""
        return self.table()

    def bind(self, labels: Any, index: QueryIndex) -> PreparedPreferences:
        """Sort the pairs of `labels` (a `RankingData`, or a dictionary) by query."""
        from rankforce.forces.prepared import PreparedPreferences
        from rankforce.forces.sources import PREFERENCES

        found = labels.get(PREFERENCES) if isinstance(labels, Mapping) else None
        if hasattr(labels, "preferences"):
            found = labels.preferences
        if found is None:
            raise RankforceError(
                f"{NAME} needs explicit pairs: give a RankingData with preferences=, or labels "
                "{'preferences': (hi, lo, weight), ...}"
            )
        return PreparedPreferences(self, found, index)

    def __repr__(self) -> str:
        rest = "".join(f", {key}={value!r}" for key, value in self.arguments.items())
        return f"rf.objective({NAME!r}{rest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreferenceObjective) and self.arguments == other.arguments

    def __hash__(self) -> int:
        return hash((NAME, self.sigma, self.norm))
