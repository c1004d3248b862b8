"""The page at /, and its files: from the package, and nowhere else."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request as Call
from starlette.responses import Response
from starlette.routing import Route

from rankforce.common.errors import RankforceError
from rankforce.serving.page import INDEX, asset

# Only what this server has: no inline script, no other site, no frame around it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def routes() -> list[Route]:
    """The page, and its files."""
    return [Route("/", show), Route("/page/{name}", show)]


async def show(call: Call) -> Response:
    """GET / and GET /page/FILE."""
    try:
        content, kind = asset(call.path_params.get("name", INDEX))
    except RankforceError:
        raise HTTPException(404) from None
    return Response(content, media_type=kind, headers=SAFE)
