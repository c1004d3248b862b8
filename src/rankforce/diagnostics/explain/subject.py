"""The data set that a query is of, and which query it is."""

from __future__ import annotations

import difflib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, query_ids
from rankforce.data.ranking_data import RankingData
from rankforce.forces.ready import check_scores
from rankforce.measures.labels import index_of


class Subject(NamedTuple):
    """The data set that the query is of."""

    scores: Floats
    labels: Any
    queries: QueryIndex
    ids: NDArray[Any]  # of the queries
    doc_ids: Any


def make_subject(scores: Any, labels: Any, *, group: Any, qid: Any, doc_ids: Any) -> Subject:
    """Scores of rows, or of a model, with the queries and documents that they belong to."""
    data = labels if isinstance(labels, RankingData) else None
    index = index_of(labels, group=group, qid=qid)
    rows = int(index.pointer[-1])
    ids = query_ids(index, qid) if data is None else data.query_ids
    names = data.doc_ids if doc_ids is None and data is not None else doc_ids
    if names is not None and len(names) != rows:
        raise RankforceError(f"doc_ids has {len(names)} entries, but there are {rows} rows")
    return Subject(_find_scores(scores, data, rows), labels, index, ids, names)


def _find_scores(scores: Any, data: RankingData | None, rows: int) -> Floats:
    if hasattr(scores, "predict"):
        if data is None:
            raise RankforceError("the scores are a model: give a RankingData in place of labels")
        from rankforce.training.ranker import Ranker

        scores = scores.predict(data if isinstance(scores, Ranker) else data.features)
    return check_scores(scores, rows)


def find_query(query: Any, subject: Subject, values: dict[str, Floats]) -> tuple[int, str]:
    """Number of the query, and why it is this one."""
    ids = subject.ids
    if not len(ids):
        raise RankforceError("there is no query to explain: the data has no rows")
    if query is None:
        name, worth = next(iter(values.items()), ("", np.full(len(ids), np.nan)))
        if np.isnan(worth).all():
            raise RankforceError(
                "which query is the worst is not known without labels: give its id"
            )
        number = int(np.nanargmin(worth))
        return number, f"the lowest {name} of {len(ids):,} queries" if len(ids) > 1 else ""
    texts = [_text(one) for one in ids.tolist()]
    wanted = _text(query.item() if isinstance(query, np.generic) else query)
    if wanted in texts:
        return texts.index(wanted), ""
    close = difflib.get_close_matches(wanted, texts, n=3, cutoff=0.5)
    hint = "the closest are" if close else "there are such as"
    listed = ", ".join(close or texts[:3])
    raise RankforceError(f"no query {wanted!r} among {len(ids):,}: {hint} {listed}")


def _text(query: Any) -> str:
    """An id as text: files may make 7.0 of 7."""
    return str(int(query)) if isinstance(query, float) and query.is_integer() else str(query)
