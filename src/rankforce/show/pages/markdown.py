"""A document as Markdown, as GitHub has it."""

from __future__ import annotations

import re
from urllib.parse import quote

from rankforce.show.pages.document import (
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
from rankforce.show.tables import render
from rankforce.show.tables.markup import escape_markdown, escape_start
from rankforce.show.tables.table import one_line


def to_markdown(document: Document) -> str:
    r"""A document as Markdown; its pictures stay files.

    >>> blocks = [Heading("Precision"), Words("`rank_net` **is** rank_net."), Command("make demo")]
    >>> print(to_markdown(Document("Findings", blocks)))
    # Findings
    <BLANKLINE>
    ## Precision
    <BLANKLINE>
    `rank_net` **is** rank\_net.
    <BLANKLINE>
    ```sh
    make demo
    ```
    <BLANKLINE>
    """
    check(document)
    parts = [_heading(document.title, 1), *map(_block, document.blocks)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return _heading(text, level)
        case Words(text):
            return _paragraph(text)
        case Items(texts):
            # Stars, for notes of a table have dashes: a list right below is another one.
            return "\n".join(f"* {_paragraph(text)}".rstrip() for text in texts)
        case Shown(table):
            return render(table, "markdown")
        case Picture(path, words):
            return _picture(path, one_line(words))
        case Command(text):
            return _fenced(text)


def _heading(text: str, level: int) -> str:
    # Behind a space, `#` at the end would belong to the mark of the heading.
    title = re.sub(r"(^|(?<= ))(#+)$", r"\\\2", escape_markdown(one_line(text)))
    return f"{'#' * level} {title}".rstrip()


def _plain(text: str) -> str:
    # Before a link, `!` would make a picture of it.
    return re.sub(r"!$", r"\!", escape_markdown(text))


SPELLING = Spelling(plain=_plain, code="`{}`".format, bold="**{}**".format, link="[{}]({})".format)


def _paragraph(text: str) -> str:
    return escape_start(spell(text, SPELLING))


def _picture(path: str, words: str) -> str:
    """The picture, and its words below: browsers show those of a picture only where it is missing.

    Brackets in the words would end them.
    """
    parts = re.split(r"([][])", words)
    inside = "".join("\\" + part if part in ("[", "]") else escape_markdown(part) for part in parts)
    caption = [escape_start(escape_markdown(words))] if words else []
    return "\n\n".join([f"![{inside}]({quote(path)})", *caption])


def _fenced(text: str) -> str:
    """Lines between fences that are longer than any inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}sh", *text.splitlines(), fence])
