"""Dask collections: their blocks become tables, whole queries each, and then files of workers."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.data.schema import usual_names
from rankforce.formats.columnar import as_table, roles_of
from rankforce.formats.read import make_asked
from rankforce.training.cluster.crew import Crew
from rankforce.training.cluster.given import COLUMNS, Blocks, Given
from rankforce.training.cluster.messages import Part
from rankforce.training.cluster.plan import Move, find_moves


class InBlocks:
    """The blocks of Dask collections, computed where Dask likes, with no query in two of them."""

    def __init__(self, crew: Crew, given: Given, voice: Voice) -> None:
        assert isinstance(given.what, Blocks)
        self._name = given.name
        self._told, query = plan_columns(given.what)
        wanted = make_tables(given.what, self._told)
        tables = crew.client.compute(wanted, workers=crew.addresses)
        looks = crew.gather([crew.on_any(look, table, query) for table in tables])
        moves = find_moves([ids for _, ids in looks])
        if moves:
            count = len(np.unique(np.concatenate([move.queries for move in moves])))
            voice.say(f"{given.name}: rows of {count} queries move to the block that has the first")
            tables = move_rows(crew, tables, moves, query)
            looks = crew.gather([crew.on_any(look, table, query) for table in tables])
        kept = [(table, rows) for table, (rows, _) in zip(tables, looks, strict=True) if rows]
        self._tables = [table for table, _ in kept]
        self.rows = [rows for _, rows in kept]

    def send(self, crew: Crew, shares: Sequence[range], folder: str) -> list[Part]:
        """What each worker has, once it is there; Dask need not keep the blocks any more."""
        waiting = []
        for rank, (worker, share) in enumerate(zip(crew.workers, shares, strict=True)):
            place = f"{worker.folder}/{folder}/{self._name}"
            waiting += [
                crew.submit(rank, put_table, self._tables[number], f"{place}-{number}.parquet")
                for number in share or [0]
            ]
        self._tables = []
        files, told = iter(crew.gather(waiting)), {**self._told, "format": "parquet"}
        return [
            Part(self._name, [next(files) for _ in share or [0]], told, is_empty=not share)
            for share in shares
        ]


def plan_columns(what: Blocks) -> tuple[dict[str, Any], str]:
    """What `rf.read` is to be told of the tables, and the column of queries.

    Columns that are missing are an error before anything is computed.
    """
    names = column_names(what)
    taken, told = {*names}, dict[str, Any]()
    for argument in what.columns:
        column = COLUMNS[argument]
        while column in taken:
            column += "_"
        taken.add(column)
        told[COLUMNS[argument]] = column
    if "y" in what.columns and "qid" not in what.columns and "qid" in names:
        told["query"] = "qid"
    if what.categorical:
        told["categorical"] = [names[c] if isinstance(c, int) else c for c in what.categorical]
    meta = _meta_table(what, names, told)
    roles = roles_of("the Dask collection", meta.schema, make_asked(told))
    assert roles.qid is not None
    return told, roles.qid


def column_names(what: Blocks) -> list[str]:
    """Names of the columns of features."""
    columns = getattr(what.features, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    shape = what.features.shape
    if len(shape) != 2 or np.isnan(shape[1]):
        raise RankforceError(f"X is a Dask array of shape {shape}: expected rows and columns")
    if what.names is not None and len(what.names) != shape[1]:
        raise RankforceError(f"{len(what.names)} feature names for {shape[1]} features")
    return list(what.names) if what.names is not None else usual_names(shape[1])


def _meta_table(what: Blocks, names: list[str], told: Mapping[str, Any]) -> Any:
    """A table without rows that has the columns of all others."""
    is_frame = hasattr(what.features, "columns")
    features = what.features._meta if is_frame else np.empty((0, len(names)))
    columns = {name: np.empty(0) for name in what.columns}
    return make_table(features, columns, names, told)


def make_tables(what: Blocks, told: Mapping[str, Any]) -> list[Any]:
    """A table for each block, not computed yet."""
    dask: Any = importlib.import_module("dask")
    names = column_names(what)
    features = _delayed(what.features)
    columns = {
        name: _delayed(_like(what.features, values)) for name, values in what.columns.items()
    }
    for name, blocks in columns.items():
        if len(blocks) != len(features):
            raise RankforceError(
                f"{name} has {len(blocks)} blocks, the features have {len(features)}: expected the "
                "same rows in each"
            )
    make = dask.delayed(make_table, pure=False)
    return [
        make(block, {name: blocks[n] for name, blocks in columns.items()}, names, dict(told))
        for n, block in enumerate(features)
    ]


def _like(features: Any, values: Any) -> Any:
    """Values in blocks of the same rows as those of an array, if the numbers of rows are known."""
    rows = getattr(features, "chunks", [[np.nan]])[0]
    can = hasattr(values, "chunks") and not np.isnan(sum(rows)) and not np.isnan(values.shape[0])
    return values.rechunk({0: rows}) if can else values


def _delayed(collection: Any) -> list[Any]:
    """The blocks of rows of a collection."""
    if hasattr(collection, "rechunk") and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    found = collection.to_delayed()
    return list(found.ravel()) if isinstance(found, np.ndarray) else list(found)


def make_table(
    features: Any, columns: Mapping[str, Any], names: Sequence[str], told: Mapping[str, Any]
) -> Any:
    """Features and what belongs to them as one table."""
    pa: Any = importlib.import_module("pyarrow")
    if hasattr(features, "columns"):
        table = as_table(pa, features).rename_columns(list(names))
    else:
        dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        table = pa.table({name: dense[:, place] for place, name in enumerate(names)})
    for argument, values in columns.items():
        if len(values) != table.num_rows:
            raise RankforceError(
                f"a block of {argument} has {len(values)} rows, that of the features "
                f"{table.num_rows}: expected the same rows in each"
            )
        column = told[COLUMNS[argument]]
        table = table.append_column(column, pa.array(np.asarray(values).reshape(-1)))
    return table


def look(table: Any, query: str) -> tuple[int, NDArray[Any]]:
    """The number of rows, and the ids of the queries."""
    return table.num_rows, table.column(query).unique().to_numpy(zero_copy_only=False)


def move_rows(crew: Crew, tables: Sequence[Any], moves: Sequence[Move], query: str) -> list[Any]:
    """Tables in which each query is whole: rows that moved come behind those that were there."""
    gone: dict[int, list[Any]] = {}
    come: dict[int, list[Any]] = {}
    for move in moves:
        gone.setdefault(move.source, []).append(move.queries)
        piece = crew.on_any(pick, tables[move.source], query, [move.queries], True)
        come.setdefault(move.target, []).append(piece)
    left = [
        crew.on_any(pick, table, query, gone[number], False) if number in gone else table
        for number, table in enumerate(tables)
    ]
    return [
        crew.on_any(join_tables, [table, *come[number]]) if number in come else table
        for number, table in enumerate(left)
    ]


def pick(table: Any, query: str, ids: Sequence[NDArray[Any]], is_wanted: bool) -> Any:
    """The rows of these queries, or of all others."""
    pa: Any = importlib.import_module("pyarrow")
    compute: Any = importlib.import_module("pyarrow.compute")
    column = table.column(query)
    chosen = pa.array(np.concatenate(ids)).cast(column.type)
    found = compute.is_in(column, value_set=chosen)
    return table.filter(found if is_wanted else compute.invert(found))


def join_tables(tables: Sequence[Any]) -> Any:
    """Tables one behind the other."""
    pa: Any = importlib.import_module("pyarrow")
    return pa.concat_tables(tables)


def put_table(table: Any, path: str) -> str:
    """Write a file of a worker's own."""
    pq: Any = importlib.import_module("pyarrow.parquet")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="none")
    return path
