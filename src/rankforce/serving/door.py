"""Who is let in: with a token, those who have it; without, only programs of this machine."""

from __future__ import annotations

import hmac
import ipaddress

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rankforce.serving.bodies import JSON
from rankforce.serving.refusal import Refusal
from rankforce.serving.requests import failure

# What tells nothing of the models: a page can be shown before it asks for the token.
OPEN = ("/", "/healthz", "/docs", "/openapi.json", "/favicon.ico")
OPEN_UNDER = "/page/"


class Door:
    """Refuses requests without the token, and those that a page of another site sends."""

    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self.app = app
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let through."""
        if scope["type"] == "http":
            try:
                self._check(scope)
            except Refusal as refusal:
                answer = Response(failure(refusal.sentence), refusal.status, media_type=JSON)
                if refusal.status == 401:
                    answer.headers["WWW-Authenticate"] = "Bearer"
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise Refusal(403, f"the request comes from a page of {origin}, not from this server's")
        if self._token is None:
            # A name that leads here may be another site's, which a browser would then let in.
            if host and not is_loopback(host_name(host)):
                raise Refusal(403, f"Host is {host!r}: without a token it must be of this machine")
            return
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_UNDER):
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        is_good = hmac.compare_digest(given.strip().encode(), self._token)
        if kind.lower() != "bearer" or not is_good:
            raise Refusal(401, "a token is needed: send the header Authorization: Bearer TOKEN")


def host_name(host: str) -> str:
    """A host without its port.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, and reached by nobody else.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
