"""Documents written once, for readers on GitHub, in a browser, and for programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.files import write_whole
from rankforce.common.types import plain
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
    "write",
]


def write(
    document: Document, folder: str | os.PathLike[str], record: Any, stem: str = "report"
) -> list[Path]:
    """Write a document as Markdown and HTML into the folder where its pictures are.

    Beside them goes `record` as JSON: the same for programs.

    >>> import tempfile
    >>> found = write(Document("Findings", [Words("1 holds.")]), tempfile.mkdtemp(), {"held": 1})
    >>> [file.name for file in found]
    ['report.md', 'report.html', 'report.json']
    """
    place = Path(folder)
    if not place.is_dir():
        raise RankforceError(f"folder is {str(folder)!r}: expected a folder that exists")
    texts = {
        "md": to_markdown(document),
        "html": to_html(document, place),
        "json": json.dumps(record, indent=1, ensure_ascii=False, default=plain) + "\n",
    }
    files = [place / f"{stem}.{ending}" for ending in texts]
    for file, text in zip(files, texts.values(), strict=True):
        write_whole(file, text)
    return files
