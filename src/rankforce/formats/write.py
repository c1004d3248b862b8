"""Writes ranking data to a file of any known format, a block of rows at a time."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.columns import cut_columns
from rankforce.data.sources import pieces
from rankforce.formats.registry import format_to_write
from rankforce.formats.roles import OF_ROWS
from rankforce.formats.streams import PathLike

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData


class Rows(NamedTuple):
    """Some rows of a data set."""

    first: int  # number of the first row, for messages
    features: Any
    labels: NDArray[np.float64]
    qid: NDArray[Any]
    doc_ids: NDArray[Any] | None
    beside: dict[str, Any]  # the columns that are there, weights of queries in those of rows


def write(
    data: RankingData | Iterable[RankingData], path: PathLike, format: str | None = None
) -> int:
    """Write data, or blocks of it one after the other, to one file; the number of rows.

    The format is "letor", "parquet" or "csv", or comes from the name; `.gz` and `.zst` compress
    text. The file appears under its name when all of it is there. LETOR text has no place for
    names and weights, and its sources go to a file `.labels` beside it; weights of queries go into
    those of rows. No file has a place for preferences.

    >>> import tempfile, pathlib
    >>> from rankforce.data.ranking_data import RankingData
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.txt")
    ...     rows = write(RankingData([[0.1, 2]], [1], qid=[7], doc_ids=["a"]), path)
    ...     rows, path.read_text()
    (1, '1 qid:7 1:0.1 2:2 # docid = a\\n')
    """
    target = Path(path)
    blocks: Iterator[Any] = iter([data] if hasattr(data, "features") else data)
    return format_to_write(target, format).write(blocks, target)


def slices(blocks: Iterator[RankingData], values: int) -> Iterator[tuple[RankingData, Rows]]:
    """Blocks cut into rows of about that many values, and the block that each comes from."""
    names: list[str] | None = None
    before = 0
    for data in blocks:
        if names is not None and names != data.feature_names:
            raise RankforceError(f"the block from row {before} has other features than the first")
        names = data.feature_names
        step = max(values // max(len(names), 1), 1)
        qid = data.qid  # made when asked for
        beside = data.beside | {"weight": data.row_weight}
        for start, features in pieces(data.features, step):
            rows = slice(start, start + features.shape[0])
            numbers = np.arange(start, rows.stop)
            cut = Rows(
                before + start,
                features,
                data.labels[rows],
                qid[rows],
                data.doc_ids_of(numbers),
                cut_columns(beside, rows, slice(0)),
            )
            yield data, cut
        before += data.rows
    if names is None:
        raise RankforceError("there is no block to write: expected one or more")


def rare_columns(data: RankingData) -> list[str]:
    """Columns of rows that have no usual name in files."""
    return [name for name in OF_ROWS if data.beside[name] is not None]


def lost_in_text(
    title: str, data: RankingData, *, label: str, sources: str, **has: bool
) -> list[str]:
    """What text does not say as the data does: names of what it `has`, the label, the sources."""
    has |= dict.fromkeys(rare_columns(data), True)
    has["the marks and names of categories"] = bool(data.categorical)
    what = ", ".join(name.replace("_", " ") for name, is_there in has.items() if is_there)
    said = {
        f"{title} has no place for {what}: left out": bool(what),
        f"the label {data.label_name!r} is called {label!r}": label != data.label_name,
        sources: bool(data.sources),
        "the source has no labels: 0 is written": not data.has_labels,
    }
    return [sentence for sentence, holds in said.items() if holds]


def text_array(values: NDArray[Any]) -> Any:
    """Ids as an Arrow array of text, empty where there is none."""
    pa: Any = importlib.import_module("pyarrow")
    return pa.array(["" if value is None else str(value) for value in values], pa.string())


def id_array(values: NDArray[Any]) -> Any:
    """Query ids as an Arrow array, of numbers where they are."""
    pa: Any = importlib.import_module("pyarrow")
    return pa.array(values) if values.dtype.kind in "iuf" else text_array(values)
