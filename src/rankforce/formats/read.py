"""Reads a data set from a file of any known format."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.memory import available_memory
from rankforce.common.notes import note
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema
from rankforce.data.shards import Shard
from rankforce.data.sources import in_memory
from rankforce.formats.folder import files_to_read
from rankforce.formats.registry import Format
from rankforce.formats.roles import OF_ROWS, Asked, split_labels
from rankforce.formats.streams import PathLike, is_stream, local_file

MEMORY, DISK = "memory", "disk"  # where features are kept
NAMES = {"query": "qid", "document": "doc_id"}  # what roles are called elsewhere


def read(
    path: PathLike,
    *,
    format: str | None = None,
    labels: str | Sequence[str] | None = None,
    like: Any = None,
    n_features: int | None = None,
    needs: Sequence[str] | None = None,
    keep: str | None = None,
    **columns: Any,
) -> RankingData:
    """Read LETOR or SVMlight text, Parquet, CSV or bins; compressed with gzip or zstd if you like.

    A folder is the files of one data set: all of one format, in the order of their names (part.2
    before part.10), with the same columns, and each query in one of them. Its features stay on
    disk, and a block of them is read when it is needed; labels and queries are in memory. Hidden
    files and those that begin with `_` do not count. `keep` says where features are, "memory" or
    "disk"; without it a file is in memory if that leaves half of what is free.

    The format is that of the name's ending (`.parquet`, `.csv`, `.tsv`, anything else is text), or
    `format` ("letor", "parquet", "csv"); "-" is standard input, whose first line tells. Text
    without `qid:` takes the sizes of its queries from a file of the same name with `.query` or
    `.group` behind it, weights from `.weight`, and further label columns, which become sources,
    from `.labels` (`rankforce.formats.labels` says how it looks).

    `labels` are names of label columns, as a list or with commas: the first is the label, the
    others are sources; that of a line of text is called "label". `columns` names columns of tables:
    `label=`, `query=`, `document=`, `weight=`, `sources=`, `features=`; `categorical=` and
    `ignore=` are lists of names, for text of numbers. `label=None` says that there are no labels.

    `like` is a ranker, or data: its features are read, and labels need not be there. `n_features`
    is how many features text has, the last of which may not occur. `needs` says what must be there,
    "label" and "qid"; without queries all rows are one. With "doc_id" among them ids of documents
    are kept for a folder too, if it has some.

    >>> import pathlib, tempfile
    >>> name = pathlib.Path(tempfile.mkdtemp()) / "small.txt"
    >>> _ = name.write_text("2 qid:7 1:0.5 2:1 # docid = D1\\n0 qid:7 1:0.25 # docid = D2\\n")
    >>> data = read(name)
    >>> data, data.features.tolist(), data.doc_ids.tolist()
    (RankingData(2 rows, 1 queries, 2 features), [[0.5, 1.0], [0.25, 0.0]], ['D1', 'D2'])
    >>> _ = name.with_name("small.txt.labels").write_text("click,age\\n0.5,3\\n,1\\n")
    >>> read(name, labels="label,click").sources
    {'click': array([0.5, nan])}
    """
    given = {"format": format, "labels": labels, "n_features": n_features, **columns}
    schema = schema_of(like)
    asked = make_asked(columns, like=schema, needs=needs)
    asked = asked._replace(labels=labels, n_features=n_features)
    keep = None if keep is None else check_choice("keep", keep, (MEMORY, DISK))
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(local_file(path))
        kind, files = files_to_read(place, format, is_new=is_stream(path))
        if files != [place] and "doc_id" not in (needs or ()) and not asked.doc_id:
            asked = asked._replace(has_documents=False)
        if files == [place] and not _stays(kind, place, keep, path):
            data = kind.read(place, asked)
        elif not kind.can_keep:
            raise RankforceError(f"{path}: a folder of {kind.title} is no data set: name one file")
        else:
            data = kind.keep([Shard.of(file) for file in files], asked, str(place))
            if is_stream(path):
                weakref.finalize(data.features, stack.pop_all().close)
    if keep == MEMORY:
        data.features = in_memory(data.features)
    data.origin = {} if is_stream(path) else {"file": str(path)} | _told(given)
    return data if schema is None else data.like(schema, place=str(path))


def _stays(kind: Format, file: Path, keep: str | None, path: PathLike) -> bool:
    """Whether the features of a file stay there: as the caller says, or if they are too many."""
    if keep is not None or not kind.can_keep:
        return keep == DISK and kind.can_keep
    rows, columns = kind.estimate(file)
    need, free = rows * columns * 4, available_memory()
    if 2 * need <= free:
        return False
    note(
        f"{path}: about {rows:,} rows x {columns:,} columns take {need / 1e9:,.1f} GB, more than "
        f"half of the {free / 1e9:,.1f} GB of memory that are free: features stay on disk "
        "(keep='memory' reads them all)"
    )
    return True


def _told(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the caller said, for whoever reads the file again."""
    no = {"label", "qid"}  # None means that there is none
    named = {NAMES.get(key, key): value for key, value in given.items()}
    return {key: value for key, value in named.items() if value is not None or key in no}


def schema_of(like: Any) -> Schema | None:
    """The features of a ranker, a model or a data set."""
    found = getattr(like, "model_", like)
    found = getattr(found, "schema", found)
    if found is None or isinstance(found, Schema):
        return found
    raise RankforceError(
        f"like is a {type(like).__name__}: give a trained ranker, or a RankingData"
    )


def make_asked(
    columns: Mapping[str, Any],
    *,
    like: Schema | None = None,
    needs: Sequence[str] | None = None,
) -> Asked:
    """What the caller says about columns, under either name of a role."""
    named = {NAMES.get(key, key): value for key, value in columns.items()}
    beside = {r: column for r in OF_ROWS if (column := named.pop(r, None)) is not None}
    unknown = sorted({*named} - {*Asked._fields[:8]})
    if unknown:
        known = ", ".join((*Asked._fields[:8], *NAMES, *OF_ROWS))
        raise RankforceError(f"unknown role of a column {unknown[0]!r}: choose from {known}")
    needs = (("qid",) if like is not None else ("label", "qid")) if needs is None else needs
    has = {
        role: False if role in named and named[role] is None else True if role in needs else None
        for role in ("label", "qid")
    }
    given = {key: value for key, value in named.items() if value is not None}
    asked = Asked(**given, like=like, has_labels=has["label"], has_queries=has["qid"])
    return asked._replace(beside=beside)


def with_labels(asked: Asked, labels: str | Sequence[str] | None) -> dict[str, Any]:
    """The label and the sources that `labels` names."""
    if labels is None:
        return {}
    for name in ("label", "sources"):
        if getattr(asked, name):
            raise RankforceError(
                f"labels={labels!r} and {name}={getattr(asked, name)!r}: labels names the label "
                f"and the sources, leave out {name}"
            )
    first, *others = split_labels(labels)
    return {"label": first, "sources": others}
