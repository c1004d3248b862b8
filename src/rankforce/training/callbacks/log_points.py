"""What logs are made of: values at numbers of trees, settings as text, optional packages."""

from __future__ import annotations

import importlib
import json
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError


class Point(NamedTuple):
    """A value at a number of trees."""

    name: str
    value: float
    step: int


def need(module: str) -> Any:
    """A module of an optional package; a missing one is a mistake in one line."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise RankforceError(f"log_to needs {package}: pip install {package}") from None


def show_setting(value: Any) -> str:
    """A setting as text."""
    return value if isinstance(value, str) else json.dumps(value)
