"""Bodies and answers as streams of Arrow: a column for each feature, and optionally "id"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from rankforce.common.errors import RankforceError
from rankforce.common.notes import hold_notes
from rankforce.data.frames import to_matrix
from rankforce.serving.bodies import ExplainBody, RankBody, Ranking
from rankforce.serving.limits import check_documents
from rankforce.serving.matrix import Columns, Given, check_values
from rankforce.serving.mistakes import name_mistake
from rankforce.serving.refusal import Refusal, wrong

ID, LABEL = "id", "label"


def read_table(content: bytes) -> Any:
    """The table of a stream."""
    try:
        return pa.ipc.open_stream(content).read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Refusal(400, f"the body is no stream of Arrow: {error}") from None


def read_options(query: Mapping[str, str], body: type[RankBody]) -> RankBody:
    """What JSON has beside documents, from the part of the address behind the question mark.

    >>> read_options({"top": "3", "model": "a"}, RankBody).top
    3
    """
    known = [name for name in body.__struct_fields__ if name not in ("documents", "features")]
    known = [name for name in known if name not in ("ids", "labels")]
    raw: dict[str, Any] = {}
    raw |= {name: _number(text) if name in ("top", "k") else text for name, text in query.items()}
    mistake = name_mistake(raw, known, "")
    if mistake:
        raise Refusal(422, mistake)
    return body(**raw)


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() else text


def to_given(table: Any, options: RankBody, columns: Columns, most: int) -> Given:
    """The rows of a table, in the order of a model's features; its labels go to the options."""
    check_documents(table.num_rows, most)
    own = [name for name in (ID, LABEL) if name in table.column_names and name not in columns.names]
    ids = table.column(ID).to_pylist() if ID in own else None
    if ids is not None and not all(isinstance(one, str | int | None) for one in ids):
        raise wrong(ID, "expected a column of texts or integers")
    if LABEL in own and isinstance(options, ExplainBody):
        options.labels = table.column(LABEL).to_pylist()
    features = table.drop_columns(own) if own else table
    lacking = [name for name in columns.names if name not in features.column_names]
    if lacking and options.missing is not None:
        empty = pa.nulls(table.num_rows, pa.float32())
        for name in lacking:
            features = features.append_column(name, empty)
    try:
        with hold_notes() as notes:
            rows = to_matrix(features, like=columns.schema).values
    except RankforceError as error:
        raise Refusal(422, str(error)) from None
    coded = list(columns.schema.categories)
    check_values(rows, lambda row, at: f"{columns.names[at]}, row {row}", options.missing, coded)
    return Given(np.ascontiguousarray(rows), ids, notes)


def encode(ranking: Ranking) -> bytes:
    """A ranking as a table; model, version and notes are in the metadata of its schema."""
    names = ("id", "row", "rank", "score")
    table = pa.table({name: [getattr(one, name) for one in ranking.ranking] for name in names})
    told = {"model": ranking.model, "version": ranking.version, "notes": "\n".join(ranking.notes)}
    table = table.replace_schema_metadata(told)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
