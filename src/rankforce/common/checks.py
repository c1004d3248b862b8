"""Checks of single parameters: an error names the parameter, its value and what it may be."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError


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


def listed(choices: Collection[str]) -> str:
    """Names in quotes, for a sentence.

    >>> listed(["a", "b", "c"])
    "'a', 'b' or 'c'"
    """
    *most, last = map(repr, choices)
    return f"{', '.join(most)} or {last}" if most else last
