"""The service as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette

from rankforce.common.checks import check_number, check_whole
from rankforce.common.threads import usable_cores
from rankforce.serving.answers import warm
from rankforce.serving.door import Door
from rankforce.serving.limits import Limits
from rankforce.serving.metrics import Counting, Metrics
from rankforce.serving.models import Models
from rankforce.serving.routes import Service

EVERY = 1.0  # seconds between two looks at the files of the models


def make_app(
    models: Mapping[str, Path],
    *,
    token: str | None = None,
    limits: Limits | None = None,
    base: Path | None = None,
) -> Starlette:
    """The service for some models, each a folder with a name; mistakes in them are errors now.

    Any ASGI server runs it; `rankforce.serving.server.serve` is ours.
    """
    metrics = Metrics()
    opened = Models(models, base=base, heard=metrics.count_reload)
    warm(opened)
    pool = ThreadPoolExecutor(usable_cores(), "rankforce-serving")
    service = Service(opened, check_limits(limits or Limits()), pool, metrics)

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_watch(opened))
        yield
        watch.cancel()
        pool.shutdown(wait=False, cancel_futures=True)

    app = Starlette(routes=service.routes(), lifespan=life, exception_handlers=service.handlers())
    app.add_middleware(Door, token=token)
    app.add_middleware(Counting, metrics=metrics)
    return app


def check_limits(limits: Limits) -> Limits:
    """The same limits, each a number that lets something through."""
    for name, value in limits._asdict().items():
        if name == "seconds":
            check_number(name, value, 0.001)
        else:
            check_whole(name, value, least=1)
    return limits


async def _watch(models: Models) -> None:
    """Look for models that have been replaced, and load them beside the requests."""
    while True:
        await asyncio.sleep(EVERY)
        await asyncio.to_thread(models.reload_stale)
