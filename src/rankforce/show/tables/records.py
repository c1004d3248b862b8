"""Tables for programs: CSV and JSON, with the cells as they are printed."""

from __future__ import annotations

import csv
import io
import json

from rankforce.common.errors import RankforceError
from rankforce.show.tables.table import Table, joined


def render_csv(table: Table) -> str:
    r"""`table` by RFC 4180, without notes and caption.

    >>> from rankforce.show.tables import Cell
    >>> render_csv(Table([("P", "k = 5"), ("P", "k = 10")], [[Cell("0,7", "*"), Cell("0,6")]]))
    'P k = 5,P k = 10\r\n"0,7*","0,6"'
    """
    sheet = io.StringIO(newline="")
    csv.writer(sheet).writerows([_keys(table), *_values(table)])
    return sheet.getvalue().removesuffix("\r\n")


def render_json(table: Table) -> str:
    """A list with an object for each row, without notes and caption.

    >>> from rankforce.show.tables import Cell
    >>> print(render_json(Table([("system",), ("P",)], [[Cell("RankNet"), Cell("0.7", "*")]])))
    [
      {"system": "RankNet", "P": "0.7*"}
    ]
    """
    keys = _keys(table)
    for key in keys:
        if keys.count(key) > 1:
            raise RankforceError(
                f"{keys.count(key)} columns are {key!r}: a key of JSON must be unique"
            )
    rows = [dict(zip(keys, values, strict=True)) for values in _values(table)]
    lines = ["  " + json.dumps(row, ensure_ascii=False) for row in rows]
    return "\n".join(["[", ",\n".join(lines), "]"]) if lines else "[]"


def _has_sections(table: Table) -> bool:
    return any(isinstance(row, str) for row in table.rows)


def _keys(table: Table) -> list[str]:
    first = ["section"] if _has_sections(table) else []
    return first + [joined(header) for header in table.columns]


def _values(table: Table) -> list[list[str]]:
    """Text and stars of each row, behind the name of its section if there are sections."""
    section = [""] if _has_sections(table) else []
    found = []
    for row in table.rows:
        if isinstance(row, str):
            section = [row]
        else:
            found.append(section + [cell.text + cell.stars for cell in row])
    return found
