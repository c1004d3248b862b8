"""A document as a record, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rankforce.show.pages.document import KINDS, Block, Document, Items, Shown, check
from rankforce.show.tables import Table


def to_record(document: Document) -> dict[str, Any]:
    """A document as what JSON can hold: texts with their marks, tables with all their cells.

    >>> to_record(Document("Findings", [Items(["all **hold**"])]))
    {'title': 'Findings', 'blocks': [{'kind': 'items', 'texts': ['all **hold**']}]}
    """
    check(document)
    return {"title": document.title, "blocks": list(map(_block, document.blocks))}


def _block(block: Block) -> dict[str, Any]:
    kind = {"kind": KINDS[type(block)]}
    match block:
        case Shown(table):
            return kind | _table(table)
        case Items(texts):
            return kind | {"texts": list(texts)}
        case _:
            return kind | asdict(block)


def _table(table: Table) -> dict[str, Any]:
    rows = [
        {"section": row} if isinstance(row, str) else {"cells": [cell._asdict() for cell in row]}
        for row in table.rows
    ]
    columns = [list(header) for header in table.columns]
    return {"caption": table.caption, "columns": columns, "rows": rows, "notes": list(table.notes)}
