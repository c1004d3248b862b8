"""The format Parquet: columns with names, and what each is for written down in the file."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Ints
from rankforce.data.shards import Shard
from rankforce.formats.columnar import (
    Columns,
    Known,
    of_table,
    read_columns,
    reason,
    roles_of,
    stream_columns,
    write_tables,
)
from rankforce.formats.keep_columns import keep_columns
from rankforce.formats.registry import Seen
from rankforce.formats.roles import Asked
from rankforce.formats.streams import open_output
from rankforce.formats.write import slices

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

BATCH_VALUES = 1 << 21  # decoded at a time
BUFFER_BYTES = 1 << 18  # read of a column at a time
GROUP_VALUES = 1 << 23  # in a row group


def read(path: Path, asked: Asked) -> RankingData:
    """All of a Parquet file.

    >>> import tempfile
    >>> from rankforce.data.ranking_data import RankingData
    >>> path = Path(tempfile.mkdtemp(), "small.parquet")
    >>> write(iter([RankingData([[0.5], [2]], [1, 0], qid=["a", "a"])]), path)
    2
    >>> read(path, Asked())
    RankingData(2 rows, 1 queries, 1 features)
    """
    with opened(path, asked) as columns:
        return read_columns(columns, f"{path}: ")


def stream(path: Path, asked: Asked, seen: Seen) -> Generator[RankingData, None, None]:
    """Blocks of a Parquet file."""
    with opened(path, asked) as columns:
        yield from stream_columns(path, columns, seen)


def keep(shards: Sequence[Shard], asked: Asked, place: str) -> RankingData:
    """The rows of Parquet files; a block of features is read when it is needed."""
    return keep_columns(__name__, shards, asked, place, _schema)


def estimate(path: Path) -> tuple[int, int]:
    """Rows and columns of a Parquet file, as its end says."""
    with _file(path) as file:
        return file.metadata.num_rows, file.metadata.num_columns


def write(blocks: Iterator[RankingData], path: Path) -> int:
    """Write row groups of about `GROUP_VALUES` values, however small the blocks are."""
    pq: Any = importlib.import_module("pyarrow.parquet")
    with open_output(path) as stream:
        return write_tables(
            slices(blocks, GROUP_VALUES),
            lambda schema: pq.ParquetWriter(stream, schema, compression="zstd"),
            is_strict=False,
            group=_row_groups,
        )


def _row_groups(tables: Iterable[Any]) -> Generator[Any, None, None]:
    """Tables put together up to the size of a row group: small ones are slow to read."""
    pa: Any = importlib.import_module("pyarrow")
    held: list[Any] = []
    for table in tables:
        rows = table.num_rows + sum(one.num_rows for one in held)
        if held and rows * table.num_columns > GROUP_VALUES:
            yield pa.concat_tables(held)
            held = []
        held.append(table)
    if held:
        yield pa.concat_tables(held)


@contextlib.contextmanager
def opened(path: Path, asked: Asked | Known) -> Iterator[Columns]:
    """Open a Parquet file; what is raised inside becomes an error with its name."""
    pa: Any = importlib.import_module("pyarrow")
    with _file(path) as file:
        if isinstance(asked, Known):
            roles = asked.roles
        else:
            roles = roles_of(path, file.schema_arrow, of_table(path, asked))
        step = max(BATCH_VALUES // max(len(roles.features), 1), 1024)
        rows = file.metadata.num_rows

        def some(names: list[str], wanted: Ints) -> Iterator[tuple[int, Any]]:
            facts = file.metadata
            sizes = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
            ends = np.cumsum(sizes)
            for group in np.unique(np.searchsorted(ends, wanted, side="right")).tolist():
                first = int(ends[group]) - sizes[group]
                for batch in file.iter_batches(step, row_groups=[group], columns=names):
                    yield first, batch
                    first += batch.num_rows

        try:
            yield Columns(
                roles,
                lambda names: file.iter_batches(step, columns=names),
                rows,
                lambda done: done / max(rows, 1),
                some,
            )
        except (OSError, pa.ArrowInvalid, ValueError) as error:
            raise RankforceError(f"{path}: {reason(error)}") from error


@contextlib.contextmanager
def _file(path: Path) -> Iterator[Any]:
    """A Parquet file that is open."""
    pq: Any = importlib.import_module("pyarrow.parquet")
    pa: Any = importlib.import_module("pyarrow")
    try:
        # Row groups are not held ahead of use, and only pieces of them.
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    except (OSError, pa.ArrowInvalid) as error:
        raise RankforceError(f"{path}: cannot be read as Parquet: {reason(error)}") from error
    with file:
        yield file


def _schema(path: Path) -> Any:
    with _file(path) as file:
        return file.schema_arrow
