"""XGBoost's library: imported when it is used, with errors that are a user's mistakes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.engines.forks import LibraryThreads
from rankforce.engines.waits import short_waits

THREADS = LibraryThreads("xgboost", "XGBoost")


def import_xgboost() -> Any:
    """XGBoost, or one line about what to install.

    >>> import_xgboost().__name__
    'xgboost'
    """
    try:
        with short_waits("xgboost"):
            found = importlib.import_module("xgboost")
    except ModuleNotFoundError as error:
        if error.name != "xgboost":
            raise
        raise RankforceError(
            "engine='xgboost' needs XGBoost: pip install 'rankforce[xgboost]'"
        ) from None
    if THREADS.are_lost:
        _stay_on_one_thread(found)
    return found


def _stay_on_one_thread(xgboost: Any) -> None:
    """Its loops would wait, for ever, for lost threads, whatever a booster is told."""
    if "nthread" not in xgboost.get_config():
        raise RankforceError(
            "XGBoost was loaded before this process was forked, which this version of it does not "
            "survive: start processes with multiprocessing's 'spawn'"
        )
    xgboost.set_config(nthread=1)


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
