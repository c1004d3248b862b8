"""Gains: what a label is worth. `2^y-1`, `y`, `binary`, `2^(4c)-1`, a table, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats

GainLike = str | Mapping[float, float] | Sequence[float] | Callable[[float], float]

CLICKS = "2^(4c)-1"  # Svore et al. 2011, eq. 9, of labels c from 0 to 1
_NAMES = {
    "2^y-1": "2^y-1",
    "2**y-1": "2^y-1",
    "exp2": "2^y-1",
    "exponential": "2^y-1",
    "y": "y",
    "label": "y",
    "linear": "y",
    "identity": "y",
    "binary": "binary",
    "b": "binary",
    CLICKS: CLICKS,
    "2^4c-1": CLICKS,
    "clicks": CLICKS,
}


class GainError(RankforceError):
    """A label that has no gain, or a bad one."""

    def __init__(self, label: float, message: str) -> None:
        super().__init__(message)
        self.label = label


class NoShareError(GainError):
    """A label that is no share of clicks."""

    def __init__(self, label: float) -> None:
        message = f"label {label:g} is no share of clicks: it must lie from 0 to 1"
        super().__init__(label, message)


def check_gain(gain: Any) -> GainLike:
    """Return the gain with its canonical name, or say what is wrong with it."""
    if isinstance(gain, str):
        name = _NAMES.get(gain.lower().replace(" ", ""))
        if name is None:
            raise RankforceError(
                f"unknown gain {gain!r}: choose '2^y-1', 'y', 'binary', '2^(4c)-1' (of clicks), "
                "a table (list or dict), or a function of a label"
            )
        return name
    if isinstance(gain, np.ndarray):
        return tuple(float(value) for value in gain)
    if isinstance(gain, Sequence):
        return tuple(float(value) for value in gain)
    if isinstance(gain, Mapping):
        return {_label(key): value for key, value in gain.items()}
    if callable(gain):
        function: GainLike = gain
        return function
    raise RankforceError(f"gain is {gain!r}: choose '2^y-1', 'y', 'binary', a table, or a function")


def _label(key: Any) -> Any:
    """A label of a gain table; JSON and TOML write it as a text."""
    try:
        return float(key) if isinstance(key, str) else key
    except ValueError:
        raise RankforceError(f"gain: {key!r} is no label, which is a number") from None


def gain_values(gain: GainLike, labels: Floats) -> Floats:
    """Gain of each of the distinct `labels`, given in ascending order.

    >>> gain_values("2^y-1", np.array([0.0, 1.0, 2.0]))
    array([0., 1., 3.])
    """
    if gain == "binary":
        return (labels > 0).astype(np.float64)
    if gain == "label difference":  # only differences count, so any sign will do
        return labels
    if isinstance(gain, str):
        if labels.size and labels[0] < 0:
            message = f"label {labels[0]:g} is negative: gain {gain!r} needs labels from 0 up"
            raise GainError(labels[0], message)
        if gain == "y":
            return labels
        if gain == CLICKS:
            return _click_gains(labels)
        with np.errstate(over="ignore"):
            values = np.exp2(labels) - 1.0
    else:
        values = np.array([_one(gain, float(label)) for label in labels], dtype=np.float64)
    _check_values(values, labels)
    return values


def stop_probabilities(labels: Floats, max_label: float | None, largest: float) -> Floats:
    """(2^y - 1) / 2^max_label, by default of the `largest`, for each of the distinct `labels`.

    >>> stop_probabilities(np.array([0.0, 1.0, 2.0]), None, 2.0)
    array([0.  , 0.25, 0.75])
    """
    top = largest if max_label is None else max_label
    if labels.size and labels[-1] > top:
        raise GainError(labels[-1], f"label {labels[-1]:g} is above max_label={top:g}")
    gain_values("2^y-1", labels)  # refuses labels that are negative or too large
    return np.asarray(np.exp2(labels - top) - 2.0**-top)


def _click_gains(labels: Floats) -> Floats:
    if labels.size and labels[-1] > 1.0:
        raise NoShareError(labels[-1])
    return np.asarray(np.exp2(4.0 * labels) - 1.0)


def _one(gain: Any, label: float) -> float:
    if callable(gain):
        value = gain(label)
        try:
            return float(value)
        except (TypeError, ValueError):
            message = f"gain of label {label:g} is {value!r}: a gain is a number"
            raise GainError(label, message) from None
    if isinstance(gain, Mapping):
        if label in gain:
            return float(gain[label])
        raise GainError(label, f"label {label:g} is not in the gain table {sorted(gain)}")
    if label != int(label) or not 0 <= label < len(gain):
        has = f"it has labels 0 to {len(gain) - 1}"
        raise GainError(label, f"label {label:g} is not in the gain table: {has}")
    return float(gain[int(label)])


def _check_values(values: Floats, labels: Floats) -> None:
    # Sums of weights, and their products with sigma, must stay finite as well.
    bad: NDArray[np.intp] = np.flatnonzero(~(np.abs(values) < 1e302))
    if bad.size:
        label, value = labels[bad[0]], values[bad[0]]
        raise GainError(
            label, f"gain of label {label:g} is {value:g}: gains must be finite, below 1e302"
        )
    if values.size and values.min() < 0:
        where = int(values.argmin())
        message = f"gain of label {labels[where]:g} is {values[where]:g}, which is negative"
        raise GainError(labels[where], message)
    falls = np.flatnonzero(np.diff(values) < 0)
    if falls.size:
        low, high = labels[falls[0]], labels[falls[0] + 1]
        message = f"the gain of label {high:g} is below that of {low:g}: gains must not fall"
        raise GainError(high, message)
