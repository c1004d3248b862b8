"""One query as a model ranks it, and its documents by id, rank or row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import in_memory, mark_missing, to_dense
from rankforce.diagnostics.closest import closest, find_query, id_text
from rankforce.models.model import Model
from rankforce.models.outside import outside_scores


class Standing(NamedTuple):
    """Where a document stands in its query."""

    rank: int  # from 1
    row: int
    doc_id: str | None  # None where the data has no ids
    score: float

    @property
    def name(self) -> str:
        """The id, or the row.

        >>> Standing(1, 7, None, 0.5).name
        'row 7'
        """
        return f"row {self.row}" if self.doc_id is None else self.doc_id


class RankedList(NamedTuple):
    """The documents of a query by rank, with the features that the model sees."""

    query: Any  # its id
    documents: list[Standing]
    features: NDArray[np.float32]  # a row for each of them; NaN where a value is missing
    start: Floats  # what they had before the model: scores to start from, or those of a base
    model: Model
    threads: int

    def find(self, wanted: Any) -> Standing:
        """A document by its id, by "#rank", or by its row where there are no ids."""
        text = id_text(wanted)
        names = [id_text(one.row) if one.doc_id is None else one.doc_id for one in self.documents]
        found = [one for one, name in zip(self.documents, names, strict=True) if name == text]
        if len(found) > 1:
            ranks = ", ".join(f"#{one.rank}" for one in found)
            raise RankforceError(f"query {self.query} has {text!r} more than once: say {ranks}")
        if not found and text.startswith("#") and text[1:].isascii() and text[1:].isdigit():
            found = [one for one in self.documents if one.rank == int(text[1:])]
        if not found and self.documents[0].doc_id is None:
            found = [one for one in self.documents if one.name == text]
        if not found:
            many = len(self.documents)
            raise RankforceError(
                f"no document {text!r} among the {many:,} of query {self.query}: "
                f"{closest(text, names)}, or #1 to #{many} by rank"
            )
        return found[0]


def rank_query(ranker: Any, data: RankingData, query: Any) -> RankedList:
    """The documents of a query as a ranker ranks them; ties go by row.

    `query` is its id; None is for data with one query.
    """
    model = getattr(ranker, "model_", None)
    if not isinstance(model, Model):
        raise RankforceError(
            f"the model is a {type(ranker).__name__}: give a trained rf.Ranker (rf.load also reads "
            "models of LightGBM and XGBoost)"
        )
    if not isinstance(data, RankingData):
        raise RankforceError(f"data is a {type(data).__name__}: give a RankingData")
    number = _find_query(data, query)
    own = data.take_queries([number])
    scores = ranker.predict(own)
    order = np.lexsort((np.arange(own.rows), -scores))
    rows, ids = data.index.rows_of(number), own.doc_ids
    features = mark_missing(own.like(model.schema).features, model.parameters.get("missing"))
    documents = [
        Standing(
            rank,
            int(rows[place]),
            None if ids is None else str(ids[place]),
            float(scores[place]),
        )
        for rank, place in enumerate(order.tolist(), start=1)
    ]
    return RankedList(
        data.query_ids[number],
        documents,
        np.ascontiguousarray(to_dense(in_memory(features))[order], np.float32),
        _start(ranker, own, features)[order],
        model,
        count_threads(ranker.threads),
    )


def _start(ranker: Any, own: RankingData, features: Any) -> Floats:
    """What documents have before the steps of the model."""
    base = ranker.model_.base
    if own.init_score is not None:
        return np.asarray(own.init_score, np.float64)
    if base is None:
        return np.zeros(own.rows)
    return outside_scores(base, features, own.index if ranker.needs_lists else None)


def _find_query(data: RankingData, query: Any) -> int:
    ids = data.query_ids
    if not len(ids):
        raise RankforceError("there is no query to explain: the data has no rows")
    if query is not None:
        return find_query(query, ids)
    if len(ids) > 1:
        listed = ", ".join(map(id_text, ids[:3].tolist()))
        raise RankforceError(f"there are {len(ids):,} queries: give the id of one ({listed})")
    return 0


def shown_value(model: Model, column: int, value: Any) -> Any:
    """A feature's value as a user knows it: a category, None where it is missing, or a number.

    >>> shown_value(Model(None, 0, {}, categories={0: ["red", "blue"]}), 0, np.float32(1))
    'blue'
    >>> shown_value(Model(None, 0, {}), 0, np.float32(0.1))
    0.1
    """
    if np.isnan(value):
        return None
    known = model.categories.get(column)
    if known is not None and 0 <= value < len(known):
        return known[int(value)]
    # The shortest number that is this one in float32.
    return float(str(np.float32(value)))
