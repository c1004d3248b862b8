"""Dask, which only a cluster needs: imported when one is used."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from rankforce.common.errors import RankforceError

ANSWER_S = 10  # within which a scheduler has to answer


def load_distributed() -> ModuleType:
    """Dask's scheduler and workers; not installed, a mistake in one line on what to install.

    >>> load_distributed().__name__
    'distributed'
    """
    try:
        importlib.import_module("dask.dataframe")
        return importlib.import_module("distributed")
    except ImportError as error:
        if (error.name or "dask").partition(".")[0] not in ("dask", "distributed", "pandas"):
            raise
        raise RankforceError("a cluster needs Dask: pip install 'rankforce[dask]'") from None


@contextmanager
def open_client(cluster: Any) -> Iterator[Any]:
    """The client of a cluster: itself, or of an address, a scheduler file or a Dask cluster."""
    distributed = load_distributed()
    if isinstance(cluster, distributed.Client):
        _check_client(cluster)
        yield cluster
        return
    try:
        client = distributed.Client(
            **_where(cluster), timeout=ANSWER_S, set_as_default=False, name="rankforce"
        )
    except (OSError, ValueError) as error:  # asyncio's time-outs are the former
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise RankforceError(
            f"cluster is {cluster!r}, where no scheduler answers: {reason}"
        ) from None
    with client:
        yield client


def _where(cluster: Any) -> dict[str, Any]:
    """What a client is to connect to."""
    if isinstance(cluster, (str, os.PathLike)):
        if Path(cluster).is_file():
            return {"scheduler_file": str(cluster)}
        if "://" in str(cluster) or ":" in str(cluster):
            return {"address": str(cluster)}
    elif hasattr(cluster, "scheduler_address"):
        return {"address": cluster}
    raise RankforceError(
        f"cluster is {cluster!r}: give a distributed.Client, an address such as tcp://host:8786, "
        "or the scheduler's file"
    )


def is_open(client: Any) -> bool:
    """Whether a client has a scheduler."""
    return bool(client.status == "running")


def _check_client(client: Any) -> None:
    if client.asynchronous:
        raise RankforceError("cluster is a client with asynchronous=True: give one without")
    if not is_open(client):
        raise RankforceError(f"cluster is a client that is {client.status}: give one that is open")
