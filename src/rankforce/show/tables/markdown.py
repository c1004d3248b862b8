"""Tables as GitHub writes them in Markdown."""

from __future__ import annotations

import re

from rankforce.show.tables.table import Cell, Table, joined, one_line, printed_notes

# Brackets only where they would make a link: `[0.01, 0.03]` is an interval and stays readable.
# `$` is mathematics on GitHub, `~` strikes out, `&lt;` is an entity.
_SPECIAL = re.compile(r"([\\`*_<|~$]|\](?=[(\[:])|&(?=#?\w+;))")
# What begins a list, a heading or a quotation at the start of a paragraph.
_BLOCK = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+#>=]))")


def render_markdown(table: Table) -> str:
    r"""`table` with pipes; a section is a row with a bold name.

    >>> row = [Cell("Rank_Net"), Cell("0.51", stars="*", italic=True)]
    >>> print(render_markdown(Table([("system",), ("mean",)], ["NDCG@5", row], ["6306 queries"])))
    | system | mean |
    | --- | ---: |
    | **NDCG@5** | |
    | Rank\_Net | _0.51_\* |
    <BLANKLINE>
    - 6306 queries
    """
    heads = [_escaped(joined(header)) for header in table.columns]
    lines = [_row(heads), _row(["---"] + ["---:"] * (len(heads) - 1))]
    for row in table.rows:
        if isinstance(row, str):
            lines.append(_row([_cell(Cell(row, bold=True))] + [""] * (len(heads) - 1)))
        else:
            lines.append(_row([_cell(cell) for cell in row]))
    caption = [_paragraph(table.caption), ""] if table.caption else []
    notes = ["- " + _paragraph(note) for note in printed_notes(table.notes)]
    return "\n".join([*caption, *lines, *([""] if notes else []), *notes])


def _row(texts: list[str]) -> str:
    return "|" + "".join(f" {text} |" if text else " |" for text in texts)


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    # Emphasis around nothing would show its own marks.
    if text and cell.italic:
        text = f"_{text}_"
    if text and cell.bold:
        text = f"**{text}**"
    return text + _escaped(cell.stars)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _paragraph(text: str) -> str:
    return _BLOCK.sub(r"\1\\", _escaped(text))
