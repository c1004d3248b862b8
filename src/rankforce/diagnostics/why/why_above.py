"""Which features put one document above another: `rf.why`."""

from __future__ import annotations

from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.diagnostics.why.ranked_list import rank_query, shown_value
from rankforce.diagnostics.why.why_record import Gap, Why
from rankforce.training.prediction import find_contributions


def why(ranker: Any, data: RankingData, *, query: Any = None, pair: Any) -> Why:
    """Which features put one document of a query above another, the strongest first.

    What a feature adds to the score of the first less what it adds to that of the second, as
    :meth:`Ranker.contributions` has them: together they are the difference of the scores.
    `pair` are two documents: ids, "#3" for the one at rank 3, or rows where there are no ids.
    `query` is its id, which data with one query does without.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker(n_estimators=5, num_leaves=4, progress=False).fit(data)
    >>> found = rf.why(ranker, data, query=3, pair=("#1", "#5"))
    >>> total = sum(one.difference for one in found.features) + found.rest
    >>> found.first.rank, found.second.rank, abs(total - found.difference) < 1e-9
    (1, 5, True)
    """
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise RankforceError(f"pair is {pair!r}: give two documents, as in ('d3', 'd9')")
    ranked = rank_query(ranker, data, query)
    first, second = (ranked.find(one) for one in pair)
    if first == second:
        raise RankforceError(f"both documents of the pair are {first.name}: give two")
    model = ranked.model
    rows = ranked.features[[first.rank - 1, second.rank - 1]]
    parts = find_contributions(model, rows, range(model.used), threads=ranked.threads)
    gaps = [
        Gap(
            name,
            *(shown_value(model, column, value) for value in rows[:, column]),
            *parts[:, column].tolist(),
        )
        for column, name in enumerate(model.feature_names)
    ]
    gaps.sort(key=lambda one: -abs(one.difference))
    # What the model expects of any row is in both, and cancels.
    rest = float(ranked.start[first.rank - 1] - ranked.start[second.rank - 1])
    return Why(ranked.query, first, second, gaps, rest)
