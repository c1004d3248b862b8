"""Reads a data set from a file of any known format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.data.labels import choose_labels, labels_beside, split_labels
from rankforce.data.ranking_data import RankingData

PACKED = (".gz", ".zst")


def read(
    path: str | Path,
    *,
    format: str | None = None,
    labels: str | Sequence[str] | None = None,
    **columns: Any,
) -> RankingData:
    """Read LETOR or SVMlight text, Parquet or CSV; packed with gzip or zstd if you like.

    The format is that of the name's ending (`.parquet`, `.csv`, `.tsv`, anything else is text), or
    `format` ("letor", "parquet", "csv"). Text without `qid:` takes the sizes of its queries from a
    file of the same name with `.query` or `.group` behind it, weights from `.weight`, and further
    label columns, which become sources, from `.labels` (`rankforce.data.labels` says how it looks).

    `labels` are names of label columns, as a list or with commas: the first is the label, the
    others are sources; that of a line of text is called "label". `columns` names columns of tables:
    `label=`, `qid=`, `doc_id=`, `weight=`, `sources=`, `features=`.

    >>> import tempfile
    >>> name = Path(tempfile.mkdtemp()) / "small.txt"
    >>> _ = name.write_text("2 qid:7 1:0.5 2:1 # docid = D1\\n0 qid:7 1:0.25 # docid = D2\\n")
    >>> data = read(name)
    >>> data, data.features.tolist(), data.doc_ids.tolist()
    (RankingData(2 rows, 1 queries, 2 features), [[0.5, 1.0], [0.25, 0.0]], ['D1', 'D2'])
    >>> _ = name.with_name("small.txt.labels").write_text("click,age\\n0.5,3\\n,1\\n")
    >>> read(name, labels="label,click").sources
    {'click': array([0.5, nan])}
    """
    data = _read(Path(path), format, labels, columns)
    asked = {"format": format, "labels": labels, **columns}
    given = {key: value for key, value in asked.items() if value is not None}
    data.origin = {"file": str(path), **given}
    return data


def _read(
    place: Path,
    format: str | None,
    labels: str | Sequence[str] | None,
    columns: dict[str, Any],
) -> RankingData:
    if not place.is_file():
        reason = "it is a folder" if place.is_dir() else "there is no such file"
        raise ValueError(f"cannot read {place}: {reason}")
    kind = format or find_format(place)
    if kind == "letor":
        if columns:
            names = ", ".join(columns)
            raise ValueError(f"{place} is text, which has no named columns: leave out {names}")
        return read_letor(place, labels=labels)
    from rankforce.data.columnar import read_csv, read_parquet

    asked = _with_labels(columns, labels)
    if kind == "parquet":
        return read_parquet(place, **asked)
    if kind == "csv":
        return read_csv(place, **asked)
    raise ValueError(f"unknown format {kind!r}: choose 'letor', 'parquet' or 'csv'")


def _with_labels(columns: dict[str, Any], labels: str | Sequence[str] | None) -> dict[str, Any]:
    """The columns to read, where `labels` names the label and the sources."""
    if labels is None:
        return columns
    for name in ("label", "sources"):
        if columns.get(name):
            raise ValueError(
                f"labels={labels!r} and {name}={columns[name]!r}: labels names the label and the "
                f"sources, leave out {name}"
            )
    first, *others = split_labels(labels)
    return {**columns, "label": first, "sources": others}


def find_format(path: Path) -> str:
    """The format that a file's name says.

    >>> find_format(Path("a.csv.gz")), find_format(Path("train.txt")), find_format(Path("b.pq"))
    ('csv', 'letor', 'parquet')
    """
    name = path.name.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    return "csv" if name.endswith((".csv", ".tsv")) else "letor"


def read_letor(path: Path, *, labels: str | Sequence[str] | None = None) -> RankingData:
    """Read LETOR or SVMlight text, with the files beside it."""
    from rankforce.data.text import read_text

    file = read_text(path)
    group = None
    if file.qid is None:
        group = read_beside(path, (".query", ".group"))
        if group is None:
            raise ValueError(
                f"{path} has no qid: and there is no {path.name}.query beside it: "
                "which rows belong to one query?"
            )
    rows = len(file.labels)
    weight = read_weights(path, rows)
    chosen = choose_labels(path, file.labels, labels_beside(path, rows), labels)
    try:
        return RankingData(
            file.features,
            chosen.values,
            qid=file.qid,
            group=group,
            weight=weight,
            doc_ids=file.doc_ids,
            label_name=chosen.name,
            sources=chosen.sources,
        )
    except ValueError as error:
        raise ValueError(f"{path} and the files beside it: {error}") from None


def read_weights(path: Path, rows: int) -> NDArray[np.float64] | None:
    """The weights beside a text file of so many rows; None if there are none."""
    weight = read_beside(path, (".weight",))
    if weight is not None and len(weight) != rows:
        raise ValueError(f"{path}.weight has {len(weight)} lines, {path} has {rows} rows")
    return weight


def read_beside(path: Path, endings: tuple[str, ...]) -> NDArray[np.float64] | None:
    """Numbers, one a line, of a file with one more ending; the packing's may be left out."""
    names = [path.name]
    if path.suffix in PACKED:
        names.append(path.name.removesuffix(path.suffix))
    for name in names:
        for ending in endings:
            beside = path.with_name(name + ending)
            if beside.is_file():
                return read_numbers(beside)
    return None


def read_numbers(path: str | Path) -> NDArray[np.float64]:
    """Numbers of a text file, one a line."""
    numbers = []
    try:
        text = Path(path).read_text(errors="replace")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            numbers.append(float(line))
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: {line.strip()[:60]!r}: expected one number"
            ) from None
    return np.array(numbers)
