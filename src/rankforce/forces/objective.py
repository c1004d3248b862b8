"""The public face of an objective, by name, of one's own or of explicit pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import AnyObjective, Pairs
from rankforce.forces.description import Cost, Description
from rankforce.measures.definition import Definition, RankTable
from rankforce.measures.labels import PREFERENCES, label_column
from rankforce.measures.metric import Metric

if TYPE_CHECKING:
    from rankforce.forces.prepared import Prepared, PreparedList, PreparedPreferences
    from rankforce.forces.ready import Ready

__all__ = ["Objective", "Pairs"]

NAME = "Preferences"
ALIASES = ("preferences", "preference", "rankmart(preferences)")


class OneObjective(AnyObjective):
    """An objective that is no mix. Two are equal if they were made alike.

    `source` names the labels that it reads (None: the first), `norm` is its own instead of the
    caller's.
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int,
        recipe: tuple[Callable[..., AnyObjective], dict[str, Any]],
        about: dict[str, str],
        aim: tuple[str, dict[str, Any]] = AnyObjective.aim,
        source: str | None = None,
        norm: str | None = None,
    ) -> None:
        self.name = name
        self.seed = seed
        self.about = about
        self.aim = aim
        self.source = source
        self.norm = norm
        self._recipe = recipe

    @property
    def arguments(self) -> dict[str, Any]:
        """What the objective was made from, apart from its name."""
        return {key: value for key, value in self._recipe[1].items() if key != "name"}

    def table(self) -> dict[str, Any]:
        """The objective as a small table, which `rf.objective` makes it from again.

        >>> import rankforce as rf
        >>> rf.objective("lambdagap x+", k=5).table()
        {'name': 'LambdaGap-X+', 'k': 5}
        """
        make, arguments = self._recipe
        if make.__name__ != "objective" or any(map(callable, arguments.values())):
            raise RankforceError(
                f"{self.name} is made from functions: it cannot be written as a table"
            )
        return self.described()

    def described(self) -> dict[str, Any]:
        """The table, with functions as they are where a table has none."""
        make, arguments = self._recipe
        return dict(arguments) if make.__name__ == "objective" else {make.__name__: arguments}

    def without_norm(self) -> AnyObjective:
        """The same, with the caller's norm."""
        make, arguments = self._recipe
        return make(**{key: value for key, value in arguments.items() if key != "norm"})

    def __repr__(self) -> str:
        make, arguments = self._recipe
        first, *rest = arguments.items()
        shown = [repr(first[1])]
        for key, value in rest:
            shown.append(f"{key}=float('inf')" if value == math.inf else f"{key}={value!r}")
        return f"rf.{make.__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneObjective) and self._recipe == other._recipe

    def __hash__(self) -> int:
        return hash((self.name, self.seed))

    def __reduce__(self) -> tuple[Any, ...]:
        make, arguments = self._recipe
        return _remake, (make, arguments)


