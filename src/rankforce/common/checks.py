"""Checks of single parameters: an error names the parameter, its value and what it may be."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats


def check_whole(key: str, value: Any, least: int | None = None) -> int:
    """An integer, from `least` up."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or (least is not None and value < least):
        rest = "" if least is None else f" from {least} up"
        raise RankforceError(f"{key} is {value!r}: it must be an integer{rest}")
    return int(value)


def check_number(key: str, value: Any, least: float) -> float:
    """A finite number, from `least` up."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < least:
        rest = "" if least == -math.inf else f" from {least:g} up"
        raise RankforceError(f"{key} is {value!r}: it must be a finite number{rest}")
    return float(value)


def check_choice(key: str, value: Any, choices: Collection[str]) -> str:
    """One of the names in `choices`, in any case."""
    plain = value.lower() if isinstance(value, str) else value
    if not isinstance(plain, str) or plain not in choices:
        raise RankforceError(f"{key} is {value!r}: choose {listed(choices)}")
    return plain


def check_named(key: str, given: Any, shown: str) -> None:
    """A dictionary with something in it, as `shown`."""
    if not isinstance(given, Mapping) or not given:
        found = "an empty dictionary" if isinstance(given, Mapping) else type(given).__name__
        raise RankforceError(f"{key} is {found}: give a dictionary, {shown}")


def check_names(names: Iterable[Any], kind: str) -> None:
    """Texts, none of them empty: the names of things of one `kind`."""
    for name in names:
        if not isinstance(name, str) or not name:
            raise RankforceError(f"the name of a {kind} is {name!r}: it must be a text")


def check_share(key: str, value: Any) -> float:
    """A number between 0 and 1, neither of them."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not 0.0 < value < 1.0:
        raise RankforceError(
            f"{key} is {value!r}: it must be a number between 0 and 1, neither of them"
        )
    return float(value)


def check_weights(weights: Any, ids: Sequence[Any] | NDArray[Any]) -> Floats:
    """One finite number for each of the queries `ids`, from 0 up."""
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        shown = reprlib.repr(weights)
        raise RankforceError(f"weights are {shown}: give one number per query") from None
    if found.shape != (len(ids),):
        raise RankforceError(f"weights have shape {found.shape}, but there are {len(ids)} queries")
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if bad.size:
        message = "weights are finite numbers from 0 up"
        raise RankforceError(f"weight of query {ids[bad[0]]} is {found[bad[0]]}: {message}")
    if not found.any():
        raise RankforceError("all weights are 0: at least one query must count")
    return found


def listed(choices: Collection[str]) -> str:
    """Names in quotes, for a sentence.

    >>> listed(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    *most, last = map(repr, choices)
    return f"{', '.join(most)} or {last}" if most else last
