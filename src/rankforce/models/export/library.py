"""Libraries that an export needs: imported when they are used, named where they are missing."""

from __future__ import annotations

import importlib

from rankforce.common.errors import RankforceError


def check_library(name: str, to: str, extra: str) -> None:
    """Refuse a form whose library is not installed, and say what to install.

    >>> check_library("no_such", "onnx", "export")
    Traceback (most recent call last):
    rankforce.RankforceError: to is 'onnx', which needs no_such: pip install 'rankforce[export]'
    """
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise RankforceError(
            f"to is {to!r}, which needs {name}: pip install 'rankforce[{extra}]'"
        ) from None
