"""The service as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette

from rankforce.common.threads import usable_cores
from rankforce.serving.door import Door
from rankforce.serving.limits import Limits, check_limits
from rankforce.serving.models import Models
from rankforce.serving.routes import Service

LOG = logging.getLogger("rankforce.serving")
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
    opened = Models(models, base=base)
    pool = ThreadPoolExecutor(usable_cores(), "rankforce-serving")
    service = Service(opened, check_limits(limits or Limits()), pool)

    @contextlib.asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        watch = asyncio.create_task(_watch(opened, pool))
        yield
        watch.cancel()
        pool.shutdown(wait=False, cancel_futures=True)

    app = Starlette(routes=service.routes(), lifespan=life, exception_handlers=service.handlers())
    app.add_middleware(Door, token=token)
    return app


async def _watch(models: Models, pool: ThreadPoolExecutor) -> None:
    """Look for models that have been replaced, and load them beside the requests."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(EVERY)
        await loop.run_in_executor(pool, models.reload_stale)
