"""Values as bytes, for other processes: numbers, texts and plain arrays, and nothing that runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

_ARRAY = "\0array"  # the key that stands for an array in the text
_PLAIN = "biufc"  # kinds of numbers


def encode(value: Any) -> bytes:
    """A number, a text, None, an array of numbers, or a list or a dictionary of such, as bytes.

    >>> decode(encode({"rows": 2, "labels": np.array([1.0, 0.0])}))
    {'rows': 2, 'labels': array([1., 0.])}
    """
    arrays: list[bytes] = []
    text = json.dumps(_plain(value, arrays)).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *arrays])


def decode(message: bytes | bytearray | memoryview) -> Any:
    """The value that `encode` made a message of."""
    whole = memoryview(message)
    start = 8 + int.from_bytes(whole[:8], "little")
    return _restored(json.loads(bytes(whole[8:start])), whole[start:])


def _plain(value: Any, arrays: list[bytes]) -> Any:
    """What JSON can hold; the bytes of arrays go to a list of their own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        assert value.dtype.kind in _PLAIN, value.dtype
        begin = sum(map(len, arrays))
        arrays.append(value.tobytes())
        return {_ARRAY: [value.dtype.str, list(value.shape), begin]}
    if isinstance(value, dict):
        return {str(key): _plain(one, arrays) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, arrays) for one in value]
    return value


def _restored(value: Any, arrays: memoryview) -> Any:
    if isinstance(value, list):
        return [_restored(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    if _ARRAY not in value:
        return {key: _restored(one, arrays) for key, one in value.items()}
    name, shape, begin = value[_ARRAY]
    kind = np.dtype(name)
    assert kind.kind in _PLAIN, name
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(arrays, kind, count, begin).reshape(shape).copy()
