"""Features that stay in a Parquet file: a source that reads the rows it is asked for."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.data.frames import fill, read_column
from rankforce.data.schema import some_names
from rankforce.data.sources import Blocks, Rows, block_rows


class StoredColumns:
    """Columns of numbers of a Parquet file, all or those named, as features for `RankingData`.

    Of what is read, only a block is kept at a time. That float32 rounds a number is not said.

    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> path = tempfile.mkdtemp() + "/features.parquet"
    >>> pq.write_table(pa.table({"age": [1, 2, 3], "size": [0.5, None, 4]}), path)
    >>> source = StoredColumns(path, ["size", "age"])
    >>> source.shape, source.take([2, 1]).tolist()
    ((3, 2), [[4.0, 3.0], [nan, 2.0]])
    """

    def __init__(self, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
        self.path = os.fspath(path)
        with self._open() as file:
            known, facts = file.schema_arrow.names, file.metadata
            sizes = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
        self.names = list(known if names is None else names)
        if missing := [name for name in self.names if name not in known]:
            has = f"it has {some_names(known)}"
            raise RankforceError(f"{self.path}: no column {some_names(missing)}: {has}")
        self._ends = np.cumsum(sizes, dtype=np.int64)  # the row behind each group
        self.shape = int(sum(sizes)), len(self.names)

    def blocks(self, rows: int | None = None) -> Blocks:
        """Consecutive rows of the file."""
        if self.shape[0] == 0:
            return iter([(0, np.empty(self.shape, np.float32))])
        return self._read(0, len(self._ends), rows)

    def take(self, rows: Any) -> Rows:
        """Some rows; groups of the file that have none of them are not read."""
        wanted = np.arange(self.shape[0])[rows]
        taken = np.empty((len(wanted), self.shape[1]), np.float32)
        order = np.argsort(wanted, kind="stable")
        for group in np.unique(np.searchsorted(self._ends, wanted, side="right")).tolist():
            for first, block in self._read(group, group + 1):
                begin, end = np.searchsorted(wanted, [first, first + len(block)], sorter=order)
                taken[order[begin:end]] = block[wanted[order[begin:end]] - first]
        return taken

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        """The file; what goes wrong with it becomes an error with its name."""
        pq: Any = importlib.import_module("pyarrow.parquet")
        try:
            with pq.ParquetFile(self.path, pre_buffer=False) as file:  # nothing is held ahead
                yield file
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise RankforceError(f"{self.path}: {reason}") from error

    def _read(self, begin: int, end: int, rows: int | None = None) -> Blocks:
        """Blocks of some groups of rows."""
        first = int(self._ends[begin - 1]) if begin else 0
        step = rows or block_rows(self.shape[1])
        with self._open() as file:
            groups = list(range(begin, end))
            for batch in file.iter_batches(step, row_groups=groups, columns=self.names):
                block = np.empty((batch.num_rows, self.shape[1]), np.float32)
                columns = [self._column(batch, name) for name in self.names]
                fill(block, columns, self.names, first=first)
                yield first, block
                first += len(block)

    def _column(self, batch: Any, name: str) -> Any:
        column = read_column(batch.column(name), f"column {name!r}", "pyarrow")
        if column.categories is not None:
            raise RankforceError(f"column {name!r} holds categories: expected numbers")
        return column
