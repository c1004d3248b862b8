"""What a document is: a title and blocks, and the few marks that words may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.show.tables import Table
from rankforce.show.tables.table import check as check_table
from rankforce.show.tables.table import one_line

LEVELS = range(2, 7)
PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Heading:
    """A heading from level 2, which the table of contents has, to 6; 1 is the title's.

    >>> Heading("Precision").level
    2
    """

    text: str
    level: int = 2


@dataclass(frozen=True)
class Words:
    """A paragraph, in which `code`, **bold** and [links](address) are marked as here.

    Everything else is shown as it is written.

    >>> Words("**3 of 4** claims hold, see [the paper](https://example.org).").text[:10]
    '**3 of 4**'
    """

    text: str


@dataclass(frozen=True)
class Items:
    """A list, of texts with the marks of `Words`.

    >>> Items(["the first", "the **second**"]).texts[0]
    'the first'
    """

    texts: Sequence[str]


@dataclass(frozen=True)
class Shown:
    """A table.

    >>> Shown(Table([("system",)], [], caption="Table 1")).table.caption
    'Table 1'
    """

    table: Table


@dataclass(frozen=True)
class Picture:
    """A picture in the folder of the document, .png or .svg, and what it shows in words.

    >>> Picture("curves.png", "NDCG@10 by tree").path
    'curves.png'
    """

    path: str
    words: str


@dataclass(frozen=True)
class Command:
    """What to type in a shell, in one or more lines.

    >>> Command("rankforce demo").text
    'rankforce demo'
    """

    text: str


Block: TypeAlias = Heading | Words | Items | Shown | Picture | Command
KINDS: dict[type, str] = {
    Heading: "heading",
    Words: "words",
    Items: "items",
    Shown: "table",
    Picture: "picture",
    Command: "command",
}


@dataclass(frozen=True)
class Document:
    """A title, and what stands below it.

    >>> Document("Findings", [Heading("Precision"), Words("All claims hold.")]).title
    'Findings'
    """

    title: str
    blocks: Sequence[Block]


def check(document: Document) -> None:
    """Refuse blocks that are none, levels that headings do not have, pictures from elsewhere.

    >>> check(Document("Findings", [Heading("Precision", 1)]))
    Traceback (most recent call last):
    ...
    rankforce.RankforceError: heading 'Precision' has level 1: it must be from 2 to 6
    """
    for number, block in enumerate(document.blocks, start=1):
        if type(block) not in KINDS:
            names = ", ".join(kind.__name__ for kind in KINDS)
            raise RankforceError(f"block {number} is {block!r}: choose one of {names}")
        if isinstance(block, Heading) and block.level not in LEVELS:
            raise RankforceError(
                f"heading {block.text!r} has level {block.level}: it must be from 2 to 6"
            )
        if isinstance(block, Picture):
            _check_picture(block.path)
        if isinstance(block, Shown):
            check_table(block.table)


def _check_picture(path: str) -> None:
    if Path(path).name != path or "\\" in path:
        raise RankforceError(
            f"a picture is {path!r}: expected the name of a file in the folder of the document"
        )
    check_choice(f"the ending of picture {path!r}", Path(path).suffix, PICTURES)


class Spelling(NamedTuple):
    """How a format writes the marks of words; bold and links are given what is in them, written."""

    plain: Callable[[str], str]
    code: Callable[[str], str]
    bold: Callable[[str], str]
    link: Callable[[str, str], str]


# An address begins with http(s), or has no scheme: it may not be a script.
_ADDRESS = r"(?:https?:|(?![\w+.-]*:))[^\s()<>\"\\\x00-\x20\x7f]+"
_MARKS = re.compile(
    r"(?<!`)`(?P<code>[^`\s](?:[^`]*[^`\s])?)`(?!`)"
    r"|(?<![\w*])\*\*(?P<bold>[^*\s](?:[^*]*[^*\s])?)\*\*(?![\w*])"
    rf"|\[(?P<link>[^][\s](?:[^][]*[^][\s])?)\]\((?P<address>{_ADDRESS})\)"
)


def spell(text: str, by: Spelling) -> str:
    """`text` in one line, its marks written as a format has them.

    >>> loud = Spelling(plain=str, code=repr, bold=str.upper, link="{} ({})".format)
    >>> spell("`a` is **the best**: [see](table.csv)", loud)
    "'a' is THE BEST: see (table.csv)"
    """
    return _spelt(one_line(text), by)


def _spelt(line: str, by: Spelling) -> str:
    parts, end = [], 0
    for found in _MARKS.finditer(line):
        parts.append(by.plain(line[end : found.start()]))
        if found["code"]:
            parts.append(by.code(found["code"]))
        elif found["bold"]:
            parts.append(by.bold(_spelt(found["bold"], by)))
        else:
            parts.append(by.link(_spelt(found["link"], by), found["address"]))
        end = found.end()
    return "".join([*parts, by.plain(line[end:])])
