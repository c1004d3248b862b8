"""Columns of categories: values become codes 0, 1, ..., the same for the same values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.data.precision import EXACT
from rankforce.data.schema import some_names

PLAIN = (str, bool, int, float)  # what a saved model can hold


class CodedColumn(NamedTuple):
    """One column of features; `categories` if its values are codes."""

    values: NDArray[Any]
    categories: list[Any] | None = None
    is_renumbered: bool = False  # codes of numbers that float32 does not hold


def coded(
    codes: NDArray[Any], values: list[Any], known: list[Any] | None, name: str
) -> CodedColumn:
    """Codes of `values`, where -1 is missing, as codes of the known ones."""
    values = [check_value(value, name) for value in values]
    numbers = np.asarray(codes, dtype=np.int64)
    if known is None:
        return CodedColumn(np.where(numbers < 0, np.nan, numbers), values)
    number = {value: float(code) for code, value in enumerate(known)}
    table = np.array([*(number.get(value, np.nan) for value in values), np.nan])
    return _checked(table[numbers], numbers >= 0, known, name)


def check_value(value: Any, name: str) -> Any:
    """A value of a category, as a file of a model can hold it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, PLAIN):
        kind = type(value).__name__
        raise RankforceError(
            f"{name} has categories such as {value!r}: a model cannot be saved with a {kind}, make "
            "them text"
        )
    return plain


def looked_up(values: Any, known: list[Any], name: str) -> CodedColumn:
    """Codes of plain values, a list or an array, where they are known; NaN for all others."""
    array = np.asarray(values)
    if array.dtype.kind in "iuf" and all(type(value) is int for value in known):
        ids = np.array(known, np.int64)
        order = np.argsort(ids)
        at = np.clip(np.searchsorted(ids[order], array), 0, max(len(ids) - 1, 0))
        found = order[at] if len(ids) else np.zeros(len(array), np.int64)
        is_known = ids[found] == array if len(ids) else np.zeros(len(array), bool)
        codes = np.where(is_known, found, np.nan)
        return _checked(codes, ~np.isnan(array), known, name)
    number = {value: float(code) for code, value in enumerate(known)}
    entries = array.tolist() if isinstance(values, np.ndarray) else values
    codes = np.array([number.get(value, np.nan) for value in entries], np.float64)
    return _checked(codes, np.array([not is_missing(v) for v in entries], bool), known, name)


def _checked(
    codes: NDArray[Any], is_there: NDArray[np.bool_], known: list[Any], name: str
) -> CodedColumn:
    if is_there.any() and np.isnan(codes[is_there]).all():
        note_unknown(name, known)
    return CodedColumn(codes, known)


def note_unknown(name: str, known: Iterable[Any]) -> None:
    """Say that a model knows none of the values of a column."""
    note(
        f"{name}: none of its values is known from training, where it had {some_names(known)}: "
        "all of them count as missing"
    )


def note_negative(name: str) -> None:
    """Say what becomes of negative codes where values are renumbered, as LightGBM has it."""
    note(f"{name}: negative codes of categories count as missing")


def not_numbers(name: str) -> str:
    """The sentence on categories where a model has numbers."""
    return f"{name} holds categories, the model was trained on numbers there"


def is_missing(value: Any) -> bool:
    """Whether a cell has no value: None, NaN, or a library's own sign for that."""
    # pandas' NA answers a comparison with itself, and is neither true nor false.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def make_codes(values: NDArray[Any], name: str) -> CodedColumn:
    """A plain column that the user calls categorical: text gets codes, numbers are codes.

    Numbers that float32 does not hold are renumbered; negative ones are missing, as in LightGBM.

    >>> make_codes(np.array(["b", "a", None], object), "colour").values
    array([ 1.,  0., nan])
    """
    if values.dtype.kind in "biuf":
        # A comparison with NaN is False. What is float32 already has nothing more to lose.
        if values.dtype == np.float32 or not (values > EXACT).any():
            return CodedColumn(values)
        is_code = values >= 0
        wrong = values[is_code & ((values >= 2**63) | (np.floor(values) != values))]
        if wrong.size:
            raise RankforceError(
                f"{name} has {wrong[0]}: codes of categories are integers below 2^63"
            )
        if (values < 0).any():
            note_negative(name)
        known = [int(value) for value in np.unique(values[is_code])]
        return looked_up(values, known, name)._replace(is_renumbered=True)
    entries = values.tolist()
    there = {value for value in entries if not is_missing(value)}
    try:
        known = sorted(there)
    except TypeError:
        raise RankforceError(
            f"{name} mixes kinds of values: expected one, text or numbers"
        ) from None
    number = {value: code for code, value in enumerate(known)}
    codes = np.array([number.get(value, -1) for value in entries], np.int64)
    return coded(codes, known, None, name)
