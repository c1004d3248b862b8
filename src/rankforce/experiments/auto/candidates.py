"""What is tried: objectives and settings of trees, those that are known to be good first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rankforce.experiments.search import RandomSearch
from rankforce.experiments.space import Range, Space
from rankforce.forces.auto import choose_objective
from rankforce.forces.base import AnyObjective
from rankforce.forces.mixed import make_one
from rankforce.measures.metric import Metric

K = 10  # the cutoff of objectives, where the metric has none
RATE = 0.05
# Of trees, for every candidate at first: on small sets these were as good as any (see ADR 0030).
KNOWN: dict[str, Any] = {
    "min_child_samples": 50,
    "learning_rate": RATE,
    "subsample": 0.7,
    "subsample_by": "query",
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
    "reg_lambda": 0.0,
}
# Rows from which trees have so many leaves.
LEAVES = {0: 12, 200_000: 31, 1_000_000: 64}


class Candidate(NamedTuple):
    """An objective and settings of trees."""

    number: int  # from 1
    objective: Any  # a table, or an objective
    settings: dict[str, Any]
    is_known: bool = False  # to be good, together with the others

    @property
    def all_settings(self) -> dict[str, Any]:
        """What a ranker or a member of a committee is made with."""
        return {"objective": self.objective, **self.settings}

    @property
    def title(self) -> str:
        """The objective and its parameters.

        >>> Candidate(1, {"name": "LambdaRank-NDCG", "k": 5, "tau": math.inf}, {}).title
        'LambdaRank-NDCG k=5 tau=inf'
        """
        if isinstance(self.objective, AnyObjective):
            return self.objective.name
        rest = {name: value for name, value in self.objective.items() if name != "name"}
        return " ".join([self.objective["name"], *(f"{n}={v}" for n, v in rest.items())])


def objectives_for(metric: Metric) -> list[Any]:
    """Objectives that make different mistakes, the one that is chosen for the metric first.

    >>> import rankforce as rf
    >>> [one["name"] for one in objectives_for(rf.metric("p@5"))][:2]
    ['LambdaGap-S++', 'LambdaRank-NDCG']
    """
    choice = choose_objective(metric)
    k = metric.k or K
    tables: list[dict[str, Any]] = [
        {"name": "lambdarank-ndcg", "k": k, "tau": math.inf},
        {"name": "lambdamart-ex random", "k": k},
        {"name": "lambdarank(map)"},
        {"name": "lambdagap-s+", "k": k},
        {"name": "ranknet"},
        {"name": "lambdarank(err)"},
        {"name": "lambdarank-ndcg", "k": k, "tau": 3 * k},
        {"name": "lambdarank-ndcg", "k": k, "tau": k},
    ]
    if metric.source is not None:
        tables = [one | {"source": metric.source} for one in tables]
    first: Any = choice.objective
    if isinstance(first, str):
        first = {"name": first, **choice.parameters}
    found: list[Any] = []
    for one in (first, *tables):
        table = make_one(one).described() if isinstance(one, Mapping) else one
        if table not in found:
            found.append(table)
    return found


def candidates(
    metric: Metric, rows: int, *, seed: int, given: Mapping[str, Any], fast: float = 1.0
) -> tuple[list[Candidate], Iterator[Candidate]]:
    """Those that are known to be good, and all others, drawn at random.

    They have what is `given`. Trees learn `fast` times as fast as usual, where time is short.

    >>> import rankforce as rf
    >>> known, drawn = candidates(rf.metric("ndcg@10"), 5000, seed=0, given={"num_leaves": 9})
    >>> len(known), next(drawn).number, next(drawn).settings["num_leaves"]
    (8, 9, 9)
    """
    leaves = max(own for least, own in LEAVES.items() if rows >= least)
    usual = {"num_leaves": leaves, **KNOWN, "learning_rate": fast * RATE, **given}
    objectives = objectives_for(metric)
    each = enumerate(objectives, start=1)
    known = [Candidate(number, one, usual, is_known=True) for number, one in each]
    space: Space = {
        "objective": objectives,
        "num_leaves": Range(leaves // 2, 4 * leaves, log=True, whole=True),
        "min_child_samples": Range(15, 150, log=True, whole=True),
        "learning_rate": Range(0.6 * fast * RATE, 2.0 * fast * RATE, log=True),
        "subsample": [0.5, 0.7, 0.9],
        "colsample_bytree": [0.2, 0.35, 0.5, 0.75],
        "reg_lambda": [0.0, 5.0],
    }
    return known, _draw(space, usual, given, seed, len(known))


def _draw(
    space: Space, usual: dict[str, Any], given: Mapping[str, Any], seed: int, known: int
) -> Iterator[Candidate]:
    search = RandomSearch(space, {}, seed)
    number = known
    while True:
        number += 1
        point = search.ask(number)
        objective = point.pop("objective")
        yield Candidate(number, objective, {**usual, **point, **given})
