"""Documents written once, for readers on GitHub, in a browser, and for programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rankforce.common.errors import RankforceError
from rankforce.common.files import write_whole
from rankforce.show.pages.document import (
    Block,
    Command,
    Document,
    Heading,
    Items,
    Picture,
    Shown,
    Words,
)
from rankforce.show.pages.markdown import to_markdown
from rankforce.show.pages.record import to_record
from rankforce.show.pages.web import to_html

__all__ = [
    "Block",
    "Command",
    "Document",
    "Heading",
    "Items",
    "Picture",
    "Shown",
    "Words",
    "to_html",
    "to_markdown",
    "to_record",
    "write",
]


def write(document: Document, folder: str | os.PathLike[str], stem: str = "report") -> list[Path]:
    """Write a document as Markdown, HTML and JSON into the folder where its pictures are.

    >>> import tempfile
    >>> found = write(Document("Findings", [Words("All of them hold.")]), tempfile.mkdtemp())
    >>> [file.name for file in found]
    ['report.md', 'report.html', 'report.json']
    """
    place = Path(folder)
    if not place.is_dir():
        raise RankforceError(f"folder is {str(folder)!r}: expected a folder that exists")
    texts = {
        "md": to_markdown(document),
        "html": to_html(document, place),
        "json": json.dumps(to_record(document), indent=2, ensure_ascii=False) + "\n",
    }
    files = [place / f"{stem}.{ending}" for ending in texts]
    for file, text in zip(files, texts.values(), strict=True):
        write_whole(file, text)
    return files
