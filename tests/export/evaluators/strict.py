"""What strict parsers of engines share: no unknown fields, numbers that are numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[np.float32]]


def parse(text: str | bytes) -> Any:
    """JSON as Java's parsers take it: without NaN and Infinity, every field once."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a field is there twice")
        return found

    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def fields(record: Any, required: set[str], optional: set[str] | None = None) -> dict[str, Any]:
    """An object that has these fields and no others."""
    if not isinstance(record, dict):
        raise ValueError(f"expected an object, got {record!r}")
    unknown = set(record) - required - (optional or set())
    if unknown or not required <= set(record):
        raise ValueError(f"unknown {sorted(unknown)}, absent {sorted(required - set(record))}")
    return record


def number(value: Any) -> float:
    """A number, which a text or a truth is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value)


def single(value: float) -> np.float32:
    """Java's (float) of a double: infinite where it is too large."""
    with np.errstate(over="ignore"):
        return np.float32(value)


Side = Callable[[Any, NDArray[np.int64]], NDArray[np.bool_]]


def walk(node: Any, rows: NDArray[np.int64], goes_left: Side, out: NDArray[Any]) -> None:
    """Put the value of its leaf into `out` for some rows of a tree of (left, right) or leaves."""
    todo = [(node, rows)]
    while todo:
        at, some = todo.pop()
        if at.get("children") is None:
            out[some] = at["value"]
            continue
        is_left = goes_left(at, some)
        todo += [(at["children"][0], some[is_left]), (at["children"][1], some[~is_left])]
