"""A document as one page for a browser, which needs no other file and asks nobody."""

from __future__ import annotations

import base64
import html
import os
import re
from importlib.resources import files
from pathlib import Path

from rankforce.common.errors import RankforceError
from rankforce.show.pages.document import (
    PICTURES,
    Block,
    Command,
    Document,
    Heading,
    Items,
    Picture,
    Shown,
    Spelling,
    Words,
    check,
    spell,
)
from rankforce.show.tables import Table
from rankforce.show.tables.table import one_line
from rankforce.show.tables.web import html_notes, html_table

# Nothing runs and nothing is fetched, whatever a text holds.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
SPELLING = Spelling(
    plain=html.escape,
    code=lambda text: f"<code>{html.escape(text)}</code>",
    bold="<b>{}</b>".format,
    link=lambda inside, address: f'<a href="{html.escape(address)}">{inside}</a>',
)


def to_html(document: Document, folder: str | os.PathLike[str]) -> str:
    """A document as one page; its pictures are read from `folder` and become part of it.

    The same document gives the same text.

    >>> page = to_html(Document("Findings", [Heading("R & D"), Words("`a < b`")]), ".")
    >>> '<h2 id="r-d">R &amp; D</h2>' in page, "<p><code>a &lt; b</code></p>" in page
    (True, True)
    """
    check(document)
    anchors = _anchors(document)
    blocks = [
        _block(block, anchors.get(number, ""), Path(folder))
        for number, block in enumerate(document.blocks)
    ]
    title = html.escape(one_line(document.title))
    style = (files("rankforce.show.pages") / "style.css").read_text(encoding="utf-8").strip()
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{title}</title>",
        f"<style>\n{style}\n</style>",
        "</head>",
        "<body>",
        f'<header class="head"><h1>{title}</h1></header>',
        '<div class="frame">',
        *_contents(document, anchors),
        "<main>",
        *filter(None, blocks),
        "</main>",
        "</div>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _anchors(document: Document) -> dict[int, str]:
    """A name of its own for each heading of level 2, by the number of its block."""
    found: dict[int, str] = {}
    for number, block in enumerate(document.blocks):
        if isinstance(block, Heading) and block.level == 2:
            first = "-".join(re.findall(r"\w+", block.text.lower())) or "section"
            name, count = first, 1
            while name in found.values():
                count += 1
                name = f"{first}-{count}"
            found[number] = name
    return found


def _contents(document: Document, anchors: dict[int, str]) -> list[str]:
    headings = ((document.blocks[number], name) for number, name in anchors.items())
    links = [
        f'<li><a href="#{name}">{html.escape(one_line(block.text))}</a></li>'
        for block, name in headings
        if isinstance(block, Heading)
    ]
    start = '<nav class="contents" aria-label="Contents"><ul>'
    return [start, *links, "</ul></nav>"] if links else []


def _block(block: Block, anchor: str, folder: Path) -> str:
    match block:
        case Heading(text, level):
            name = f' id="{anchor}"' if anchor else ""
            return f"<h{level}{name}>{html.escape(one_line(text))}</h{level}>"
        case Words(text):
            return f"<p>{spell(text, SPELLING)}</p>"
        case Items(texts):
            lines = [f"<li>{spell(text, SPELLING)}</li>" for text in texts]
            return "\n".join(["<ul>", *lines, "</ul>"]) if lines else ""
        case Shown(table):
            return _table(table)
        case Picture(path, words):
            return _picture(folder / path, html.escape(one_line(words)))
        case Command(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"


def _table(table: Table) -> str:
    """A table in a box that scrolls by itself, and that keys can reach."""
    label = html.escape(one_line(table.caption)) or "Table"
    box = f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
    return "\n".join(filter(None, [box, html_table(table), "</div>", html_notes(table)]))


def _picture(file: Path, words: str) -> str:
    try:
        content = base64.b64encode(file.read_bytes()).decode()
    except OSError as error:
        raise RankforceError(f"picture {file} cannot be read: {error.strerror or error}") from None
    source = f"data:{PICTURES[file.suffix]};base64,{content}"
    caption = f"<figcaption>{words}</figcaption>" if words else ""
    return f'<figure><img src="{source}" alt="{words}">{caption}</figure>'
