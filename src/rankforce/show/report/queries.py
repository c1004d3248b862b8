"""Which queries a report shows in full, and everything about them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats, plain
from rankforce.data.ranking_data import RankingData
from rankforce.evaluation.comparison import Comparison, changes
from rankforce.show.report.objective_tables import label_columns


class ShownQuery(NamedTuple):
    """A query by its number, and why it is worth a look."""

    query: int
    why: str


def choose_queries(found: Comparison, data: RankingData, count: int) -> list[ShownQuery]:
    """The worst and the best queries of every run, and those that differ most from the baseline.

    They take turns until there are `count`. Queries whose documents all have one label are left
    out, because every ranking of them is as good.

    >>> import rankforce as rf
    >>> data = rf.RankingData([[0.0]] * 6, [1, 0, 0, 1, 0, 0], group=[2, 2, 2])
    >>> found = rf.compare({"a": [2, 1, 2, 1, 2, 1]}, data, metric="mrr")
    >>> choose_queries(found, data, 5)
    [ShownQuery(query=1, why='worst of a'), ShownQuery(query=0, why='best of a')]
    """
    mixed = _with_choice(found, data)
    lists = _candidates(found, mixed, data.sizes)
    taken: dict[int, list[tuple[str, str]]] = {}
    places = dict.fromkeys(lists, 0)
    while len(taken) < count and any(places[why] < len(lists[why]) for why in lists):
        for why, order in lists.items():
            if places[why] >= len(order) or len(taken) >= count:
                continue
            query = int(order[places[why]])
            places[why] += 1
            taken.setdefault(query, []).append(why)
    return [ShownQuery(query, _reason(whys, len(found.values))) for query, whys in taken.items()]


def _reason(whys: list[tuple[str, str]], runs: int) -> str:
    """Reasons in few words.

    >>> _reason([("worst", "a"), ("largest gain", "b"), ("worst", "b")], 3)
    'worst of a, b; largest gain of b'
    """
    names: dict[str, list[str]] = {}
    for kind, name in whys:
        names.setdefault(kind, []).append(name)
    return "; ".join(
        f"{kind} of all runs" if len(several) == runs > 2 else f"{kind} of {', '.join(several)}"
        for kind, several in names.items()
    )


def _with_choice(found: Comparison, data: RankingData) -> NDArray[np.int64]:
    """Queries that count and have at least two different labels."""
    labels = np.nan_to_num(data.index.places(data.column(found.metric.source)))
    begin = data.index.pointer[:-1]
    first = next(iter(found.values.values()))
    differs = np.zeros(len(begin), bool)
    full = data.sizes > 0
    if full.any():
        low = np.minimum.reduceat(labels, begin[full])
        differs[full] = np.maximum.reduceat(labels, begin[full]) > low
    counts = ~np.isnan(first)
    kept = np.flatnonzero(differs & counts)
    return kept if kept.size else np.flatnonzero(full & counts)


def _candidates(
    found: Comparison, mixed: NDArray[np.int64], sizes: NDArray[np.int64]
) -> dict[tuple[str, str], list[int]]:
    """By reason and run, queries in the order in which they deserve to be shown."""
    sign = 1.0 if found.metric.higher_is_better else -1.0
    half = (len(mixed) + 1) // 2  # of few queries, none is among the worst and the best
    lists: dict[tuple[str, str], list[int]] = {}

    def order(values: Floats) -> list[int]:
        # Among equal values the longer list tells more.
        return sorted(mixed.tolist(), key=lambda q: (values[q], -sizes[q], q))

    for name, values in found.values.items():
        lists["worst", name] = order(sign * values)[:half]
    for name in found.contrasts:
        change = sign * changes(found.values[found.baseline], found.values[name])
        lists["largest loss", name] = [q for q in order(change) if change[q] < 0]
        lists["largest gain", name] = [q for q in order(-change) if change[q] > 0]
    for name, values in found.values.items():
        lists["best", name] = order(-sign * values)[: len(mixed) - half]
    return lists


def query_record(
    chosen: ShownQuery, data: RankingData, scores: dict[str, Floats], values: dict[str, Floats]
) -> dict[str, Any]:
    """One query in full: documents in the order of the data, labels, scores of every run."""
    rows = data.index.rows_of(chosen.query)
    names = rows if data.doc_ids is None else data.doc_ids[rows]
    return {
        "id": str(data.query_ids[chosen.query]),
        "number": chosen.query,
        "why": chosen.why,
        "key": str(int(data.index.key[chosen.query])),
        "values": {name: plain(value[chosen.query]) for name, value in values.items()},
        "documents": [str(name) for name in names],
        "labels": [plain(label) for label in data.labels[rows]],
        "sources": {
            name: [plain(label) for label in column[rows]]
            for name, column in label_columns(data).items()
            if name is not None
        },
        "preferences": _preferences(data, rows),
        "scores": {name: [plain(score) for score in all_[rows]] for name, all_ in scores.items()},
    }


def _preferences(data: RankingData, rows: NDArray[np.int64]) -> list[list[float]] | None:
    """The explicit pairs of these rows, by their numbers in the query."""
    if data.preferences is None:
        return None
    place = {int(row): number for number, row in enumerate(rows)}
    pairs = zip(*(column.tolist() for column in data.preferences), strict=True)
    return [[place[hi], place[lo], weight] for hi, lo, weight in pairs if hi in place]
