"""XGBoost's library: imported when it is used, with errors that are a user's mistakes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.engines.waits import short_waits


def import_xgboost() -> Any:
    """XGBoost, or one line about what to install.

    >>> import_xgboost().__name__
    'xgboost'
    """
    try:
        with short_waits("xgboost"):
            return importlib.import_module("xgboost")
    except ModuleNotFoundError as error:
        if error.name != "xgboost":
            raise
        raise RankforceError(
            "engine='xgboost' needs XGBoost: pip install 'rankforce[xgboost]'"
        ) from None


def check_cuda() -> None:
    """Refuse an XGBoost that was built without CUDA."""
    if not import_xgboost().build_info().get("USE_CUDA"):
        raise RankforceError(
            "device is 'cuda', and this XGBoost was built without CUDA (xgboost-cpu?): pip install "
            "'rankforce[xgboost]'"
        )


@contextmanager
def plain_errors() -> Iterator[None]:
    """XGBoost's complaints, without the place in its sources and the trace behind them."""
    try:
        yield
    except import_xgboost().core.XGBoostError as error:
        words = str(error).partition("Stack trace:")[0].strip()
        words = re.sub(r"^\[[\d:]+\] \S+:\d+:\s*", "", words)
        raise RankforceError(f"XGBoost: {' '.join(words.split())}") from None
