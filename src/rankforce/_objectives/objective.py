"""The public face of an objective: forces, pairs, counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce._objectives.description import Cost, Description
from rankforce._objectives.tables import Floats

if TYPE_CHECKING:
    from rankforce._objectives.prepared import Prepared


class Pairs(NamedTuple):
    """The pairs of one query: rows of the higher and the lower label, and their weight."""

    hi: NDArray[np.int64]
    lo: NDArray[np.int64]
    weight: Floats


class Objective:
    """Which pairs of documents push each other, and how hard.

    Made by :func:`rankforce.objective`. Two objectives are equal if they were made alike.
    """

    def __init__(
        self,
        name: str,
        description: Description,
        cost: Cost,
        *,
        seed: int,
        recipe: tuple[Callable[..., Objective], dict[str, Any]],
        about: dict[str, str],
    ) -> None:
        self.name = name
        self.description = description
        self.cost = cost
        self.seed = seed
        self.about = about
        self._recipe = recipe

    @property
    def arguments(self) -> dict[str, Any]:
        """What the objective was made from, apart from its name."""
        return {key: value for key, value in self._recipe[1].items() if key != "name"}

    def prepare(
        self, labels: ArrayLike, *, group: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> Prepared:
        """Do once per data set what labels alone decide.

        `group` has the sizes of the queries, `qid` one query id per row (any order); neither
        means that all rows are one query.

        >>> import rankforce as rf
        >>> ready = rf.objective("ranknet").prepare([1, 0, 0, 1], group=[2, 2])
        >>> ready.gradients([0.0, 0.0, 0.0, 0.0])[0].tolist()
        [0.5, -0.5, -0.5, 0.5]
        """
        # The kernels, and with them Numba, are imported on first use only.
        from rankforce._objectives.prepared import Prepared

        return Prepared(self, labels, group=group, qid=qid)

    def gradients(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        norm: str = "none",
        iteration: int = 0,
        threads: int = 1,
    ) -> tuple[Floats, Floats]:
        """Forces (lambda > 0 pushes up) and hessians, one per row, in the caller's order.

        `norm` is "none" (the mathematics), "lightgbm" (what LightGBM does while training) or
        "std" (each query's lambdas over their standard deviation, hessian 1).

        >>> import rankforce as rf
        >>> lam, hess = rf.objective("lambdarank-p@k", k=1).gradients([2.0, 1.0], [0, 3])
        >>> lam.round(4).tolist()
        [-0.7311, 0.7311]
        """
        ready = self.prepare(labels, group=group, qid=qid)
        return ready.gradients(scores, norm=norm, iteration=iteration, threads=threads)

    def pairs(self, scores: ArrayLike, labels: ArrayLike, *, iteration: int = 0) -> Pairs:
        """The pairs of one query that have a weight.

        >>> import rankforce as rf
        >>> rf.objective("lambdagap-x", k=2).pairs([3, 2, 1], [0, 0, 1])
        Pairs(hi=array([2]), lo=array([0]), weight=array([1.]))
        """
        return self.prepare(labels).pairs(scores, iteration=iteration)

    def effective_pairs(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        iteration: int = 0,
        threads: int = 1,
    ) -> NDArray[np.int64]:
        """Number of pairs whose weight is not 0, for each query (Adalia et al. 2025, 6.3.2).

        >>> import rankforce as rf
        >>> rf.objective("ranknet").effective_pairs([1, 2, 3, 4], [0, 1, 2, 2], group=[3, 1])
        array([3, 0])
        """
        ready = self.prepare(labels, group=group, qid=qid)
        return ready.effective_pairs(scores, iteration=iteration, threads=threads)

    def rank_weights(self, n: int) -> Floats:
        """What the weight makes of ranks: entry (i, j) for the documents at ranks i+1 and j+1.

        The label term and the ideal value are left out; pairs outside the pair set are 0. An
        extended set depends on labels: what it adds to the top k is left out.

        >>> import rankforce as rf
        >>> rf.objective("lambdagap-s", k=2).rank_weights(3).tolist()
        [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
        """
        what = self.description
        if what.swaps is not None or what.user is not None:
            raise ValueError(f"the weight of {self.name} is no function of the two ranks alone")
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

    def __repr__(self) -> str:
        make, arguments = self._recipe
        first, *rest = arguments.items()
        shown = [repr(first[1])]
        for key, value in rest:
            shown.append(f"{key}=float('inf')" if value == math.inf else f"{key}={value!r}")
        return f"rf.{make.__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Objective) and self._recipe == other._recipe

    def __hash__(self) -> int:
        return hash((self.name, self.seed, self.cost, self.description.pair_set.cutoff))

    def __reduce__(self) -> tuple[Any, ...]:
        make, arguments = self._recipe
        return _remake, (make, arguments)


def _remake(make: Callable[..., Objective], arguments: dict[str, Any]) -> Objective:
    return make(**arguments)
