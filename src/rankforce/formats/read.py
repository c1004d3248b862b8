"""Reads a data set from a file of any known format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema, numbers_from, some_names
from rankforce.formats.labels import choose_labels, labels_beside, split_labels
from rankforce.formats.open import first_bytes, is_stream, local_file
from rankforce.formats.roles import OF_ROWS, Asked

PACKED = (".gz", ".zst")
NAMES = {"query": "qid", "document": "doc_id"}  # what roles are called elsewhere
OF_TEXT = {"label", "qid", "categorical", "ignore"}  # that also a line of text knows
PAIR = re.compile(rb"(?:^|\s)(?:qid|\d+):\S")


def read(
    path: str | Path,
    *,
    format: str | None = None,
    labels: str | Sequence[str] | None = None,
    like: Any = None,
    n_features: int | None = None,
    needs: Sequence[str] | None = None,
    **columns: Any,
) -> RankingData:
    """Read LETOR or SVMlight text, Parquet or CSV; compressed with gzip or zstd if you like.

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
    "label" and "qid"; without queries all rows are one.

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
    given = {"format": format, "labels": labels, "n_features": n_features, **columns}
    schema = schema_of(like)
    asked = make_asked(columns, like=schema, needs=needs)
    with local_file(path) as place:
        kind = check_format(place, format, is_new=is_stream(path))
        data = _read(place, kind, asked, labels, n_features)
    data.origin = {} if is_stream(path) else {"file": str(path)} | _told(given)
    return data if schema is None else data.like(schema, place=str(path))


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


def _read(
    place: Path,
    kind: str,
    asked: Asked,
    labels: str | Sequence[str] | None,
    n_features: int | None,
) -> RankingData:
    if kind == "letor":
        return read_letor(place, labels=labels, asked=asked, n_features=n_features)
    if n_features is not None:
        raise RankforceError(f"n_features={n_features} is for text: {place} names its features")
    from rankforce.formats.columnar import read_csv, read_parquet

    read_table = read_parquet if kind == "parquet" else read_csv
    return read_table(place, **(asked._asdict() | with_labels(asked, labels)))


def check_format(place: Path, format: str | None, *, is_new: bool = False) -> str:
    """The format of a file that is there; `is_new` says that its name tells nothing."""
    if not place.is_file():
        reason = "it is no plain file" if place.exists() else "there is no such file"
        reason = "it is a folder" if place.is_dir() else reason
        raise RankforceError(f"cannot read {place}: {reason}")
    kind = format or (_sniff(place) if is_new else find_format(place))
    if kind not in ("letor", "parquet", "csv"):
        raise RankforceError(f"unknown format {kind!r}: choose 'letor', 'parquet' or 'csv'")
    return kind


def _sniff(place: Path) -> str:
    """The format that the first line of a file shows."""
    head = first_bytes(place)
    if head.startswith(b"PAR1"):
        return "parquet"
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    return "letor" if not lines or PAIR.search(lines[0]) else "csv"


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


def read_letor(
    path: Path,
    *,
    labels: str | Sequence[str] | None = None,
    asked: Asked | None = None,
    n_features: int | None = None,
) -> RankingData:
    """Read LETOR or SVMlight text, with the files beside it; features are called by their number.

    >>> import tempfile
    >>> name = Path(tempfile.mkdtemp()) / "small.txt"
    >>> _ = name.write_text("qid:7 3:0.5\\nqid:7 1:2\\n")
    >>> data = read_letor(name, asked=Asked(has_labels=None), n_features=4)
    >>> data.feature_names, data.has_labels
    (['1', '2', '3', '4'], False)
    """
    from rankforce.formats.letor import read_text

    asked = Asked() if asked is None else asked
    check_text_roles(path, asked)
    file = read_text(path, needs_labels=asked.has_labels is True)
    group = None
    if file.qid is None:
        group = read_beside(path, (".query", ".group"))
        if group is None and asked.has_queries is not True:
            group = np.array([len(file.features)])
        if group is None:
            raise RankforceError(
                f"{path} has no qid: and there is no {path.name}.query beside it: "
                "which rows belong to one query?"
            )
    rows = len(file.labels)
    weight = read_weights(path, rows)
    chosen = choose_labels(path, file.labels, labels_beside(path, rows), labels)
    has_labels = asked.has_labels is not False and (file.has_labels or labels is not None)
    features, names = text_features(path, file.features, file.base, asked, n_features)
    try:
        data = RankingData(
            features,
            chosen.values if has_labels else None,
            qid=file.qid,
            group=group,
            weight=weight,
            doc_ids=file.doc_ids,
            label_name=chosen.name,
            sources=chosen.sources,
            feature_names=names,
            categorical=asked.categorical or None,
        )
    except ValueError as error:
        raise RankforceError(f"{path} and the files beside it: {error}") from None
    data.is_text = True
    return data


def check_text_roles(path: Path, asked: Asked) -> None:
    """Refuse names of columns that text does not have."""
    given = {key for key in Asked._fields[:8] if getattr(asked, key)} - OF_TEXT | {*asked.beside}
    if given:
        names = ", ".join(sorted(given))
        raise RankforceError(f"{path} is text, which has no named columns: leave out {names}")


def text_features(
    path: Path, features: Any, base: int, asked: Asked, n_features: int | None
) -> tuple[Any, list[str]]:
    """The matrix of a text file, as wide as it is said to be, and the numbers of its features."""
    wide = features.shape[1]
    if n_features is not None:
        if isinstance(n_features, bool) or not isinstance(n_features, int) or n_features < 1:
            raise RankforceError(f"n_features is {n_features!r}: it must be an integer from 1 up")
        if wide > n_features:
            raise RankforceError(f"{path} has {wide} features, but n_features is {n_features}")
        features = np.pad(features, ((0, 0), (0, n_features - wide)))
    names = numbers_from(base, features.shape[1])
    unknown = [name for name in asked.ignore if name not in names]
    if unknown:
        raise RankforceError(
            f"{path}: ignore names {some_names(unknown)}: it has {some_names(names)}"
        )
    kept = [number for number, name in enumerate(names) if name not in asked.ignore]
    if len(kept) < len(names):
        features, names = features[:, kept], [names[number] for number in kept]
    return features, names


def read_weights(path: Path, rows: int) -> NDArray[np.float64] | None:
    """The weights beside a text file of so many rows; None if there are none."""
    weight = read_beside(path, (".weight",))
    if weight is not None and len(weight) != rows:
        raise RankforceError(f"{path}.weight has {len(weight)} lines, {path} has {rows} rows")
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
        with local_file(path) as place:
            text = place.read_text(errors="replace")
    except OSError as error:
        raise RankforceError(f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            numbers.append(float(line))
        except ValueError:
            raise RankforceError(
                f"{path}, line {number}: {line.strip()[:60]!r}: expected one number"
            ) from None
    return np.array(numbers)
