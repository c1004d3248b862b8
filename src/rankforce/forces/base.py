"""What every objective can do, be it one or a mix."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.measures.metric import Measurable, Metric

if TYPE_CHECKING:
    from rankforce.forces.mixed import Mixed
    from rankforce.forces.ready import Ready


USUAL_K = 10  # the cutoff where nobody says one


class Pairs(NamedTuple):
    """The pairs of one query: rows of the higher and the lower label, and their weight."""

    hi: NDArray[np.int64]
    lo: NDArray[np.int64]
    weight: Floats


class PairForces(NamedTuple):
    """Pairs of one query: each force pushes `hi` up and `lo` down."""

    hi: NDArray[np.int64]  # rows
    lo: NDArray[np.int64]
    weight: Floats
    force: Floats


class AnyObjective(Measurable):
    """Which pairs of documents push each other, and how hard.

    Objectives can be added, multiplied by a number and mixed: their forces are. Labels are one per
    row, a dictionary of such by the name of their source, or a `RankingData`.
    """

    name: str
    aim: tuple[str, dict[str, Any]] = ("NDCG", {})  # the metric that it is for, and its parameters
    norm: str | None = None  # of its own, in place of the caller's

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What the objective was made from, apart from its name."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """The objective as a small table, which `rf.objective` makes it from again."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """The table, with functions as they are where a table has none."""

    @abstractmethod
    def bind(self, labels: Any, index: QueryIndex, *, team: Team = ALONE) -> Ready:
        """Do once per data set what labels alone decide, for queries that are indexed already.

        They may be a team's, each worker of which has some of the queries.
        """

    def prepare(
        self, labels: Any, *, group: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> Ready:
        """Do once per data set what labels alone decide.

        `group` has the sizes of the queries, `qid` one query id per row (any order); neither
        means that all rows are one query, or those of a `RankingData`.

        >>> import rankforce as rf
        >>> ready = rf.objective("ranknet").prepare([1, 0, 0, 1], group=[2, 2])
        >>> ready.gradients([0.0, 0.0, 0.0, 0.0])[0].tolist()
        [0.5, -0.5, -0.5, 0.5]
        """
        from rankforce.measures.labels import index_of

        return self.bind(labels, index_of(labels, group=group, qid=qid))

    def gradients(
        self,
        scores: ArrayLike,
        labels: Any,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        norm: str = "none",
        iteration: int = 0,
        threads: int = 1,
    ) -> tuple[Floats, Floats]:
        """Forces (lambda > 0 pushes up) and hessians, one per row, in the caller's order.

        `norm` is "none" (the mathematics), "lightgbm" (what LightGBM does while training) or
        "std" (each query's lambdas over their standard deviation, hessian 1), for the objectives
        that have no norm of their own.

        >>> import rankforce as rf
        >>> lam, hess = rf.objective("lambdarank-p@k", k=1).gradients([2.0, 1.0], [0, 3])
        >>> lam.round(4).tolist()
        [-0.7311, 0.7311]
        """
        ready = self.prepare(labels, group=group, qid=qid)
        return ready.gradients(scores, norm=norm, iteration=iteration, threads=threads)

    def loss(
        self,
        scores: ArrayLike,
        labels: Any,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        iteration: int = 0,
        threads: int = 1,
        equal_labels: bool = False,
    ) -> Floats:
        """What each query costs, whose derivative the forces are.

        A pair costs weight * log(1 + exp(-sigma x)), x = s_hi - s_lo (Adalia et al. 2025, eq. 1),
        or under the sigmoid cost weight / (1 + exp(sigma x + center)). The weight is that of the
        current ranking: with the ranking held, the derivative of a query's cost by a score is minus
        the lambda of norm "none". A document of squared error costs (label - score)^2 / 2, and a
        list of XE-NDCG the cross entropy of its targets against the softmax of the scores; the
        derivative of that is the first term of its lambda only, which has two further orders, as
        LightGBM's has. A mix costs the weighted sum of its parts at that iteration. No norm has a
        say.

        `equal_labels` adds pairs of equal labels at 1/2 sigma x + log(1 + exp(-sigma x)), which
        pulls their scores together (Burges et al. 2005): for RankNet and BinRankNet, where every
        pair weighs the same.

        >>> import rankforce as rf
        >>> ranknet = rf.objective("ranknet")
        >>> ranknet.loss([1.0, 3.0, 2.0, 0.0], [1, 0, 0, 0], group=[3, 1]).round(4).tolist()
        [3.4402, 0.0]
        >>> ranknet.loss([1.0, 3.0, 2.0], [1, 0, 0], equal_labels=True).round(4).tolist()
        [4.2535]
        >>> rf.objective("lambdarank-p@k", k=1).loss([2.0, 1.0], [0, 3]).round(4).tolist()
        [1.3133]
        """
        ready = self.prepare(labels, group=group, qid=qid)
        found = ready.costs(scores, iteration=iteration, threads=threads)
        return found + self._equal_costs(ready, scores, threads) if equal_labels else found

    def _equal_costs(self, ready: Ready, scores: ArrayLike, threads: int) -> Floats:
        """What pairs of equal labels cost."""
        raise RankforceError(
            "equal_labels=True is for RankNet and BinRankNet with the logistic cost, where every "
            f"pair weighs the same, got {self!r}"
        )

    def pairs(self, scores: ArrayLike, labels: Any, *, iteration: int = 0) -> Pairs:
        """The pairs of one query that have a weight; a listwise objective has none.

        >>> import rankforce as rf
        >>> rf.objective("lambdagap-x", k=2).pairs([3, 2, 1], [0, 0, 1])
        Pairs(hi=array([2]), lo=array([0]), weight=array([1.]))
        """
        return self.prepare(labels).pairs(scores, iteration=iteration)

    def effective_pairs(
        self,
        scores: ArrayLike,
        labels: Any,
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

    def metric(self, k: int | None = None) -> Metric:
        """The metric that the objective is for, at the cutoff `k`: by default its own, or 10.

        >>> import rankforce as rf
        >>> rf.objective("lambdagap-x+", k=5).metric()
        rf.metric('P@5')
        >>> rf.objective("lambdarank(rbp)", p=0.5).metric()
        rf.metric('RBP(0.5)')
        """
        from rankforce.measures.make import metric
        from rankforce.measures.names import parse_name

        name, parameters = self.aim
        if parse_name(name).entry.cutoff == "none":
            return metric(name, **parameters)
        return metric(name, k=k or self.arguments.get("k") or USUAL_K, **parameters)

    def as_metric(self, name: str | None, given: dict[str, Any]) -> Metric:
        """No objective is a metric but that of one's own metric."""
        raise RankforceError(
            f"{self.name} is an objective and no metric: give a name as in 'NDCG@10', "
            "a function, or an rf.additive, which is both"
        )

    def mixed(self, other: AnyObjective, *, weight: float) -> Mixed:
        """(1 - weight) of this objective's forces and `weight` of the other's.

        >>> import rankforce as rf
        >>> rf.objective("ranknet").mixed(rf.objective("lambdarank-ndcg", k=3), weight=0.2).name
        '0.8 RankNet + 0.2 LambdaRank-NDCG@3'
        """
        from rankforce.common.checks import check_number
        from rankforce.forces.mixed import mix

        if check_number("weight", weight, least=0.0) > 1.0:
            raise RankforceError(f"weight is {weight!r}: it must lie from 0 to 1")
        return mix([(1.0 - weight, self), (weight, other)])

    def __add__(self, other: object) -> Mixed:
        from rankforce.forces.mixed import mix

        if not isinstance(other, AnyObjective):
            return NotImplemented
        return mix([(1.0, self), (1.0, other)])

    def __mul__(self, factor: object) -> Mixed:
        from rankforce.forces.mixed import mix

        if isinstance(factor, bool) or not isinstance(factor, (int, float, np.number)):
            return NotImplemented
        return mix([(float(factor), self)])

    __rmul__ = __mul__
