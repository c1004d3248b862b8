"""What stands beside the features of several files becomes one data set; the features stay there.

The queries of one file are none of another's: a query in two shards would be cut where rows are
shared out, and shards that each count their queries from 1 would be mixed.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.data.columns import COLUMNS
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import some_names
from rankforce.data.shards import Part, Shard, Shards


class Kept(NamedTuple):
    """What one shard holds: all but the features, which a part reads."""

    data: RankingData  # without features
    part: Part

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.part.shard.path


def check_sizes(shards: Sequence[Shard]) -> None:
    """Refuse a file without a single byte: somebody meant to write it."""
    for shard in shards:
        if shard.size == 0:
            raise RankforceError(
                f"{shard.path}: is empty, it has 0 bytes: expected rows, or no such file"
            )


def join(
    place: str,
    shards: Sequence[Shard],
    found: Sequence[Kept],
    *,
    names: Sequence[str],
    checks_queries: bool,
    **features: Any,
) -> RankingData:
    """The rows of all shards; `features` says more about the columns called `names`.

    Shards that are not among those found have no rows: that is said.
    """
    if not found:
        raise RankforceError(f"{place}: holds no rows: expected one or more")
    kept = {one.path for one in found}
    if empty := [shard.path.name for shard in shards if shard.path not in kept]:
        note(f"{place}: {some_names(empty)}: no rows")
    for one in found[1:]:
        _check_same(found[0], one)
    first = found[0].data
    has_ids = first._qid is not None
    beside = [one.data.beside for one in found]
    sources = {name: _stacked([b["sources"][name] for b in beside]) for name in first.sources}
    columns: dict[str, Any] = {
        name: _stacked([b[name] for b in beside])
        for name in COLUMNS
        if name != "sources" and first.beside[name] is not None
    }
    data = RankingData(
        Shards([one.part for one in found], names),
        _stacked([one.data.labels for one in found]) if first.has_labels else None,
        qid=_ids([one.data.qid for one in found]) if has_ids else None,
        group=None if has_ids else _stacked([one.data.sizes for one in found]),
        doc_ids=_documents(found),
        feature_names=list(names),
        label_name=first.label_name,
        sources=sources,
        **columns,
        **features,
    )
    if checks_queries and has_ids:
        _check_queries(data, found)
    return data


def _stacked(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _check_same(first: Kept, other: Kept) -> None:
    """Refuse a shard that has labels, queries or columns which the first has not, or lacks them."""

    def told(one: Kept) -> dict[str, bool]:
        columns = {name: values is not None for name, values in one.data.beside.items()}
        sources = {f"label {name!r}": True for name in one.data.sources}
        has = {"labels": one.data.has_labels, "query ids": one.data._qid is not None}
        return has | columns | sources

    a, b = told(first), told(other)
    for what in {**a, **b}:
        if a.get(what, False) != b.get(what, False):
            has, lacks = (first, other) if a.get(what) else (other, first)
            raise RankforceError(
                f"{lacks.path}: has no {what}, but {has.path.name} has: expected the same in all "
                "files of a folder"
            )


def _ids(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Query ids of all shards: texts where one shard has texts; rows of a query share one."""
    kinds = {piece.dtype.kind for piece in pieces}
    if kinds == {"i", "u"} and all(piece.max() < 2**63 for piece in pieces):
        pieces = [piece.astype(np.int64) for piece in pieces]
    if len(kinds) > 1 and "O" in kinds:
        pieces = [piece if piece.dtype.kind == "O" else _as_texts(piece) for piece in pieces]
    return _stacked(pieces)


def _as_texts(ids: NDArray[Any]) -> NDArray[Any]:
    values, codes = np.unique(ids, return_inverse=True)
    texts: NDArray[Any] = np.array([*map(str, values.tolist()), None], object)
    return np.asarray(texts[codes.reshape(-1)])


def _documents(found: Sequence[Kept]) -> Any:
    """Ids of documents as one Arrow array, empty where a shard has none; None if none has any."""
    pieces = [one.data._doc_ids for one in found]
    if len(pieces) == 1 or all(piece is None for piece in pieces):
        return pieces[0]
    pa: Any = importlib.import_module("pyarrow")
    blank = [pa.repeat("", one.data.rows) for one in found]
    chosen = [b if piece is None else piece for piece, b in zip(pieces, blank, strict=True)]
    return pa.chunked_array([piece.cast(pa.large_string()) for piece in chosen])


def _check_queries(data: RankingData, found: Sequence[Kept]) -> None:
    """Refuse a query whose rows are in two shards."""
    query = data.index.of_rows()
    owner = np.full(len(data.sizes), -1, np.int64)
    begin = 0
    for number, one in enumerate(found):
        own = np.unique(query[begin : begin + one.data.rows])
        again = own[owner[own] >= 0]
        if len(again):
            other = found[owner[again[0]]].path
            count = f" ({len(again)} queries are)" if len(again) > 1 else ""
            raise RankforceError(
                f"{one.path}: query {str(data.query_ids[again[0]])!r} is also in {other.name}"
                f"{count}: expected all rows of a query in one file, and ids that differ between "
                "files"
            )
        owner[own] = number
        begin += one.data.rows