class Objective(OneObjective):
    """Which pairs of documents push each other, and how hard.

    Made by :func:`rankforce.objective`.
    """

    def __init__(self, name: str, description: Description, cost: Cost, **rest: Any) -> None:
        super().__init__(name, **rest)
        self.description = description
        self.cost = cost

    def bind(
        self, labels: Any, index: QueryIndex, *, team: Team = ALONE
    ) -> Prepared | PreparedList:
        """Do once per data set what labels alone decide, for queries that are indexed already."""
        return self.bind_tier(labels, index, above=(), leave_out_zeros=False, team=team)

    def bind_tier(
        self,
        labels: Any,
        index: QueryIndex,
        *,
        above: Sequence[str | None],
        leave_out_zeros: bool,
        team: Team = ALONE,
    ) -> Prepared | PreparedList:
        """The same, for pairs only that no source `above` tells apart."""
        # The kernels, and with them Numba, are imported on first use only.
        from rankforce.forces.prepare import tiers_of
        from rankforce.forces.prepared import Prepared, PreparedList, PreparedPoints

        sources, rows = (self.source, *above), int(index.pointer[-1])
        column, *others = (label_column(labels, source, self.name, rows) for source in sources)
        tier = tiers_of(column, others, leave_out_zeros=leave_out_zeros)
        is_tiered = any(team.gather(tier is not None))
        if is_tiered and tier is None:
            tier = np.zeros(rows, np.int64)
        if tier is not None:
            self._check_tier()
        if self.description.listwise is not None:
            is_list = self.description.listwise == "xendcg"
            return (PreparedList if is_list else PreparedPoints)(self, column, index, team)
        return Prepared(self, column, index=index, tier=tier, team=team)

    def _equal_costs(self, ready: Ready, scores: ArrayLike, threads: int) -> Floats:
        """What pairs of equal labels cost, where every pair weighs the same."""
        from rankforce.forces.prepared import Prepared

        is_plain = self.description.weighs_alike and self.cost.name == "logistic"
        if not isinstance(ready, Prepared) or not is_plain:
            return super()._equal_costs(ready, scores, threads)
        return ready.equal_costs(scores, threads=threads)

    def _check_tier(self) -> None:
        """Some forces depend on the labels of documents that are not in the pair."""
        if self.description.needs_whole_list:
            raise RankforceError(
                f"{self.name} needs the labels of all documents: it can neither be a lower tier "
                "nor read labels that are missing for some rows"
            )

    def rank_weights(self, n: int) -> Floats:
        """What the weight makes of ranks: entry (i, j) for the documents at ranks i+1 and j+1.

        The label term and the ideal value are left out; pairs outside the pair set are 0. An
        extended set depends on labels: what it adds to the top k is left out.

        >>> import rankforce as rf
        >>> rf.objective("lambdagap-s", k=2).rank_weights(3).tolist()
        [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
        """
        what = self.description
        if any(one is not None for one in (what.swaps, what.user, what.listwise)):
            raise RankforceError(f"the weight of {self.name} is no function of the two ranks alone")
        ranks = np.arange(1.0, n + 1.0)
        upper = np.minimum.outer(ranks, ranks)
        lower = np.maximum.outer(ranks, ranks)
        weights = np.full((n, n), what.constant)
        if what.position is not None:
            below = 0.0 if what.position_of_hi_only else what.position(lower)
            weights += np.abs(what.position(upper) - below)
        if what.distance is not None:
            far = what.distance(np.maximum(lower - upper, 1.0))
            weights += far if what.correction is None else far * what.correction(lower)
        weights[upper > what.pair_set.cutoff] = 0.0
        np.fill_diagonal(weights, 0.0)
        return weights

    def candidate_pairs(self, n: int) -> int:
        """Number of rank pairs that can have a weight, whatever the labels (2025, section 5.5).

        >>> import rankforce as rf
        >>> rf.objective("lambdarank-p@k", k=3).candidate_pairs(10)
        21
        """
        return int(np.count_nonzero(self.rank_weights(n)) // 2)


class Additive(Objective):
    """LambdaRank for a metric of one's own, a sum of gain * value of the rank: both in one.

    Made by :func:`rankforce.additive`; `rf.metric` makes the metric of it.
    """

    def as_metric(self, name: str | None, given: dict[str, Any]) -> Metric:
        """The metric of one's own."""
        from rankforce.measures.make import check_no_relevant, check_title, metric

        for key in given:
            if key != "no_relevant":
                message = f"{self.name!r} has no parameter {key!r}: give it to rf.additive"
                raise RankforceError(message)
        kept = {key: check_no_relevant(value) for key, value in given.items()}
        what = self.description
        assert what.position is not None
        cutoff = what.flat_beyond
        is_over = cutoff < math.inf and not what.position(np.array([cutoff + 1.0])).any()
        definition = Definition(
            "sum",
            what.gain,
            position=_falling(what.position, self.name),
            end=cutoff if is_over else math.inf,
            ideal="none" if what.ideal == "none" else "best",
            is_share=what.ideal != "none",
        )
        return Metric(
            check_title(self.name if name is None else name),
            definition,
            k=None if cutoff == math.inf else int(cutoff),
            no_relevant=kept.get("no_relevant"),
            source=self.source,
            higher_is_better=True,
            recipe=(metric, self, ({} if name is None else {"name": name}) | kept),
            about={"formula": "sum of gain(label) * value(rank)", "source": "the user"},
        )


def _falling(position: RankTable, name: str) -> RankTable:
    """The same values of ranks; where one rises, a list by labels would not be the ideal one."""

    def values(ranks: Floats) -> Floats:
        found = position(ranks)
        rises = np.flatnonzero(np.diff(found) > 0.0)
        if rises.size:
            rank = int(ranks[rises[0]])
            raise RankforceError(
                f"{name!r} as a metric: the value of rank {rank + 1} is above that of rank {rank}, "
                "but values of ranks must not rise"
            )
        return found

    return values


class PreferenceObjective(OneObjective):
    """Pairs of rows that the data brings: `RankingData(preferences=...)` (Tunys 2015).

    The cost of a pair is weight * log(1 + exp(-sigma (s_hi - s_lo))). A pair may occur several
    times and both ways round. Made by `rf.objective("preferences")`.
    """

    def __init__(self, sigma: float, **rest: Any) -> None:
        about = {
            "formula": "the weight of the pair, 1 if it has none",
            "source": "Tunys 2015",
            "cost": "O(pairs)",
        }
        super().__init__(NAME, seed=0, about=about, **rest)
        self.sigma = sigma

    def bind(self, labels: Any, index: QueryIndex, *, team: Team = ALONE) -> PreparedPreferences:
        """Sort the pairs of `labels` (a `RankingData`, or a dictionary) by query."""
        from rankforce.forces.prepared import PreparedPreferences

        found = labels.get(PREFERENCES) if isinstance(labels, Mapping) else None
        if hasattr(labels, "preferences"):
            found = labels.preferences
        if found is None:
            raise RankforceError(
                f"{NAME} needs explicit pairs: give a RankingData with preferences=, or labels "
                "{'preferences': (hi, lo, weight), ...}"
            )
        return PreparedPreferences(self, found, index, team)


def _remake(make: Callable[..., AnyObjective], arguments: dict[str, Any]) -> AnyObjective:
    return make(**arguments)
