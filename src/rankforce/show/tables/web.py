"""Tables for web pages: HTML without a style of its own; classes say what a style is for."""

from __future__ import annotations

import html
import re

from rankforce.show.tables.table import Cell, Table, cells, groups, one_line, printed_notes

# What a number begins with, in brackets or behind a sign or not: "[-0.1, 0.2]", "<0.001".
_NUMBER = re.compile(r"[(\[<>=~±+\-\N{MINUS SIGN}\s]*\.?\d")


def render_html(table: Table) -> str:
    """`table` as a piece of a page: the table, and its notes below.

    A style sheet finds numbers by the class `number`, headers of several columns by `group`,
    sections by `section`, what is worse than a baseline by `worse`, and the notes by `notes`.

    >>> row = [Cell("R & D"), Cell("0.51", stars="*", bold=True)]
    >>> print(render_html(Table([("system",), ("mean",)], [row], ["6306 queries"])))
    <table>
    <thead>
    <tr><th scope="col">system</th><th scope="col" class="number">mean</th></tr>
    </thead>
    <tbody>
    <tr><th scope="row">R &amp; D</th><td class="number"><b>0.51</b><sup>*</sup></td></tr>
    </tbody>
    </table>
    <p class="notes">6306 queries</p>
    """
    return "\n".join(filter(None, [html_table(table), html_notes(table)]))


def html_table(table: Table) -> str:
    """The table alone, without its notes.

    >>> print(html_table(Table([("system",)], [], caption="Table 1")))
    <table>
    <caption>Table 1</caption>
    <thead>
    <tr><th scope="col">system</th></tr>
    </thead>
    </table>
    """
    caption = [f"<caption>{_escaped(table.caption)}</caption>"] if table.caption else []
    kinds = ["number" if numbers else "" for numbers in _number_columns(table)]
    head = ["<thead>", *_head(table.columns, kinds), "</thead>"]
    return "\n".join(["<table>", *caption, *head, *_body(table, kinds), "</table>"])


def html_notes(table: Table) -> str:
    """The notes of a table as one paragraph with a line for each; nothing where there are none.

    >>> html_notes(Table([("system",)], [], [">: p < 0.01", "6306 queries"]))
    '<p class="notes">bold: p &lt; 0.01<br>6306 queries</p>'
    """
    lines = "<br>".join(map(_escaped, printed_notes(table.notes)))
    return f'<p class="notes">{lines}</p>' if table.notes else ""


def _escaped(text: str) -> str:
    return html.escape(one_line(text))


def _number_columns(table: Table) -> list[bool]:
    """Whether a column has numbers; the first has names, and one without any text counts too."""
    found = []
    for column in range(len(table.columns)):
        texts = [row[column].text for row in cells(table) if row[column].text]
        found.append(column > 0 and (not texts or any(map(_NUMBER.match, texts))))
    return found


def _head(columns: list[tuple[str, ...]], kinds: list[str]) -> list[str]:
    """A line for each level; a header that others stand below spans their columns."""
    lines = []
    for level in range(len(columns[0]) - 1):
        parts = [
            _header(group.label, "group" if group.ruled else "", group.stop - group.start)
            for group in groups(columns, level)
        ]
        lines.append(_line(parts))
    pairs = zip(columns, kinds, strict=True)
    return [*lines, _line([_header(header[-1], kind) for header, kind in pairs])]


def _header(label: str, kind: str, size: int = 1) -> str:
    """A header; where there is none, an empty cell keeps its place."""
    scope = {"scope": "col"} if label else {}
    span = {"colspan": str(size)} if size > 1 else {}
    return _element("th" if label else "td", _escaped(label), scope | span | {"class": kind})


def _body(table: Table, kinds: list[str]) -> list[str]:
    """The rows, those of a section in a body of their own."""
    bodies: list[list[str]] = [[]]
    for row in table.rows:
        if isinstance(row, str):
            wide = {"scope": "rowgroup", "colspan": str(len(kinds)), "class": "section"}
            name = f"<span>{_escaped(row)}</span>"  # for styles in which it stays in sight
            bodies.append([_line([_element("th", name, wide)])])
        else:
            bodies[-1].append(_line([_cell(row[at], kinds[at], at) for at in range(len(row))]))
    return [line for body in bodies if body for line in ["<tbody>", *body, "</tbody>"]]


def _cell(cell: Cell, kind: str, column: int) -> str:
    text = _escaped(cell.text)
    # Stars alone are the text of their cell, not marks beside one.
    stars = _escaped(cell.stars)
    if text:
        text = f"<i>{text}</i>" if cell.italic else text
        text = f"<b>{text}</b>" if cell.bold else text
        stars = f"<sup>{stars}</sup>" if stars else ""
    classes = " ".join(filter(None, [kind, "worse" if cell.worse else ""]))
    first = {} if column else {"scope": "row"}
    return _element("td" if column else "th", text + stars, first | {"class": classes})


def _line(parts: list[str]) -> str:
    return f"<tr>{''.join(parts)}</tr>"


def _element(name: str, inside: str, attributes: dict[str, str]) -> str:
    told = "".join(f' {key}="{value}"' for key, value in attributes.items() if value)
    return f"<{name}{told}>{inside}</{name}>"
