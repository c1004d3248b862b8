"""The first mistake in a body that does not have the form of a request, told by its place."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

NUMBER = "expected a number"
NAME = "a text or an integer"


def name_mistake(raw: Any, fields: Sequence[str], otherwise: str) -> str:
    """The sentence on the first thing in a body that cannot be; `otherwise` if none is found.

    >>> name_mistake({"documents": [{"features": {"bm25": [1]}}]}, ["documents"], "")
    'documents[0].features.bm25: expected a number, got [1]'
    """
    if not isinstance(raw, dict):
        return f"the body is {kind_of(raw)}: expected an object with documents or features"
    return next(_mistakes(raw, fields), otherwise)


def got(value: Any) -> str:
    """A value for a sentence.

    >>> got("x"), got(None), got(True), got({"a": 1})
    ("got 'x'", 'got null', 'got true', 'got an object')
    """
    if value is None or isinstance(value, bool):
        return f"got {str(value).lower() if value is not None else 'null'}"
    if isinstance(value, dict):
        return "got an object"
    return f"got {reprlib.repr(value)}"


def kind_of(value: Any) -> str:
    """What kind of thing a value is, in the words of JSON.

    >>> kind_of([]), kind_of(1.5)
    ('an array', 'a number')
    """
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "true or false"
    names = {str: "a text", list: "an array", dict: "an object", int: "a number", float: "a number"}
    return names.get(type(value), f"a {type(value).__name__}")


def _mistakes(raw: dict[Any, Any], fields: Sequence[str]) -> Iterator[str]:
    for name, value in raw.items():
        if name not in fields:
            close = difflib.get_close_matches(str(name), fields, n=1)
            choices = f"did you mean {close[0]}?" if close else f"there are {', '.join(fields)}"
            yield f"{name}: no field of a request: {choices}"
        elif value is not None:
            yield from _CHECKS[name](value, name)


def _text(value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{place}: expected a text, {got(value)}"


def _whole(value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        yield f"{place}: expected an integer from 1 up, {got(value)}"


def _allow(value: Any, place: str) -> Iterator[str]:
    if value != "allow":
        yield f'{place}: expected "allow", {got(value)}'


def _array(value: Any, place: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{place}: expected an array, {got(value)}"


def _documents(value: Any, place: str) -> Iterator[str]:
    yield from _array(value, place)
    for number, one in enumerate(value):
        here = f"{place}[{number}]"
        if not isinstance(one, dict):
            yield f"{here}: expected an object with features, {got(one)}"
        for name in one:
            if name not in ("id", "features"):
                yield f"{here}.{name}: no field of a document: there are id and features"
        if one.get("id") is not None:
            yield from _id(one["id"], f"{here}.id")
        if "features" not in one:
            yield f"{here}: it has no features"
        yield from _values(one["features"], f"{here}.features", by_name=True)


def _values(value: Any, place: str, *, by_name: bool) -> Iterator[str]:
    if by_name and isinstance(value, dict):
        for name, entry in value.items():
            yield from _number(entry, f"{place}.{name}")
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _number(entry, f"{place}[{number}]")
    else:
        either = "an object or an array" if by_name else "an array of numbers"
        yield f"{place}: expected {either}, {got(value)}"


def _number(value: Any, place: str, *, most: tuple[type, ...] = (str, type(None))) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, (int, float, *most)):
        yield f"{place}: {NUMBER}, {got(value)}"


def _rows(value: Any, place: str) -> Iterator[str]:
    yield from _array(value, place)
    for number, row in enumerate(value):
        yield from _values(row, f"{place}[{number}]", by_name=False)


def _id(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        yield f"{place}: expected {NAME}, {got(value)}"


def _ids(value: Any, place: str) -> Iterator[str]:
    yield from _array(value, place)
    for number, one in enumerate(value):
        yield from _id(one, f"{place}[{number}]")


def _labels(value: Any, place: str) -> Iterator[str]:
    yield from _array(value, place)
    for number, one in enumerate(value):
        yield from _number(one, f"{place}[{number}]", most=())


_CHECKS: dict[str, Any] = {
    "model": _text,
    "documents": _documents,
    "features": _rows,
    "ids": _ids,
    "top": _whole,
    "missing": _allow,
    "labels": _labels,
    "objective": _text,
    "k": _whole,
}
