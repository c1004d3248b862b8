"""Runs and qrels as plain dictionaries, from what ranx, ir-measures, pandas and polars hold.

No library is imported: an object is known by the name of its type, or by its attributes.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError

Run = dict[str, dict[str, float]]  # query -> document -> score
Qrels = dict[str, dict[str, float]]  # query -> document -> label, from 0 up

QUERY = ("query_id", "q_id", "qid")
# A result of PyTerrier has docno and docid, and its docid is a number inside an index.
DOCUMENT = ("doc_id", "docno", "docid")
FRAMES = ("pandas.DataFrame", "polars.DataFrame")
NUMBERS = (int, float, np.integer, np.floating, np.bool_)


class Kind(NamedTuple):
    """What tells a run from qrels: the number of a document, and where others keep it."""

    number: str  # what it is called
    fields: tuple[str, ...]  # of an object
    columns: tuple[str, ...]  # of a frame
    ranx: str  # the type of ranx
    item: str  # that of ir-measures


RUN = Kind(
    number="score",
    fields=("score",),
    columns=("score",),
    ranx="ranx.Run",
    item="ir_measures.ScoredDoc",
)
QRELS = Kind(
    number="label",
    fields=("relevance", "label"),
    columns=("relevance", "label", "rel", "score"),
    ranx="ranx.Qrels",
    item="ir_measures.Qrel",
)
Where = Callable[[int], str]


def is_run_like(source: Any) -> bool:
    """Whether this is a run, or qrels, that is no path; arrays of numbers are none.

    The first value tells, and an iterator, which cannot be looked into, is taken for a run.

    >>> is_run_like({"q1": {"d1": 0.5}}), is_run_like({"d1": 0.5}), is_run_like([0.5, 0.25])
    (True, False, False)
    """
    if _is_a(source, RUN.ranx, QRELS.ranx) or isinstance(source, Iterator):
        return True
    if _is_a(source, *FRAMES):
        names = set(source.columns)
        return not names.isdisjoint(QUERY) and not names.isdisjoint(DOCUMENT)
    if isinstance(source, Mapping):
        first = next(iter(source.values()), None)
        # Three deep it would be several runs by name.
        return isinstance(first, Mapping) and not isinstance(
            next(iter(first.values()), None), Mapping
        )
    if not isinstance(source, Iterable) or hasattr(source, "__array__"):
        return False
    first = next(iter(source), None)
    return hasattr(first, "query_id") and hasattr(first, "doc_id")


def to_dictionaries(source: Any, kind: Kind, name: str) -> dict[str, dict[str, float]]:
    """New dictionaries with text as ids and finite floats; `name` is for messages.

    >>> to_dictionaries({1: {"a": 2}}, RUN, "run")
    {'1': {'a': 2.0}}
    """
    if _is_a(source, kind.ranx):
        source = source.to_dict()
    if isinstance(source, Mapping):
        found = _from_dictionaries(source, kind, name)
    else:
        found = from_columns(_columns(source, kind, name), kind, name)
    if not found:
        raise RankforceError(f"{name} holds no queries: expected one or more")
    return found


def _is_a(source: Any, *names: str) -> bool:
    """Whether the type, or one that it derives from, is one of these: `package.Type`."""
    bases = type(source).__mro__
    return any(f"{base.__module__.partition('.')[0]}.{base.__name__}" in names for base in bases)


def _from_dictionaries(
    source: Mapping[Any, Any], kind: Kind, name: str
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for key, documents in source.items():
        query = key if type(key) is str else _id(key, "query", name)
        place = f"{name}, query {query!r}"
        if not isinstance(documents, Mapping):
            shown = reprlib.repr(documents)
            raise RankforceError(
                f"{place} is {shown}: expected a dictionary document -> {kind.number}"
            )
        if query in found:
            raise RankforceError(
                f"{place} is there twice, as text and as a number: expected one key"
            )
        found[query] = _documents(documents, kind, place)
    return found


def _documents(documents: Mapping[Any, Any], kind: Kind, place: str) -> dict[str, float]:
    ids = _ids(list(documents), "document", lambda at: place)
    numbers = _numbers(list(documents.values()), kind, lambda at: f"{place}, document {ids[at]!r}")
    found = dict(zip(ids, numbers, strict=True))
    if len(found) < len(ids):
        twice = next(document for at, document in enumerate(ids) if document in ids[:at])
        raise RankforceError(
            f"{place}, document {twice!r} is there twice, as text and as a number: expected one key"
        )
    return found


def _columns(source: Any, kind: Kind, name: str) -> list[list[Any]]:
    """Queries, documents and numbers, one of each for a row."""
    if _is_a(source, *FRAMES):
        roles = (QUERY, DOCUMENT, kind.columns)
        return [source[_find(list(source.columns), role, name)].to_list() for role in roles]
    if not isinstance(source, Iterable) or hasattr(source, "__array__"):
        raise RankforceError(
            f"{name} is of the type {type(source).__module__}.{type(source).__qualname__}: "
            f"expected a path, a dictionary query -> document -> {kind.number}, "
            f"a {kind.ranx}, a list of {kind.item} or a DataFrame"
        )
    return _attributes(list(source), kind, name)


def _find(names: list[Any], role: tuple[str, ...], name: str) -> str:
    """The name of the column; the first of a role that the frame has."""
    found = next((column for column in role if column in names), None)
    if found is None or names.count(found) > 1:
        raise RankforceError(
            f"{name} has the columns {', '.join(map(str, names))}: "
            f"expected one of the name {' or '.join(role)}"
        )
    return found


def _attributes(items: list[Any], kind: Kind, name: str) -> list[list[Any]]:
    number = next((field for field in kind.fields if hasattr(next(iter(items), None), field)), None)
    fields = ("query_id", "doc_id", number or kind.fields[0])
    try:
        return [[getattr(item, field) for item in items] for field in fields]
    except AttributeError:
        row = next(
            row for row, item in enumerate(items) if not all(hasattr(item, f) for f in fields)
        )
        raise RankforceError(
            f"{name}, row {row} is {reprlib.repr(items[row])}: "
            f"expected {', '.join(fields)}, as in {kind.item}"
        ) from None


def from_columns(columns: list[list[Any]], kind: Kind, name: str) -> dict[str, dict[str, float]]:
    """Dictionaries from queries, documents and numbers, one of each for a row."""

    def where(row: int) -> str:
        return f"{name}, row {row}"

    queries, documents = _ids(columns[0], "query", where), _ids(columns[1], "document", where)
    numbers = _numbers(columns[2], kind, where)
    found: dict[str, dict[str, float]] = {}
    for row, (query, document) in enumerate(zip(queries, documents, strict=True)):
        of_query = found.setdefault(query, {})
        if document in of_query:
            pairs = zip(queries, documents, strict=True)
            first = next(at for at, pair in enumerate(pairs) if pair == (query, document))
            raise RankforceError(
                f"{where(row)}: document {document!r} of query {query!r} stands twice, "
                f"first in row {first}: expected it once"
            )
        of_query[document] = numbers[row]
    return found


def _ids(values: list[Any], what: str, where: Where) -> list[str]:
    if set(map(type, values)) <= {str}:
        return values
    return [_id(value, what, where(at)) for at, value in enumerate(values)]


def _id(value: Any, what: str, place: str) -> str:
    """Text; a fraction is no id, because a column of whole ones with a gap would become 1.0."""
    if isinstance(value, str) or (
        isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    ):
        return str(value)
    shown = reprlib.repr(value)
    raise RankforceError(f"{place}: the id of a {what} is {shown}: expected text or an integer")


def _numbers(values: list[Any], kind: Kind, where: Where) -> list[float]:
    """Finite floats; a label below 0 is 0."""
    if not set(map(type, values)) <= {float} or not all(map(math.isfinite, values)):
        values = [_number(value, kind.number, where, at) for at, value in enumerate(values)]
    return [max(0.0, value) for value in values] if kind is QRELS else values


def _number(value: Any, what: str, where: Where, at: int) -> float:
    try:
        number = float(value) if isinstance(value, NUMBERS) else math.nan
    except OverflowError:  # an integer beyond all floats
        number = math.inf
    if not math.isfinite(number):
        shown = reprlib.repr(value.item() if isinstance(value, np.generic) else value)
        raise RankforceError(f"{where(at)}: the {what} is {shown}: expected a finite number")
    return number
