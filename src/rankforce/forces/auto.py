"""The objective "auto": which one to train for, by the metric that one cares about."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rankforce.forces.base import AnyObjective
from rankforce.forces.description import Entry
from rankforce.forces.mixed import make_one
from rankforce.forces.named import title_of
from rankforce.forces.registry import parse_name
from rankforce.measures import definition
from rankforce.measures.make import MetricLike
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric
from rankforce.measures.names import parse_name as parse_metric
from rankforce.measures.registry import ENTRIES as METRICS

AUTO = "auto"


class Row(NamedTuple):
    """An objective, and in one sentence why it is the one."""

    objective: str
    reason: str
    parameters: dict[str, Any] = {}  # noqa: RUF012 - beside k and what a metric says

    @property
    def shown(self) -> str:
        """The objective with its parameters.

        >>> TABLE["NDCG@k"].shown
        'LambdaRank-NDCG, tau = inf'
        """
        return ", ".join([self.objective, *(f"{n} = {v}" for n, v in self.parameters.items())])


_WHOLE = (
    "truncated at k, forces may push a wrong order further apart (Marcuzzi et al. 2023); all pairs "
    "do not, and take little more time here"
)
_SWAP = "a pair weighs what the metric changes when its two documents swap ranks"
_GAP = (
    "pairs below rank k push as well, though P@k itself feels only swaps across it (Adalia et al. "
    "2025); over print and our runs it ranked first of 42 (docs/choosing.md)"
)

# What to train for, by metric; "@k" where there is a cutoff. All others: BUILT.
TABLE = {
    "NDCG@k": Row("LambdaRank-NDCG", _WHOLE, {"tau": math.inf}),
    "NDCG": Row("LambdaRank-NDCG", _SWAP),
    "BNDCG@k": Row("LambdaRank-BNDCG", _WHOLE, {"tau": math.inf}),
    "BNDCG": Row("LambdaRank-BNDCG", _SWAP),
    "P@k": Row("LambdaGap-S++", _GAP),
    "Recall@k": Row("LambdaGap-S++", f"it counts the same documents as P@k: {_GAP}"),
}
BUILT = Row("lambdarank({metric})", _SWAP)
NEAREST = "nothing is known of a function but its values, and NDCG is the nearest"
OWN = "it is LambdaRank for this very metric"


@dataclass(frozen=True)
class Choice:
    """What "auto" has become for a metric, and why; a ranker takes it for its objective."""

    objective: str | AnyObjective
    metric: str
    reason: str
    parameters: dict[str, Any] = field(default_factory=dict)  # of `rf.objective`

    def __str__(self) -> str:
        """One line, for a run to say.

        >>> print(choose_objective("mrr@3"))
        auto: lambdarank(mrr@3) for MRR@3, as a pair weighs what the metric changes when ...
        """
        one = self.objective
        if isinstance(one, str):
            one = make_one({"name": one} | self.parameters)
        return f"auto: {title_of(one)} for {self.metric}, as {self.reason}"


def is_auto(objective: Any) -> bool:
    """Whether an objective is to be chosen.

    >>> is_auto("Auto"), is_auto("ranknet")
    (True, False)
    """
    return isinstance(objective, str) and objective.strip().lower() == AUTO


def choose_objective(metric: MetricLike = "NDCG", k: int | None = None) -> Choice:
    """The objective to train for where `metric` decides, with the metric's own parameters.

    Its cutoff is `k`, by default that of the metric. Of a function, nothing is known but its
    values. It may still decide when to stop, as users of LightGBM and XGBoost are used to, so it is
    no mistake: the objective is the one for NDCG, and the reason says so. A metric of
    `rf.additive` is an objective itself.

    >>> choose_objective("p@5").objective, choose_objective("p@5").parameters
    ('LambdaGap-S++', {'k': 5})
    >>> choose_objective("cndcg@3(source=clicks)").parameters
    {'k': 3, 'source': 'clicks'}
    """
    made = _make(metric, k)
    if isinstance(made.made_from, AnyObjective):
        return Choice(made.made_from, made.name, OWN)
    is_named = isinstance(made.made_from, str)
    aim = parse_metric(made.name).entry if is_named else METRICS[0]
    cutoff = None if aim.cutoff == "none" else k or made.k
    row = _row(aim, cutoff)
    entry = parse_name(row.objective).entry
    found: dict[str, Any] = {"k": cutoff, "source": made.source, **row.parameters}
    if is_named:
        found |= _shared(made, aim, entry)
    reason = row.reason if is_named else f"{NEAREST}: {row.reason}"
    if made.definition.rel is not None:
        reason += "; it takes all labels above 0 for relevant"
    kept = {key: value for key, value in found.items() if value is not None}
    return Choice(entry.name, made.name, reason, kept)


def choices() -> dict[str, Row]:
    """What is chosen for every metric, "@k" where it has a cutoff.

    >>> choices()["MAP@k"].objective
    'lambdarank(map)'
    """
    forms = {"needed": ("@k",), "none": ("",), "optional": ("@k", "")}
    return {
        entry.name + at: _row(entry, 1 if at else None)
        for entry in METRICS
        for at in forms[entry.cutoff]
    }


def _make(metric: MetricLike, k: int | None) -> Metric:
    """The metric; a name without a cutoff gets `k`."""
    if not isinstance(metric, str):
        return make_metric(metric)
    entry, named = parse_metric(metric)
    is_open = entry.cutoff != "none" and "k" not in named
    return make_metric(metric, k=k if is_open else None)


def _row(aim: definition.Entry, k: int | None) -> Row:
    row = TABLE.get(f"{aim.name}@k" if k else aim.name)
    if row is None:
        name = BUILT.objective.format(metric=aim.name.lower())
        return Row(parse_name(name).entry.name, BUILT.reason)
    return row


def _shared(metric: Metric, aim: definition.Entry, entry: Entry) -> dict[str, Any]:
    """The parameters of a metric that its objective has as well, where they are not as usual."""
    usual = aim.build(definition.Parameters(k=1))
    given = {
        "gain": None if metric.definition.gain == usual.gain else metric.definition.gain,
        "max_label": metric.definition.max_label,
        "p": parse_metric(metric.name).parameters.get("p"),
    }
    return {key: value for key, value in given.items() if key in entry.uses}
