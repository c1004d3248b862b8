"""What would have to change for a document to enter the top k: `rf.enter`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.diagnostics.closest import closest
from rankforce.diagnostics.why.cells import Cells, find_cells
from rankforce.diagnostics.why.entry import Entry
from rankforce.diagnostics.why.ranked_list import RankedList, Standing, rank_query
from rankforce.diagnostics.why.search import Search
from rankforce.models.model import Model

NEXT = 5  # documents below the top k that are looked at where none is named


def enter(
    ranker: Any,
    data: RankingData,
    *,
    query: Any = None,
    document: Any,
    k: int = 10,
    fixed: Sequence[str] = (),
) -> Entry:
    """The smallest changes of features after which a document scores above the last of the top k.

    All other documents stay as they are. For one feature it is exact and complete: the score is
    tried between any two thresholds of the trees, for every category, and, where the trees have a
    rule for it, without a value. Of two features it finds some pairs, but not all. `fixed` are
    features that cannot change. `document` is an id, "#12" for the one at rank 12, or a row where
    there are no ids; `query` an id, which data with one query does without.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker(n_estimators=5, num_leaves=4, progress=False).fit(data)
    >>> found = rf.enter(ranker, data, query=3, document="#4", k=3)
    >>> found.last.rank, all(one.score > found.last.score for one in found.changes)
    (3, True)
    """
    return enter_several(ranker, data, query=query, documents=[document], k=k, fixed=fixed)[0]


def enter_several(
    ranker: Any,
    data: RankingData,
    *,
    query: Any = None,
    documents: Iterable[Any] | None = None,
    k: int = 10,
    fixed: Sequence[str] = (),
) -> list[Entry]:
    """The same of several documents; without them, of the next few below the top k."""
    check_whole("k", k, least=1)
    ranked = rank_query(ranker, data, query)
    model = ranked.model
    model.forest("enter")
    if model.base is not None:
        kind = type(model.base).__name__
        raise RankforceError(
            f"the model stands on a {kind}, whose thresholds are not known: what would have to "
            "change can be said of trees alone"
        )
    if documents is None:
        chosen = ranked.documents[k : k + NEXT]
    else:
        chosen = [ranked.find(one) for one in documents]
    cells = find_cells(model, _free_columns(model, fixed))
    return [_enter_one(ranked, cells, one, k) for one in chosen]


def _enter_one(ranked: RankedList, cells: Cells, document: Standing, k: int) -> Entry:
    last = ranked.documents[min(k, len(ranked.documents)) - 1]
    features = len(list(cells.each()))
    found = Entry(ranked.query, document, k, last, features, [], [], [])
    if found.is_inside:
        return found
    search = Search(ranked, cells, document, last.score)
    singles = search.singles()
    enough = sorted((one for one in singles if one.suffices), key=lambda one: one.size)
    short = sorted((one for one in singles if not one.suffices), key=lambda one: -one.score)
    pairs = [] if enough else search.pairs(singles)
    return found._replace(changes=enough, short=short, pairs=pairs)


def _free_columns(model: Model, fixed: Sequence[str]) -> list[int]:
    """Features that may change."""
    names = model.feature_names
    for one in fixed:
        if one not in names:
            raise RankforceError(f"no feature {one!r} to hold fixed: {closest(one, names)}")
    return [column for column, name in enumerate(names) if name not in fixed]
