"""Bodies and answers as streams of Arrow: a column for each feature, and optionally "id"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from rankforce.common.errors import RankforceError
from rankforce.common.notes import hold_notes
from rankforce.data.frames import to_matrix
from rankforce.data.schema import twice
from rankforce.serving.bodies import ExplainBody, RankBody, Ranking
from rankforce.serving.limits import check_documents
from rankforce.serving.matrix import (
    MISSING,
    Columns,
    Given,
    Rows,
    check_values,
    left_out,
)
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
    whole = ("top", "k")
    raw: dict[str, Any] = {}
    raw |= {name: _number(text) if name in whole else text for name, text in query.items()}
    mistake = name_mistake(raw, known, "")
    if mistake:
        raise Refusal(422, mistake)
    return body(**raw)


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() else text


def to_given(table: Any, options: RankBody, columns: Columns, most: int) -> Given:
    """The rows of a table, in the order of a model's features; its labels go to the options."""
    check_documents(table.num_rows, most)
    names = table.column_names  # made anew each time
    if (again := twice(names)) is not None:
        raise wrong(f"column {again}", "it occurs twice")
    beside = [name for name in (ID, LABEL) if name in names and name not in columns.names]
    own = {name: table.column(name).to_pylist() for name in beside}
    if LABEL in own and isinstance(options, ExplainBody):
        options.labels = _checked(own[LABEL], "labels")
    ids = _checked(own[ID], "ids") if ID in own else None
    extra = set(names).difference(columns.names, (ID, LABEL))
    if names != columns.names:
        table = _taken(table, set(names), columns, options.missing)
    with hold_notes() as notes:
        rows = _rows(table, columns, options.missing)
    return Given(rows, ids, [*notes, *left_out(extra)])


def _checked(values: list[Any], name: str) -> list[Any]:
    mistake = name_mistake({name: values}, [name], "")
    if mistake:
        raise Refusal(422, mistake)
    return values


def _taken(table: Any, known: set[str], columns: Columns, missing: str | None) -> Any:
    """The columns of a model, in its order; those that may be missing have no values."""
    lacking = [name for name in columns.names if name not in known]
    if lacking and missing is None:
        raise wrong(f"column {lacking[0]}", f"it is left out: {MISSING}")
    empty = pa.nulls(table.num_rows, pa.float32())
    values = [table.column(name) if name in known else empty for name in columns.names]
    return pa.table(values, names=columns.names)


def _rows(table: Any, columns: Columns, missing: str | None) -> Rows:
    """The rows of a table that has just the columns of a model."""
    coded = list(columns.schema.categories)
    for column in coded:
        if missing is None and table.column(column).null_count:
            raise wrong(f"column {columns.names[column]}", f"a value is missing: {MISSING}")
    if not coded and all(map(_is_number, set(table.schema.types))):
        values = [one.to_numpy() for one in table.columns]
        with np.errstate(over="ignore"):
            rows: Rows = np.ascontiguousarray(np.array(values, np.float32).T)
    else:
        try:
            rows = np.ascontiguousarray(to_matrix(table, like=columns.schema).values)
        except RankforceError as error:
            raise Refusal(422, str(error)) from None
    check_values(rows, lambda row, at: f"column {columns.names[at]}, row {row}", missing, coded)
    return rows


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


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
