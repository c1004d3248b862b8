"""The format of bins: features in a byte a value, so that a second run on them starts at once.

A file begins with `HEAD`, its version, and where a table in JSON stands that names all arrays, with
their types, sizes and places, and a check sum of each. Nothing in it is ever run. The bins
themselves are not read but mapped: what does not fit into memory stays on disk.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file
from rankforce.common.threads import count_threads, get_pool
from rankforce.data.binned import Binned, bin_source
from rankforce.data.edges import BINS, Edges, find_team_edges
from rankforce.data.ranking_data import RankingData
from rankforce.formats.roles import Asked

HEAD = b"rankforce.bins\0\0"
VERSION = 1
PLACE = struct.Struct("<16sIIQQ")  # head, version, check sum of the table, its place and size
ALIGNED = 4096  # arrays begin at pages
NUMBERS = "iuf"  # kinds of arrays
PIECE = 1 << 26  # bytes that a check sum is of
EDGES = tuple(name for name in Edges._fields if name != "coded")  # no column has categories
# What `rf.read` may be told of columns.
TOLD = (
    "label",
    "qid",
    "doc_id",
    "weight",
    "sources",
    "features",
    "categorical",
    "ignore",
    "labels",
)
PLAIN = ("labels", "weight", "query_weight", "init_score", "positions", "propensities")


class DamagedError(RankforceError):
    """A file is not what was written."""


class Entry(NamedTuple):
    """An array of the file."""

    kind: str
    shape: tuple[int, ...]
    place: int
    sums: list[int]  # of its pieces


def write_bins(
    data: RankingData,
    path: Path,
    *,
    like: Edges | None = None,
    most: int = BINS,
    seed: int = 0,
    threads: int = 1,
) -> int:
    """Put the features of a data set into bins, their own or those of `like`; the number of rows.

    >>> import tempfile
    >>> data = RankingData([[0.5, 3], [2, 4]], [1, 0], qid=["a", "b"])
    >>> path = Path(tempfile.mkdtemp(), "small.bins")
    >>> write_bins(data, path), open_bins(path)
    (2, RankingData(2 rows, 2 queries, 2 features))
    """
    if data.categorical:
        name = data.feature_names[data.categorical[0]]
        raise RankforceError(f"feature {name!r} is categorical, and bins have no place for it")
    rows = data.rows
    if like is None and isinstance(data.features, Binned):
        like = data.features.edges
    if like is None:
        like = find_team_edges(data.features, data.index, most=most, seed=seed, threads=threads)
    elif len(like.many) != data.features.shape[1]:
        width = data.features.shape[1]
        raise RankforceError(f"the bins are of {len(like.many)} features, the data has {width}")
    if not rows or not len(like.usable):
        raise RankforceError("no feature can tell documents apart: there is nothing to put in bins")
    arrays = _arrays(data, like)
    table, end = _plan(arrays | {"bins": np.empty(0, np.uint8)}, rows * len(like.usable))
    with whole_file(path) as part, open(part, "w+b") as file:
        os.posix_fallocate(file.fileno(), 0, end)  # a full disk is told now, not by a signal
        for name, array in arrays.items():
            file.seek(table[name].place)
            file.write(array.tobytes())
        entry = table["bins"]
        bins = np.memmap(file, np.uint8, "r+", entry.place, entry.shape)
        if isinstance(data.features, Binned) and like.same(data.features.edges):
            bins[:] = data.features.bins
        else:
            bin_source(data.features, like, threads=threads, into=bins)
        bins.flush()
        sums = {name: _sums(array, threads) for name, array in arrays.items()}
        sums["bins"] = _sums(bins, threads)
        del bins
        entries = {name: own._replace(sums=sums[name])._asdict() for name, own in table.items()}
        text = json.dumps({**_about(data, like), "arrays": entries}).encode()
        file.seek(end)
        file.write(text)
        file.seek(0)
        file.write(PLACE.pack(HEAD, VERSION, zlib.crc32(text), end, len(text)))
        file.flush()
        os.fsync(file.fileno())
    return rows


def open_bins(path: Path, *, threads: int = 1) -> RankingData:
    """A file of bins; anything that is wrong with it is an error with its name."""
    try:
        with open(path, "rb") as file:
            table = _read_table(path, file)
        try:
            arrays = _map_arrays(path, table)
            _check_sums(path, arrays, table["arrays"], threads)
            return _make_data(path, table, arrays)
        except DamagedError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise RankforceError(f"{path}: the table of this file is not sound: {error}") from None
    except OSError as error:
        raise RankforceError(f"{path}: {error.strerror or error}") from None


def read(path: Path, asked: Asked) -> RankingData:
    """All of a file of bins, which has the columns that it was made with."""
    told = {name: value for name, value in asked._asdict().items() if name in TOLD and value}
    if told:
        raise RankforceError(
            f"{path}: {next(iter(told))}= says what columns are, which was said when the bins were "
            "made: leave it out"
        )
    data = open_bins(path, threads=count_threads(None))
    if asked.has_labels and not data.has_labels:
        raise RankforceError(f"{path}: there are no labels")
    return data


def write(blocks: Iterator[RankingData], path: Path) -> int:
    """Write one data set."""
    data, *more = blocks
    if more:
        raise RankforceError(f"{path}: bins are found from all rows: expected one data set")
    return write_set(data, path)


def write_set(data: RankingData, path: Path, like: RankingData | None = None) -> int:
    """Write a data set in bins of its own, or in those of another one."""
    edges = None
    if like is not None:
        if not isinstance(like.features, Binned):
            raise RankforceError("like is a file of features: expected one of bins (.bins)")
        data, edges = data.like(like.schema), like.features.edges
    return write_bins(data, path, like=edges, threads=count_threads(None))


def lost(data: RankingData, _path: Path) -> list[str]:
    """What bins have no place for."""
    has_ids = data._doc_ids is not None
    return ["bins have no place for ids of documents: left out"] if has_ids else []


def _about(data: RankingData, edges: Edges) -> dict[str, Any]:
    return {
        "made by": f"rankforce {version('rankforce')}",
        "rows": data.rows,
        "features": list(data.feature_names),
        "label": data.label_name if data.has_labels else None,
        "sources": list(data.sources),
        "is text": data.is_text,
        "usable": len(edges.usable),
    }


def _arrays(data: RankingData, edges: Edges) -> dict[str, NDArray[Any]]:
    """All that the file holds but the bins."""
    found: dict[str, NDArray[Any]] = {f"edges {n}": np.asarray(v) for n, v in _named(edges)}
    if data.has_labels:
        found["labels"] = data.labels
    found |= {name: data.beside[name] for name in PLAIN[1:] if data.beside[name] is not None}
    found |= {f"source {name}": values for name, values in data.sources.items()}
    ids = data.query_ids
    if ids.dtype.kind not in "iu":
        texts = [str(one).encode() for one in ids.tolist()]
        found["ends of query ids"] = np.cumsum([len(text) for text in texts], dtype=np.int64)
        ids = np.frombuffer(b"".join(texts), np.uint8)
    found["query ids"] = ids
    if len(data.index.row):
        found["queries"] = data.index.of_rows().astype(np.int32)
    else:
        found["sizes"] = data.sizes
    return {name: np.ascontiguousarray(values) for name, values in found.items()}


def _named(edges: Edges) -> list[tuple[str, Any]]:
    return [(name, getattr(edges, name)) for name in EDGES]


def _plan(arrays: Mapping[str, NDArray[Any]], bins: int) -> tuple[dict[str, Entry], int]:
    """Where each array stands, and where the last ends."""
    table, place = {}, ALIGNED
    for name, array in arrays.items():
        shape = (bins,) if name == "bins" else array.shape
        table[name] = Entry(array.dtype.str, shape, place, [])
        size = array.dtype.itemsize * int(np.prod(shape))
        place += -(-size // ALIGNED) * ALIGNED
    return table, place


def _sums(array: NDArray[Any], threads: int) -> list[int]:
    """Check sums of the pieces of an array."""
    flat = array.reshape(-1).view(np.uint8)
    pieces = [flat[first : first + PIECE] for first in range(0, len(flat), PIECE)]
    return get_pool(threads).map(lambda piece: zlib.crc32(piece.data), pieces)


def _read_table(path: Path, file: Any) -> dict[str, Any]:
    start = file.read(PLACE.size)
    if start[: len(HEAD)] != HEAD or len(start) < PLACE.size:
        raise RankforceError(f"{path}: is no file of bins: expected one of rankforce convert")
    _, version, mark, place, size = PLACE.unpack(start)
    if version != VERSION:
        raise RankforceError(
            f"{path}: has version {version} of the format of bins, and this rankforce reads "
            f"version {VERSION}: make it anew with rankforce convert"
        )
    file.seek(place)
    text = file.read(size)
    if len(text) != size or zlib.crc32(text) != mark:
        raise RankforceError(f"{path}: the file is cut off, or was changed: make it anew")
    table: dict[str, Any] = json.loads(text)
    return table


def _map_arrays(path: Path, table: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    found = {}
    for name, entry in table["arrays"].items():
        shape = tuple(entry["shape"])
        if np.dtype(entry["kind"]).kind not in NUMBERS:
            raise ValueError(f"{name} are no numbers")
        if np.prod(shape) == 0:
            found[name] = np.empty(shape, entry["kind"])
            continue
        mapped = np.memmap(path, np.dtype(entry["kind"]), "r", entry["place"], shape)
        found[name] = mapped if name == "bins" else np.array(mapped)
    return found


def _check_sums(path: Path, arrays: Mapping[str, Any], table: Any, threads: int) -> None:
    for name, array in arrays.items():
        if _sums(array, threads) != table[name]["sums"]:
            raise DamagedError(
                f"{path}: {name} are not what was written, the file was changed or the disk is "
                "not sound: make it anew"
            )


def _make_data(path: Path, table: Mapping[str, Any], arrays: dict[str, Any]) -> RankingData:
    edges = Edges(**{name: arrays[f"edges {name}"] for name in EDGES})
    names = list(table["features"])
    if len(arrays["bins"]) != table["rows"] * len(edges.usable) or len(names) != len(edges.many):
        raise ValueError("it has other rows or features than the bins")
    binned = Binned(arrays["bins"], edges, table["rows"], names=names, place=str(path))
    ids = arrays["query ids"]
    if "ends of query ids" in arrays:
        ends = arrays["ends of query ids"].tolist()
        text = ids.tobytes()
        begins = [0, *ends[:-1]]
        ids = np.array([text[a:b].decode() for a, b in zip(begins, ends, strict=True)], object)
    qid = ids[arrays["queries"]] if "queries" in arrays else np.repeat(ids, arrays["sizes"])
    data = RankingData(
        binned,
        arrays.get("labels"),
        qid=qid,
        feature_names=names,
        label_name=table["label"] or "label",
        sources={name: arrays[f"source {name}"] for name in table["sources"]},
        **{name: arrays.get(name) for name in PLAIN[1:]},
    )
    data.is_text = table["is text"]
    return data
