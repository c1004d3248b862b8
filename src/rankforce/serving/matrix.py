"""From the documents of a body to the float32 rows that a model scores."""

from __future__ import annotations

import difflib
import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.codes import looked_up
from rankforce.data.schema import Schema, some_names
from rankforce.serving.bodies import Id, RankBody
from rankforce.serving.mistakes import NUMBER, got
from rankforce.serving.refusal import Refusal, wrong

LARGE = "expected a number that float32 can hold (at most 3.4e38)"
NAN = float("nan")
MISSING = 'say "missing": "allow" if it may be missing'

Rows = NDArray[np.float32]


class Columns:
    """The features of a model, ready to look values up by name."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = list(schema.names)
        self._take: Callable[[Any], Any] = itemgetter(*self.names)

    def __len__(self) -> int:
        return len(self.names)

    def of(self, features: dict[str, Any]) -> Sequence[Any]:
        """Values in the order of columns; KeyError if one is left out."""
        found = self._take(features)
        return found if len(self.names) > 1 else (found,)


class Given(NamedTuple):
    """The documents of a request, as a model takes them."""

    rows: Rows
    ids: list[Id] | None
    notes: list[str]


def place_of(body: RankBody, row: int, column: int, columns: Columns) -> str:
    """Where a value stands in a body.

    >>> from rankforce.serving.bodies import Document
    >>> body = RankBody(documents=[Document({"age": 1.0})])
    >>> place_of(body, 0, 0, Columns(Schema(["age"], {})))
    'documents[0].features.age'
    """
    if body.documents is None:
        return f"features[{row}][{column}] ({columns.names[column]})"
    if isinstance(body.documents[row].features, dict):
        return f"documents[{row}].features.{columns.names[column]}"
    return f"documents[{row}].features[{column}] ({columns.names[column]})"


def to_given(body: RankBody, columns: Columns) -> Given:
    """The rows of a body's documents, in the order of a model's features.

    >>> from rankforce.serving.bodies import Document
    >>> body = RankBody(documents=[Document({"b": 2.0, "a": 1.0}), Document([3.0, 4.0], id="x")])
    >>> given = to_given(body, Columns(Schema(["a", "b"], {})))
    >>> given.rows.tolist(), given.ids
    ([[1.0, 2.0], [3.0, 4.0]], [None, 'x'])
    """
    table, notes = _table(body, columns)
    if {*map(len, table)} != {len(columns)}:
        raise _wrong_width(body, table, columns)
    schema = columns.schema
    coded = list(schema.categories if _is_by_name(body) else schema.renumbered)
    packed = None if coded else _packed(table)
    if packed is None:
        rows = _by_columns(body, table, columns, coded)
    else:
        with np.errstate(over="ignore"):
            rows = packed.reshape(len(table), len(columns)).astype(np.float32)
    check_values(
        rows, lambda row, column: place_of(body, row, column, columns), body.missing, coded
    )
    return Given(rows, _ids(body), notes)


def check_values(
    rows: Rows,
    place: Callable[[int, int], str],
    missing: str | None,
    coded: Sequence[int] = (),
) -> None:
    """Refuse what is infinite in float32, and what is missing where that was not announced.

    In columns that are `coded`, NaN is a category that training has not seen.
    """
    if np.isfinite(np.sum(rows, dtype=np.float64)):  # then all of them are
        return
    _refuse_first(np.isinf(rows), place, LARGE)
    if missing is None:
        is_missing = np.isnan(rows)
        is_missing[:, coded] = False
        _refuse_first(is_missing, place, f"it is missing: {MISSING}")


def _refuse_first(is_wrong: NDArray[np.bool_], place: Callable[[int, int], str], why: str) -> None:
    if is_wrong.any():
        row, column = (int(at[0]) for at in np.nonzero(is_wrong))
        raise wrong(place(row, column), why)


def _table(body: RankBody, columns: Columns) -> tuple[Sequence[Sequence[Any]], list[str]]:
    """Values row by row, and notes on what is left out."""
    if (body.documents is None) == (body.features is None):
        raise Refusal(422, "the request needs documents or features, one of the two")
    if body.features is not None:
        return body.features, []
    documents = body.documents or []
    if body.ids is not None:
        raise wrong("ids", "they go with features: a document has an id of its own")
    table = []
    extra: dict[str, None] = {}
    for number, document in enumerate(documents):
        features = document.features
        if isinstance(features, dict):
            table.append(_row(features, number, columns, body.missing))
            if len(features) != len(columns):
                extra |= dict.fromkeys(features.keys() - set(columns.names))
        else:
            table.append(features)
    return table, left_out(extra)


def left_out(extra: Collection[str]) -> list[str]:
    """The note on features that a model does not have, if there are such.

    >>> left_out(["age"]), left_out([])
    (["'age' is no feature of the model: left out"], [])
    """
    if not extra:
        return []
    are = "is no feature" if len(extra) == 1 else "are no features"
    return [f"{some_names(sorted(extra))} {are} of the model: left out"]


def _row(
    features: dict[str, Any], number: int, columns: Columns, missing: str | None
) -> Sequence[Any]:
    try:
        return columns.of(features)
    except KeyError as error:
        name = str(error.args[0])
    if missing is not None:
        return [features.get(name) for name in columns.names]
    others = [one for one in features if one not in columns.names]
    close = difflib.get_close_matches(name, others, n=1)
    hint = f"there is {close[0]!r}; " if close else ""
    raise wrong(f"documents[{number}].features.{name}", f"it is left out: {hint}{MISSING}")


def _is_by_name(body: RankBody) -> bool:
    documents = body.documents or []
    return bool(documents) and all(isinstance(one.features, dict) for one in documents)


def _packed(table: Iterable[Sequence[Any]]) -> Floats | None:
    """All numbers in a row, NaN for None; None if there is anything else.

    >>> _packed([[1.0, None], [2.0, 3.0]]), _packed([["x"]])
    (array([ 1., nan,  2.,  3.]), None)
    """
    values = [*chain.from_iterable(table)]
    found = _pack(values)
    return _pack([NAN if one is None else one for one in values]) if found is None else found


def _pack(values: Sequence[Any]) -> Floats | None:
    try:
        # In half the time that an array of lists takes.
        return np.frombuffer(struct.pack(f"{len(values)}d", *values))
    except struct.error:
        return None


def _by_columns(
    body: RankBody, table: Sequence[Sequence[Any]], columns: Columns, coded: Sequence[int]
) -> Rows:
    """Rows with codes for the values of the columns that are `coded`."""
    schema = columns.schema
    rows = np.empty((len(table), len(columns)), np.float32)
    for column, values in enumerate(zip(*table, strict=True)):
        is_coded = column in coded
        text = next((row for row, value in enumerate(values) if type(value) is str), None)
        if text is not None and not is_coded:
            hint = ""
            if column in schema.categories:
                hint = " (the code of a category: documents by name have its value)"
            place = place_of(body, text, column, columns)
            raise wrong(place, f"{NUMBER}{hint}, {got(values[text])}")
        if is_coded:
            known = schema.categories[column]
            if body.missing is None and None in values:
                place = place_of(body, values.index(None), column, columns)
                raise wrong(place, f"it is missing: {MISSING}")
            rows[:, column] = looked_up(list(values), known, columns.names[column]).values
        else:
            with np.errstate(over="ignore"):
                rows[:, column] = values
    return rows


def _wrong_width(body: RankBody, table: Sequence[Sequence[Any]], columns: Columns) -> Refusal:
    row = next(row for row, values in enumerate(table) if len(values) != len(columns))
    place = f"features[{row}]" if body.documents is None else f"documents[{row}].features"
    return wrong(
        place, f"expected {len(columns)} numbers, one for each feature, got {len(table[row])}"
    )


def _ids(body: RankBody) -> list[Any] | None:
    if body.documents is not None:
        ids = [one.id for one in body.documents]
        return None if all(one is None for one in ids) else ids
    if body.ids is not None and len(body.ids) != len(body.features or []):
        raise wrong("ids", f"expected {len(body.features or [])} of them, got {len(body.ids)}")
    return body.ids
