"""The page at /, and its files: from the package, and nowhere else."""

from __future__ import annotations

from importlib import resources
from pathlib import PurePosixPath

from starlette.exceptions import HTTPException
from starlette.requests import Request as Call
from starlette.responses import Response
from starlette.routing import Route

FOLDER = "page"
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".png": "image/png",
}
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
    name = call.path_params.get("name", "index.html")
    content = read_file(name)
    if content is None:
        raise HTTPException(404)
    return Response(content, media_type=KINDS[PurePosixPath(name).suffix], headers=SAFE)


def read_file(name: str) -> bytes | None:
    """A file of the page; None if it has no such file.

    >>> read_file("../server.py") is read_file("nothing.js") is None
    True
    """
    if PurePosixPath(name).suffix not in KINDS or PurePosixPath(name).name != name:
        return None
    file = resources.files("rankforce.serving") / FOLDER / name
    return file.read_bytes() if file.is_file() else None
