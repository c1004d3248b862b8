"""The public face of a metric: one value per query, and their mean."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.measures.definition import Definition, NoRelevant

if TYPE_CHECKING:
    from rankforce.measures.scoreboard import PreparedMetric


class Measurable(ABC):
    """What is no metric but may know one, where a metric is asked for: an objective."""

    @abstractmethod
    def as_metric(self, name: str | None, given: dict[str, Any]) -> Metric:
        """The metric, with a name and parameters of `rf.metric`; an error if there is none."""


class Metric:
    """What a ranking of a query's documents is worth.

    Made by :func:`rankforce.metric`. Two metrics are equal if they were made alike. `source` names
    the labels that it reads, None where there are no others.
    """

    def __init__(
        self,
        name: str,
        definition: Definition,
        *,
        k: int | None,
        no_relevant: NoRelevant | None,
        source: str | None,
        higher_is_better: bool,
        recipe: tuple[Callable[..., Metric], Any, dict[str, Any]],
        about: dict[str, str],
    ) -> None:
        self.name = name
        self.definition = definition
        self.k = k
        self.no_relevant = no_relevant
        self.source = source
        self.higher_is_better = higher_is_better
        self.about = about
        self._recipe = recipe

    @property
    def key(self) -> str:
        """The name as LightGBM writes it in histories; a source keeps its case.

        >>> from rankforce.measures.make import metric
        >>> metric("CNDCG@3", source="Click").key
        'cndcg@3(source=Click)'
        """
        if self.source is None:
            return self.name.lower()
        before, said, after = self.name.rpartition(f"source={self.source}")
        return before.lower() + said + after.lower()

    @property
    def made_from(self) -> Any:
        """What `rf.metric` made it from: a name, a function, or an `rf.additive`."""
        return self._recipe[1]

    @property
    def conventions(self) -> str:
        """What must be known to compare with other tools' numbers, in one line.

        >>> from rankforce.measures.make import metric
        >>> metric("ndcg@10").conventions
        'gain 2^y-1, query without relevant document counts 1, ties by row'
        """
        parts = [_worth(self.definition)]
        if self.source is not None:
            parts += [f"labels {self.source}", "missing labels count 0"]
        parts.append(_without_relevant(self.no_relevant))
        if self.definition.kind != "own":
            parts += [_over(self.definition), _TIES[self.definition.ties]]
        if self.definition.single:
            parts.append("scores in single precision")
        if not self.higher_is_better:
            parts.append("lower is better")
        return ", ".join(part for part in parts if part)

    def prepare(
        self, labels: Any, *, group: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> PreparedMetric:
        """Do once per data set what labels alone decide.

        `labels` are one per row, a dictionary of such by the name of their source, or a
        `RankingData`. `group` has the sizes of the queries, `qid` one query id per row (any order);
        neither means that all rows are one query, or those of the `RankingData`.

        >>> from rankforce.measures.make import metric
        >>> ready = metric("p@1").prepare([1, 0, 0, 1], group=[2, 2])
        >>> ready.values([4.0, 3.0, 2.0, 1.0]).tolist()
        [1.0, 0.0]
        """
        # The kernels, and with them Numba, are imported on first use only.
        from rankforce.measures.scoreboard import PreparedMetric

        return PreparedMetric(self, labels, group=group, qid=qid)

    def __call__(
        self,
        scores: ArrayLike,
        labels: Any,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        threads: int = 1,
    ) -> Floats:
        """One value per query, in the order of `group` or of the first appearance in `qid`.

        NaN is a query that does not count: one without documents, or with `no_relevant="skip"`.

        >>> from rankforce.measures.make import metric
        >>> metric("mrr")([3.0, 2.0, 1.0], [0, 1, 1]).tolist()
        [0.5]
        """
        return self.prepare(labels, group=group, qid=qid).values(scores, threads=threads)

    def __repr__(self) -> str:
        make, first, rest = self._recipe
        shown = [repr(first), *(f"{key}={value!r}" for key, value in rest.items())]
        return f"rf.{make.__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self._recipe == other._recipe

    def __hash__(self) -> int:
        return hash((self.name, self.no_relevant))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, self._recipe


def mean(values: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean over the queries that count (NaN does not), by default each with the same weight.

    Never above the largest value nor below the smallest; NaN if no query counts.

    >>> mean([1.0, float("nan"), 0.0])
    0.5
    >>> mean([1.0, 0.0], weights=[3, 1])
    0.75
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise RankforceError(f"values must be one number per query, got shape {found.shape}")
    weight = np.ones(len(found)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != found.shape:
        raise RankforceError(
            f"weights must be one number per query: there are {len(found)} queries, "
            f"but weights have shape {weight.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        message = "weights are finite numbers from 0 up"
        raise RankforceError(f"weight of query {bad[0]} is {weight[bad[0]]}: {message}")
    counts = ~np.isnan(found) & (weight > 0)
    if not counts.any():
        return float("nan")
    found, weight = found[counts], weight[counts]
    share = weight / weight.max()  # so that the sum of large weights stays finite
    average = np.sum(found * share) / np.sum(share)
    return float(np.clip(average, found.min(), found.max()))


_OVER = {
    "size": "over min(k, n)",
    "k": "over k",
    "reachable": "over min(k, relevant)",
    "relevant": "over all relevant",
}
_TIES = {
    "row": "ties by row",
    "average": "mean over all orders of ties",
    "last": "ties at their last rank",
}


def _remake(make: Callable[..., Metric], first: Any, rest: dict[str, Any]) -> Metric:
    return make(first, **rest)


def _worth(definition: Definition) -> str:
    """What a document is worth."""
    if definition.kind == "own":
        return "the user's function"
    if definition.kind == "cascade":
        top = definition.max_label
        largest = "the largest label of the data" if top is None else f"{top:g}"
        return f"stop probability (2^y-1) / 2^max_label, max_label {largest}"
    if definition.gain == "binary":
        return (
            "relevant is y > 0"
            if definition.rel is None
            else f"relevant is y >= {definition.rel:g}"
        )
    gain = definition.gain
    if callable(gain):
        return f"gain {getattr(gain, '__name__', 'of a function')}"
    return f"gain {gain}"


def _over(definition: Definition) -> str:
    """What the sum is divided by, where there is a choice."""
    is_whole = definition.ideal == "reachable" and definition.end == math.inf
    return _OVER.get("relevant" if is_whole else definition.ideal, "")


def _without_relevant(choice: NoRelevant | None) -> str:
    if choice is None:
        return ""
    does = "is skipped" if choice == "skip" else f"counts {choice}"
    return f"query without relevant document {does}"
