"""Tables of results as text, Markdown, LaTeX, HTML, CSV and JSON, whatever is in them."""

from __future__ import annotations

from collections.abc import Callable

from rankforce.common.errors import RankforceError
from rankforce.show.tables.markup import render_latex, render_markdown
from rankforce.show.tables.table import Cell, Table, check, csv_text, render_csv, render_json
from rankforce.show.tables.text import render_text
from rankforce.show.tables.web import render_html

__all__ = ["FORMATS", "Cell", "Table", "check_format", "csv_text", "render"]

_RENDERERS: dict[str, Callable[[Table], str]] = {
    "text": render_text,
    "markdown": render_markdown,
    "latex": render_latex,
    "html": render_html,
    "csv": render_csv,
    "json": render_json,
}
FORMATS = tuple(_RENDERERS)


def render(table: Table, format: str) -> str:
    r"""`table` in one of `FORMATS`, without a line end after the last line.

    CSV has the line ends of RFC 4180: write it to a file opened with `newline=""`.

    >>> best = [Cell("LambdaGap-S+"), Cell("69.76", stars="***", bold=True)]
    >>> table = Table([("system",), ("P@10",)], [[Cell("RankNet"), Cell("69.10")], best])
    >>> print(render(table, "text"))
    system             P@10
    -----------------------
    RankNet        69.10
    LambdaGap-S+  >69.76***
    <BLANKLINE>
    >: best
    >>> print(render(table, "markdown"))
    | system | P@10 |
    | --- | ---: |
    | RankNet | 69.10 |
    | LambdaGap-S+ | **69.76**\*\*\* |
    """
    check_format(format)
    check(table)
    return _RENDERERS[format](table)


def check_format(format: str) -> None:
    """Refuse what is none of `FORMATS`."""
    if format not in FORMATS:
        raise RankforceError(f"the format is {format!r}: choose one of {', '.join(FORMATS)}")
