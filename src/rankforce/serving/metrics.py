"""Counts for Prometheus: of one process, or the sum of all workers.

Several workers write into files of a folder that the first process makes, and whichever is asked
adds them up; what a worker that is gone has counted stays counted.
"""

from __future__ import annotations

import os
import time

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankforce.serving.models import Entry

CONTENT_TYPE = CONTENT_TYPE_LATEST
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # the library's own variable
PATHS = ("/rank", "/explain", "/models", "/healthz", "/metrics")
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DOCUMENTS = (1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class Metrics:
    """What a worker counts."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "rankforce_requests",
            "Requests by address and status",
            ["path", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "rankforce_request_seconds",
            "Time from request to answer",
            ["path"],
            buckets=SECONDS,
            registry=registry,
        )
        self.documents = Histogram(
            "rankforce_documents", "Documents of a request", buckets=DOCUMENTS, registry=registry
        )
        self.busy = Gauge(
            "rankforce_busy_requests",
            "Requests that are being answered",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._reloads = Counter(
            "rankforce_reloads",
            "Versions read, by outcome",
            ["model", "outcome"],
            registry=registry,
        )

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        place = path if path in PATHS else "other"
        self._requests.labels(place, str(status)).inc()
        self._seconds.labels(place).observe(seconds)

    def count_reload(self, entry: Entry) -> None:
        """Count a version that was read, or could not be."""
        self._reloads.labels(entry.name, "served" if entry.error is None else "refused").inc()

    def text(self) -> bytes:
        """All counts, in the form that Prometheus reads."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        whole = CollectorRegistry()
        MultiProcessCollector(whole)  # type: ignore[no-untyped-call]
        return generate_latest(whole)


class Counting:
    """Counts what goes through it to an application."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note how it ends."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            self._metrics.count_request(scope["path"], status, time.perf_counter() - began)
