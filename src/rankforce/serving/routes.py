"""The addresses of the service, and how a request is answered within its limits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Call
from starlette.responses import Response
from starlette.routing import Route

from rankforce.serving import answers, docs, openapi, pages, requests
from rankforce.serving.about import about
from rankforce.serving.bodies import ARROW, ENCODERS, JSON
from rankforce.serving.limits import Limits, check_bytes
from rankforce.serving.metrics import CONTENT_TYPE, Metrics
from rankforce.serving.models import Models
from rankforce.serving.refusal import Refusal

# What is done at once; more than that goes to a thread, for other requests are waiting.
SMALL_BODY = 1 << 20  # bytes: about 5 ms
SMALL_WORK = 500_000  # documents x trees: about 2 ms, or 10 where values are missing

Read = Callable[[bytes, str, Mapping[str, str], Models, Limits], requests.Request]


class Service:
    """Answers requests with the models, in a thread where that takes long."""

    def __init__(
        self, models: Models, limits: Limits, pool: ThreadPoolExecutor, metrics: Metrics
    ) -> None:
        self.models, self.limits, self.metrics = models, limits, metrics
        self._pool = pool
        self._busy = 0

    def routes(self) -> list[Route]:
        """What is to be found where."""
        return [
            Route("/rank", self.rank, methods=["POST"]),
            Route("/explain", self.explain, methods=["POST"]),
            Route("/models", self.list_models),
            Route("/models/{name}/reload", self.reload, methods=["POST"]),
            Route("/healthz", self.health),
            Route("/metrics", self.tell_metrics),
            Route("/openapi.json", self.tell_addresses),
            Route("/docs", self.show_addresses),
            *pages.routes(),
        ]

    def handlers(self) -> dict[Any, Any]:
        """How errors are answered."""
        return {
            Refusal: refuse,
            HTTPException: refuse_http,
            ClientDisconnect: leave,
            Exception: refuse_unknown,
        }

    async def rank(self, call: Call) -> Response:
        """POST /rank."""
        return await self._within_limits(self._rank(call))

    async def _rank(self, call: Call) -> Response:
        request, kind = await self._read(call, requests.read)
        if len(request.given.rows) * request.served.cost <= SMALL_WORK:
            content = requests.encode(answers.rank(request), kind)
        else:
            content = await self._in_thread(lambda: requests.encode(answers.rank(request), kind))
        return Response(content, media_type=kind)

    async def explain(self, call: Call) -> Response:
        """POST /explain."""
        return await self._within_limits(self._explain(call))

    async def _explain(self, call: Call) -> Response:
        request, kind = await self._read(call, requests.read_explain)
        kind = JSON if kind == ARROW else kind  # it is no table
        content = await self._in_thread(lambda: requests.encode(answers.explain(request), kind))
        return Response(content, media_type=kind)

    async def list_models(self, call: Call) -> Response:
        """GET /models."""
        told = [about(entry) for entry in self.models.entries.values()]
        return to_json({"models": told})

    async def reload(self, call: Call) -> Response:
        """POST /models/NAME/reload: this worker at once, others when they look next."""
        entry = self.models.entry(call.path_params["name"])
        await asyncio.to_thread(self.models.reload, entry)
        if entry.error is not None:
            raise Refusal(422, f"version {entry.served.version} goes on: {entry.error}")
        return to_json({"model": entry.name, "version": entry.served.version})

    async def health(self, call: Call) -> Response:
        """GET /healthz."""
        return to_json({"status": "ok", "worker": os.getpid()})

    async def tell_metrics(self, call: Call) -> Response:
        """GET /metrics."""
        return Response(self.metrics.text(), media_type=CONTENT_TYPE)

    async def tell_addresses(self, call: Call) -> Response:
        """GET /openapi.json."""
        return to_json(openapi.document())

    async def show_addresses(self, call: Call) -> Response:
        """GET /docs."""
        headers = {"Content-Security-Policy": docs.POLICY, "X-Content-Type-Options": "nosniff"}
        return Response(docs.page(), media_type="text/html", headers=headers)

    async def _within_limits(self, answer: Any) -> Response:
        if self._busy >= self.limits.requests:
            answer.close()
            raise Refusal(503, f"{self._busy} requests are being answered already: try again")
        self._busy += 1
        self.metrics.busy.inc()
        try:
            found: Response = await asyncio.wait_for(answer, self.limits.seconds)
            return found
        except asyncio.TimeoutError:
            seconds = self.limits.seconds
            raise Refusal(503, f"the request took longer than {seconds:g} s: try again") from None
        finally:
            self._busy -= 1
            self.metrics.busy.dec()

    async def _read(self, call: Call, read: Read) -> tuple[requests.Request, str]:
        """What is asked for, and the kind of the answer."""
        kind = requests.type_of(call.headers.get("content-type"))
        content = await self._body(call)
        query = call.query_params
        if query and kind != ARROW:
            raise Refusal(422, f"{next(iter(query))}: with this content type it goes into the body")

        def work() -> requests.Request:
            return read(content, kind, query, self.models, self.limits)

        found = work() if len(content) <= SMALL_BODY else await self._in_thread(work)
        self.metrics.documents.observe(len(found.given.rows))
        return found, requests.answer_type(call.headers.get("accept"), kind)

    async def _body(self, call: Call) -> bytes:
        said = call.headers.get("content-length", "")
        if said.isdigit():
            check_bytes(int(said), self.limits)
        parts, count = [], 0
        async for part in call.stream():
            count += len(part)
            check_bytes(count, self.limits)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def to_json(answer: Any, status: int = 200) -> Response:
    """An answer as JSON."""
    return Response(ENCODERS[JSON](answer), status, media_type=JSON)


async def refuse(call: Call, refusal: Exception) -> Response:
    """The answer to a request that is refused."""
    assert isinstance(refusal, Refusal)
    answer = to_json({"error": refusal.sentence}, refusal.status)
    if refusal.status == 503:
        answer.headers["Retry-After"] = "1"
    return answer


async def refuse_http(call: Call, error: Exception) -> Response:
    """The answer where there is nothing at an address, or not for this method."""
    assert isinstance(error, HTTPException)
    what = {404: "there is nothing here", 405: f"{call.method} is not for this address"}
    told = what.get(error.status_code, error.detail)
    answer = to_json({"error": f"{call.url.path}: {told}: /docs explains"}, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


async def leave(call: Call, error: Exception) -> Response:
    """What is left to say to a client that has gone."""
    return Response(status_code=400)


async def refuse_unknown(call: Call, error: Exception) -> Response:
    """The answer to a mistake of ours, which the log has."""
    return to_json({"error": "the server made a mistake: its log says which"}, 500)
