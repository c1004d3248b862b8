"""Files of columns whose features stay where they are: Parquet, or CSV."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Ints
from rankforce.data.schema import some_names
from rankforce.data.shards import Shard
from rankforce.data.sources import Blocks
from rankforce.formats.columnar import METADATA, Known, kind_of_column, of_table, roles_of
from rankforce.formats.gather import codes_of, gather, put_features, survey
from rankforce.formats.keep import Kept, check_sizes, join
from rankforce.formats.roles import Asked, NoRowsError, plain_columns

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData


class ColumnsPart(NamedTuple):
    """The features of a file of columns."""

    shard: Shard
    rows: int
    known: Known
    home: str  # the module that opens such files

    def blocks(self, wanted: Ints | None = None) -> Blocks:
        """Batches of the file, as rows."""
        roles = self.known.roles
        codes = codes_of(roles)
        with importlib.import_module(self.home).opened(self.shard.path, self.known) as columns:
            found = _numbered(columns.read(roles.features))
            if wanted is not None and columns.some is not None:
                found = columns.some(roles.features, wanted)
            for first, batch in found:
                block = np.empty((batch.num_rows, len(roles.features)), np.float32)
                put_features(block, batch, roles, codes, first=first)
                yield first, block
                if wanted is not None and first + len(block) > wanted[-1]:
                    return


def _numbered(batches: Any) -> Iterator[tuple[int, Any]]:
    """Batches with the number of the first row of each."""
    first = 0
    for batch in batches:
        yield first, batch
        first += batch.num_rows


def keep_columns(
    home: str,
    shards: Sequence[Shard],
    asked: Asked,
    place: str,
    read_schema: Callable[[Path], Any],
) -> RankingData:
    """The rows of files that a module opens; what is said of columns holds for all of them."""
    opened = importlib.import_module(home).opened
    asked = of_table(Path(place), asked)
    check_sizes(shards)
    schema = _join_schemas(shards, read_schema)
    roles = roles_of(place, schema, asked)
    if not asked.has_documents:
        roles = roles._replace(doc_id=None)
    known = Known(roles, schema)

    def batches(names: list[str]) -> Iterator[Any]:
        for shard in shards:
            with opened(shard.path, known) as columns:
                yield from columns.read(names)

    decided = survey(batches(list(roles.coded)) if roles.coded else (), roles, place=f"{place}: ")
    beside = roles.without_features()
    names = plain_columns(beside) or decided.features[:1]
    found = []
    for shard in shards:
        with opened(shard.path, Known(beside, schema)) as columns:
            try:
                data = gather(columns.read(names), beside, columns.rows)
            except NoRowsError:
                continue
        part = ColumnsPart(shard, data.rows, Known(decided, schema), home)
        found.append(Kept(data, part))
    joined = join(
        place,
        shards,
        found,
        names=decided.features,
        checks_queries=asked.has_queries is True,
        categorical=decided.categorical,
        categories=decided.categories or None,
    )
    joined.renumbered = list(decided.renumbered)
    return joined


def _join_schemas(shards: Sequence[Shard], read_schema: Callable[[Path], Any]) -> Any:
    """The columns that all shards have, each of the first type that says something."""
    pa: Any = importlib.import_module("pyarrow")
    first, joined = shards[0], read_schema(shards[0].path)
    for shard in shards[1:]:
        other = read_schema(shard.path)
        _check_names(shard, first, other.names, joined.names)
        _check_written(shard, first, other, joined)
        for name in joined.names:
            old, new = joined.field(name).type, other.field(name).type
            if pa.types.is_null(old):
                joined = joined.set(joined.get_field_index(name), pa.field(name, new))
            elif not pa.types.is_null(new) and kind_of_column(old) != kind_of_column(new):
                raise RankforceError(
                    f"{shard.path}: column {name!r} holds {kind_of_column(new)}, but "
                    f"{kind_of_column(old)} in {first.path.name}: expected one kind in all files"
                )
    return joined


def _check_names(shard: Shard, first: Shard, names: list[str], known: list[str]) -> None:
    lacks = [name for name in known if name not in names]
    extra = [name for name in names if name not in known]
    if lacks or extra:
        told = [f"it lacks {some_names(lacks)}"] if lacks else []
        told += [f"it has {some_names(extra)} besides"] if extra else []
        raise RankforceError(
            f"{shard.path}: has other columns than {first.path.name}: {', '.join(told)}"
        )


def _check_written(shard: Shard, first: Shard, other: Any, joined: Any) -> None:
    """Refuse files of rankforce that disagree: codes of categories are theirs alone."""
    a, b = (
        json.loads((schema.metadata or {}).get(METADATA, b"null")) or {}
        for schema in (joined, other)
    )
    if a == b:
        return
    what = some_names(sorted(key for key in {**a, **b} if a.get(key) != b.get(key)))
    raise RankforceError(
        f"{shard.path}: rankforce wrote other {what} into it than into {first.path.name}: convert "
        "the files they came from again, as one folder"
    )
