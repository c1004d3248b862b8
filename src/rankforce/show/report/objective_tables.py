"""Objectives as data, so that a page can compute their forces as the kernels do; and which ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import index_queries
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import USUAL_K, AnyObjective
from rankforce.forces.description import Cost, Description
from rankforce.forces.make import objective as make_objective
from rankforce.forces.make import objectives
from rankforce.forces.mixed import Mixed, Part, parts_of
from rankforce.forces.named import at_cutoff, known_cutoff, title_of
from rankforce.forces.objective import Objective
from rankforce.forces.prepare import sort_labels
from rankforce.measures.definition import discount
from rankforce.measures.labels import LABEL
from rankforce.measures.metric import Metric

if TYPE_CHECKING:
    from rankforce.show.report.runs import ShownModel

Source = str | None  # of labels; None are the labels themselves
_IN_NAME = ("k", "source")  # arguments that a title says already


class Written(NamedTuple):
    """Objectives as `{"tables": [...], "list": [...]}`, and why some are not among them."""

    data: dict[str, Any]
    notes: list[str]


class _Pool:
    """Number tables, each kept once."""

    def __init__(self) -> None:
        self.tables: list[list[float]] = []
        self._numbers: dict[tuple[float, ...], int] = {}

    def add(self, values: Iterable[float]) -> int:
        """The number of a table."""
        table = tuple(float(value) for value in values)
        if table not in self._numbers:
            self._numbers[table] = len(self.tables)
            self.tables.append(list(table))
        return self._numbers[table]


class _Labels:
    """All labels of the data by source, and the few that the page shows."""

    def __init__(
        self,
        labels: Mapping[Source, ArrayLike],
        shown: Mapping[Source, ArrayLike] | None,
        label_name: str,
    ) -> None:
        self._names = (None, LABEL, label_name)  # of the labels themselves
        self._all = {source: _distinct(values) for source, values in labels.items()}
        self._gaps = {source for source, values in labels.items() if _has_gaps(values)}
        few = labels if shown is None else shown
        self._shown = {source: _distinct(values) for source, values in few.items()}

    def name(self, source: Source) -> Source:
        """The name that the page knows a source by: none for the labels themselves."""
        if source in self._all:
            return source
        if source in self._names and None in self._all:
            return None
        has = ", ".join(repr(name or LABEL) for name in self._all)
        raise RankforceError(f"it reads the labels {source or LABEL!r}, but those there are {has}")

    def check(self, source: Source, above: Sequence[Source], description: Description) -> None:
        """Some forces depend on the labels of documents that are not in the pair."""
        if description.needs_whole_list and (above or source in self._gaps):
            raise RankforceError("it needs the labels of all documents, and some are missing")

    def gains(self, source: Source, description: Description) -> tuple[Floats, Floats]:
        """The labels that the page shows, as the objective sees them, and their gains."""
        known = self._all[source]
        by_label, _ = sort_labels(known, index_queries(len(known)), description)
        few = self._shown.get(source, known)
        seen = (few > 0).astype(np.float64) if description.binary else few
        label, first = np.unique(by_label.label, return_index=True)
        kept = np.isin(label, seen)
        return label[kept], by_label.gain[first][kept]


def objective_data(
    several: Sequence[AnyObjective],
    *,
    labels: Mapping[Source, ArrayLike],
    longest: int,
    shown: Mapping[Source, ArrayLike] | None = None,
    label_name: str = LABEL,
    iteration: int | Sequence[int] = 0,
) -> Written:
    """Write objectives as tables of labels, ranks and rank distances.

    `labels` has the labels of the data by source (None: the labels themselves, which may also be
    asked for as `label_name`), `shown` those of the queries that a page shows, by default all;
    `longest` is the size of the data's longest list. `iteration`, one for all or one each, decides
    random draws and weights that move. An objective that has no tables, or that these labels do
    not suit, is left out with a note.

    >>> import rankforce as rf
    >>> written = objective_data([rf.objective("ranknet")], labels={None: [0, 1]}, longest=3)
    >>> written.data["list"][0]["name"], written.data["list"][0]["parts"][0]["constant"]
    ('RankNet', 1.0)
    """
    pool, known = _Pool(), _Labels(labels, shown, label_name)
    at = [iteration] * len(several) if isinstance(iteration, int) else list(iteration)
    found: list[dict[str, Any]] = []
    notes: list[str] = []
    for one, when in zip(several, at, strict=True):
        try:
            written = _objective(one, known, longest, when, pool)
        except ValueError as error:
            notes.append(f"{name_of(one)} is left out of the lists: {error}")
            continue
        found.append(written)
    return Written({"tables": pool.tables, "list": found}, notes)


def name_of(objective: AnyObjective) -> str:
    """Name with cutoff and source, and the parameters that are not as usual.

    >>> import rankforce as rf
    >>> name_of(rf.objective("lambdarank-ndcg", k=5, sigma=2.0))
    'LambdaRank-NDCG@5 (sigma=2)'
    """
    if isinstance(objective, Mixed):
        return objective.name
    rest = [f"{key}={_short(v)}" for key, v in objective.arguments.items() if _is_told(key, v)]
    name = title_of(objective)
    return f"{name} ({', '.join(rest)})" if rest else name


def _is_told(key: str, value: Any) -> bool:
    return key not in _IN_NAME and value is not None and not callable(value)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def _distinct(values: ArrayLike) -> Floats:
    known = np.asarray(values, dtype=np.float64).ravel()
    return np.unique(known[~np.isnan(known)])


def _has_gaps(values: ArrayLike) -> bool:
    return bool(np.isnan(np.asarray(values, dtype=np.float64)).any())


def _objective(
    objective: AnyObjective, labels: _Labels, longest: int, iteration: int, pool: _Pool
) -> dict[str, Any]:
    is_mixed = isinstance(objective, Mixed)
    parts = objective.parts if isinstance(objective, Mixed) else parts_of(objective)
    if any(isinstance(part.objective, Mixed) for part in parts):
        raise RankforceError("a part of it is a sum with a norm, which a page does not compute")
    terms = [one.about["formula"] for one, *_ in parts if not isinstance(one, Mixed)]
    weights = [part.weight.at(iteration) for part in parts]
    formula = terms[0]
    if is_mixed:
        formula = " + ".join(f"{w:g} * [{t}]" for w, t in zip(weights, terms, strict=True))
    return {
        "name": name_of(objective),
        "formula": formula,
        "k": objective.arguments.get("k"),
        "iteration": iteration,
        "norm": objective.norm if is_mixed else None,  # of the sum
        "parts": [
            _part(part, weight, labels, longest, pool)
            for part, weight in zip(parts, weights, strict=True)
        ],
    }


def _part(part: Part, weight: float, labels: _Labels, longest: int, pool: _Pool) -> dict[str, Any]:
    one = part.objective
    assert not isinstance(one, Mixed)
    shared: dict[str, Any] = {"name": title_of(one), "weight": weight, "norm": one.norm}
    if not isinstance(one, Objective):
        return shared | {"kind": "preferences", "cost": _cost(Cost(sigma=one.sigma))}
    what = one.description
    if what.user is not None:
        raise RankforceError("its weight is a Python function, which a page cannot run")
    source = labels.name(one.source)
    labels.check(source, part.above, what)
    label, gain = labels.gains(source, what)
    shared |= {
        "seed": str(one.seed & (2**64 - 1)),  # as text: a number of JavaScript has 53 bits
        "source": source,
        "labels": pool.add(label),
        "gains": pool.add(gain),
    }
    if what.listwise is not None:
        return shared | {"kind": "list" if what.listwise == "xendcg" else "point"}
    return shared | {
        "kind": "labels",
        "above": [labels.name(above) for above in part.above],
        "leave_out_zeros": part.leave_out_zeros,
        "label_term": what.label_term,
        "binary": what.binary,
        "cost": _cost(one.cost),
        **_ranks(what, longest, pool),
    }


def _ranks(what: Description, longest: int, pool: _Pool) -> dict[str, Any]:
    """What ranks and rank distances are worth, and which pairs there are."""
    ranks = np.arange(1.0, 1.0 + max(longest, 1))
    return {
        "constant": what.constant,
        "position": None if what.position is None else pool.add(what.position(ranks)),
        "position_of_hi_only": what.position_of_hi_only,
        # By distance: two documents are never 0 ranks apart.
        "distance": None if what.distance is None else pool.add([0.0, *what.distance(ranks[:-1])]),
        "correction": None if what.correction is None else pool.add(what.correction(ranks)),
        "pairs": vars(what.pair_set) | {"cutoff": _whole(what.pair_set.cutoff)},
        "swaps": what.swaps,
        "swaps_cutoff": _whole(what.swaps_cutoff),
        "ideal": what.ideal if what.ideal in ("none", "relevant", "hits") else "values",
        "ideal_values": _ideal_values(what, ranks, pool),
    }


def _ideal_values(what: Description, ranks: Floats, pool: _Pool) -> int | None:
    """What ranks are worth to the ideal list, best first; None where that is no sum over ranks."""
    if what.ideal not in ("discounted", "values"):
        return None
    value = discount(ranks)
    if what.ideal == "values":
        assert what.position is not None
        value = what.position(ranks)
    return pool.add(np.where(ranks <= what.ideal_cutoff, value, 0.0))


def _cost(cost: Cost) -> dict[str, Any]:
    return {"name": cost.name, "sigma": cost.sigma, "center": cost.center}


def _whole(cutoff: float) -> int | None:
    """A cutoff; None where there is none."""
    return None if cutoff == math.inf else int(cutoff)


def offered_objectives(
    runs: list[ShownModel],
    data: RankingData,
    metric: Metric,
    wanted: list[AnyObjective],
    rows: NDArray[np.int64],
    longest: int,
    notes: list[str],
) -> dict[str, Any]:
    """The runs' own objectives and those `wanted`, by default all that have a name, as data.

    `rows` are the documents that the page shows, `longest` is the length of their longest list.
    """
    ready = [(run.objective, run.model.used) for run in runs if run.objective is not None]
    first = ready[0][1] if ready else 0
    others = wanted or _registered(data, cutoff_of(runs, metric))
    offered: list[tuple[AnyObjective, int]] = []
    for one, iteration in (*ready, *((other, first) for other in others)):
        if all(one != kept for kept, _ in offered):
            offered.append((one, iteration))
    columns = label_columns(data)
    written = objective_data(
        [one for one, _ in offered],
        labels=columns,
        shown={source: column[rows] for source, column in columns.items()},
        longest=longest,
        iteration=[iteration for _, iteration in offered],
    )
    notes += [f"{note}." for note in written.notes]
    return written.data


def cutoff_of(runs: list[ShownModel], metric: Metric) -> int:
    """That of the first run which has one, else of the metric."""
    found = [known_cutoff(run.objective) for run in runs if run.objective is not None]
    return next((k for k in (*found, metric.k) if k), USUAL_K)


def wanted_objectives(given: Any, k: int) -> list[AnyObjective]:
    """Objectives that somebody asks for; a name without a cutoff gets `k`.

    >>> [one.arguments for one in wanted_objectives(["lambdagap-x", "ranknet"], 5)]
    [{'k': 5}, {}]
    """
    is_one = isinstance(given, (str, AnyObjective, Mapping))
    several = [] if given is None else [given] if is_one else list(given)
    return [at_cutoff(one, k) for one in several]


def label_columns(data: RankingData) -> dict[str | None, Floats]:
    """All label columns by the names that objectives call them; None is the first."""
    columns: dict[str | None, Floats] = {None: data.labels}
    if data.label_name != "label":
        columns[data.label_name] = data.labels
    columns.update(data.sources)
    return columns


def _registered(data: RankingData, k: int) -> list[AnyObjective]:
    made = []
    for entry in objectives():
        source = _clicks(data) if entry.of_clicks else None
        if entry.of_clicks and source is None and not _are_shares(data.labels):
            continue
        cutoff = k if entry.has_cutoff else None
        made.append(make_objective(entry.name, k=cutoff, source=source))
    return made


def _clicks(data: RankingData) -> str | None:
    """The first source that can be shares of clicks."""
    return next((name for name, values in data.sources.items() if _are_shares(values)), None)


def _are_shares(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size) and float(known.min()) >= 0.0 and float(known.max()) <= 1.0
