"""Tables for papers and pages: LaTeX with booktabs, and Markdown as GitHub has it."""

from __future__ import annotations

import re

from rankforce.show.tables.table import Cell, Table, cells, groups, joined, one_line, printed_notes

_NAMES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",  # a dash in the fonts that LaTeX begins with
    "\N{MINUS SIGN}": "$-$",
}
_ESCAPES = str.maketrans(_NAMES | {character: "\\" + character for character in "&%$#_{}"})
_MINUS = re.compile(r"(?<![\w.)-])-(?=\.?\d)")  # of a number; elsewhere it is a hyphen


def render_latex(table: Table) -> str:
    r"""`table` as a `table` environment, with the packages that it needs in the first line.

    Letters beyond ASCII stay as they are. For Greek ones pdflatex must be told, for example
    `\DeclareUnicodeCharacter{03C4}{\ensuremath{\tau}}`.

    >>> row = [Cell("RankNet"), Cell("69.10", worse=True)]
    >>> print(render_latex(Table([("system",), ("P@10",)], [row])))
    % needs \usepackage{booktabs,xcolor}
    \begin{table}
      \centering
      \begin{tabular}{lr}
        \toprule
        system & P@10 \\
        \midrule
        RankNet & \textcolor{red}{69.10} \\
        \bottomrule
      \end{tabular}
    \end{table}
    """
    colour = any(cell.worse for row in cells(table) for cell in row)
    caption = [rf"\caption{{{_escaped(table.caption)}}}"] if table.caption else []
    inside = ["\\toprule", *_head(table.columns), "\\midrule", *_body(table), "\\bottomrule"]
    lines = [
        "\\centering",
        *caption,
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        *("  " + line for line in inside),
        r"\end{tabular}",
        *_notes(table.notes),
    ]
    packages = "booktabs,xcolor" if colour else "booktabs"
    first = [rf"% needs \usepackage{{{packages}}}", r"\begin{table}"]
    return "\n".join([*first, *("  " + line for line in lines), r"\end{table}"])


def _escaped(text: str) -> str:
    r"""`text` as LaTeX prints it: `--` would become a dash, and `-` before a number is a minus."""
    plain = one_line(text).translate(_ESCAPES)
    return re.sub("-(?=-)", "-{}", _MINUS.sub("$-$", plain))


def _line(texts: list[str]) -> str:
    line = " & ".join(texts)
    # After a line end, `[` and `*` are arguments of `\\` and `\midrule`.
    return ("{}" if line.startswith(("[", "*")) else "") + line + r" \\"


def _head(columns: list[tuple[str, ...]]) -> list[str]:
    lines = []
    for level in range(len(columns[0]) - 1):
        found = groups(columns, level)
        texts, rules = [], []
        for group in found:
            size, label = group.stop - group.start, _escaped(group.label)
            if label and group.stop > 1:
                texts.append(rf"\multicolumn{{{size}}}{{c}}{{{label}}}")
            else:
                texts += [label] + [""] * (size - 1)
            if group.ruled:
                rules.append(rf"\cmidrule(lr){{{group.start + 1}-{group.stop}}}")
        lines += [_line(texts), *([" ".join(rules)] if rules else [])]
    return [*lines, _line([_escaped(header[-1]) for header in columns])]


def _body(table: Table) -> list[str]:
    columns = range(len(table.columns))
    stars = [max((row[at].stars for row in cells(table)), key=len, default="") for at in columns]
    lines = []
    for number, row in enumerate(table.rows):
        if isinstance(row, str):
            name = rf"\multicolumn{{{len(columns)}}}{{l}}{{\textit{{{_escaped(row)}}}}}"
            lines += ["\\midrule", _line([name])] if number else [_line([name])]
        else:
            lines.append(_line([_cell(row[at], stars[at] if at else "") for at in columns]))
    return lines


def _cell(cell: Cell, longest: str) -> str:
    """A cell with room for the `longest` stars of its column, so that the numbers line up."""
    text = _escaped(cell.text)
    if cell.italic:
        text = rf"\textit{{{text}}}"
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    text += _raised(cell.stars)
    if cell.worse:
        text = rf"\textcolor{{red}}{{{text}}}"
    missing = _raised(longest[len(cell.stars) :]) if cell.text else ""
    return text + (rf"\phantom{{{missing}}}" if missing else "")


def _raised(stars: str) -> str:
    return f"$^{{{_escaped(stars)}}}$" if stars else ""


def _notes(notes: list[str]) -> list[str]:
    if not notes:
        return []
    lines = [_escaped(note) + r"\par" for note in printed_notes(notes)]
    return [r"\par\medskip", r"{\footnotesize", *lines[:-1], lines[-1] + "}"]


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
    heads = [_markdown_text(joined(header)) for header in table.columns]
    lines = [_pipes(heads), _pipes(["---"] + ["---:"] * (len(heads) - 1))]
    for row in table.rows:
        if isinstance(row, str):
            lines.append(_pipes([_markdown_cell(Cell(row, bold=True))] + [""] * (len(heads) - 1)))
        else:
            lines.append(_pipes([_markdown_cell(cell) for cell in row]))
    caption = [_paragraph(table.caption), ""] if table.caption else []
    notes = ["- " + _paragraph(note) for note in printed_notes(table.notes)]
    return "\n".join([*caption, *lines, *([""] if notes else []), *notes])


def _pipes(texts: list[str]) -> str:
    return "|" + "".join(f" {text} |" if text else " |" for text in texts)


def _markdown_cell(cell: Cell) -> str:
    text = _markdown_text(cell.text)
    # Emphasis around nothing would show its own marks.
    if text and cell.italic:
        text = f"_{text}_"
    if text and cell.bold:
        text = f"**{text}**"
    return text + _markdown_text(cell.stars)


def _markdown_text(text: str) -> str:
    return escape_markdown(one_line(text))


def _paragraph(text: str) -> str:
    return escape_start(_markdown_text(text))


def escape_markdown(text: str) -> str:
    r"""`text` without anything that Markdown would read as a mark inside a line.

    >>> print(escape_markdown("rank_net <b>"))
    rank\_net \<b>
    """
    return _SPECIAL.sub(r"\\\1", text)


def escape_start(line: str) -> str:
    r"""`line` as a paragraph, and no list, heading or quotation, whatever it begins with.

    >>> print(escape_start("# queries: 5"))
    \# queries: 5
    """
    return _BLOCK.sub(r"\1\\", line)
