"""The page at `/`: documents are edited, and ranking and reasons follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath

from rankforce.common.errors import RankforceError
from rankforce.forces.make import objectives
from rankforce.show.report.write import scripts

INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


@cache
def asset(name: str) -> tuple[bytes, str]:
    """A file of the page, and its content type; that of `/` is `index.html`.

    >>> asset("page.css")[1]
    'text/css; charset=utf-8'
    """
    if name in MADE:
        content = MADE[name]().encode()
    elif name in _own_files():
        content = (files(__name__) / name).read_bytes()
    else:
        known = ", ".join(sorted([*MADE, *_own_files()]))
        raise RankforceError(f"the page has no file {name!r}: it has {known}")
    return content, TYPES[PurePosixPath(name).suffix]


@cache
def _own_files() -> list[str]:
    found = [one.name for one in files(__name__).iterdir()]
    return [name for name in found if PurePosixPath(name).suffix in TYPES]


def _of_the_report(name: str) -> str:
    return (files("rankforce.show.report") / "page" / name).read_text(encoding="utf-8")


def _objectives() -> str:
    """What forces can be shown of."""
    told = [{"name": one.name, "formula": one.formula} for one in objectives()]
    return json.dumps(told)


# Those that are not files of this folder: shared with the report, or of what the package knows.
MADE: dict[str, Callable[[], str]] = {
    "style.css": lambda: _of_the_report("style.css"),  # colours, tables, buttons
    "explorer.css": lambda: _of_the_report("explorer.css"),  # grades
    "shared.js": lambda: scripts("scales.js"),  # elements of a page, and how numbers are written
    "objectives.json": _objectives,
}
