"""Tables of results: what each format prints, letter by letter."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from rankforce.show.tables import FORMATS, Cell, Table, render
from tests.show.tables.made_tables import by_cutoff, by_data_set, comparison, plain


def lines(*texts: str) -> str:
    return "\n".join(texts)


# Text


def test_comparison_as_text() -> None:
    assert render(comparison(), "text") == lines(
        "MSLR & co",
        "",
        "system             mean  difference        95% interval       p  stars",
        "----------------------------------------------------------------------",
        "LambdaRank-P@k   0.6932",
        "rank_net         0.6910     -0.0022  [-0.0040, -0.0003]   0.021    *",
        "LambdaGap-S+    >0.6976      0.0044    [0.0020, 0.0066]  <0.001    ***",
        "",
        "P@10, y > 0",
        "6306 queries",
        ">: best",
    )


def test_groups_as_text() -> None:
    assert render(by_data_set(), "text") == lines(
        "                   MSLR-WEB30K        Istella-S",
        "                  --------------  ------------------",
        "algorithm          k = 5  k = 10    k = 5     k = 10",
        "----------------------------------------------------",
        "LambdaRank-P@k     73.52   69.32   91.30    81.70",
        "LambdaRank-NDCG    72.06   68.08   88.31    79.04",
        "LambdaLoss-BNDCG  >73.68   68.92  >91.47*  >82.09***",
        "",
        ">: best",
    )


def test_sections_as_text() -> None:
    assert render(by_cutoff(), "text") == lines(
        "         LambdaMART    LambdaMART-eX",
        "         ----------  -----------------",
        "dataset         τ=k    static  all-stt",
        "--------------------------------------",
        "NDCG@5",
        "IST-S         70.19  >70.67**   70.65*",
        "--------------------------------------",
        "NDCG@10",
        "MS 30         52.66   52.96     53.19",
        "",
        ">: p < 0.01",
    )


def test_decimal_points_line_up() -> None:
    body = [line for line in render(by_data_set(), "text").split("\n") if "." in line]
    points = [[match.start() for match in re.finditer(r"\.", line)] for line in body]
    assert len(points) == 3
    assert len(points[0]) == 4
    assert points[0] == points[1] == points[2]


def test_three_levels_and_a_header_wider_than_its_columns() -> None:
    columns = [("", "", "x"), ("a long header", "a", "1"), ("a long header", "b", "2")]
    # "b" goes on below another header: that is a group of its own.
    columns += [("c", "b", "3")]
    assert render(Table(columns, [plain("y", "4", "5", "6")]), "text") == lines(
        "   a long header  c",
        "   -------------  -",
        "     a       b    b",
        "   ------  -----  -",
        "x       1      2  3",
        "-------------------",
        "y       4      5  6",
    )


def test_wide_headers_share_their_room() -> None:
    # The lower header makes room for the upper one: together they need no more.
    columns = [("12 letters..", "10 letters", "a"), ("12 letters..", "b", "c")]
    assert render(Table(columns, []), "text").split("\n") == [
        "12 letters..",
        "-------------",
        "10 letters  b",
        "----------  -",
        "a           c",
        "-------------",
    ]


def test_header_without_one_below_it_has_no_line() -> None:
    columns = [("dataset", ""), ("P", "k = 5")]
    assert render(Table(columns, [plain("MSLR", "73.52")]), "text") == lines(
        "dataset    P",
        "         -----",
        "         k = 5",
        "--------------",
        "MSLR     73.52",
    )
    assert r"\cmidrule(lr){2-2}" in render(Table(columns, []), "latex")
    assert r"\cmidrule(lr){1-1}" not in render(Table(columns, []), "latex")


def test_names_line_up_when_one_is_bold() -> None:
    rows: list[list[Cell] | str] = [plain("a", "1"), [Cell("b", "*", bold=True), Cell("2")]]
    assert render(Table([("x",), ("y",)], rows), "text").split("\n")[2:4] == [" a   1", ">b*  2"]


def test_wide_letters_take_two_columns_and_accents_none() -> None:
    rows: list[list[Cell] | str] = [
        plain("順位", "1"),
        plain("e\u0301abc", "2"),
        plain("abcd", "3"),
    ]
    found = render(Table([("x",), ("y",)], rows), "text").split("\n")
    assert found[2:] == ["順位  1", "e\u0301abc  2", "abcd  3"]


def test_best_is_explained_only_where_it_is_marked() -> None:
    assert ">" not in render(Table([("x",)], [plain("1")], ["a note"]), "text")
    assert render(Table([("x",)], [[Cell("1", bold=True)]]), "text").endswith("\n>1\n\n>: best")
    for format in ("markdown", "latex"):
        assert ": best" not in render(comparison(), format)


# Markdown


def test_comparison_as_markdown() -> None:
    assert render(comparison(), "markdown") == lines(
        "MSLR & co",
        "",
        "| system | mean | difference | 95% interval | p | stars |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| LambdaRank-P@k | 0.6932 | | | | |",
        r"| rank\_net | 0.6910 | -0.0022 | [-0.0040, -0.0003] | 0.021 | \* |",
        r"| LambdaGap-S+ | **0.6976** | 0.0044 | [0.0020, 0.0066] | \<0.001 | \*\*\* |",
        "",
        "- P@10, y > 0",
        "- 6306 queries",
    )


def test_sections_as_markdown() -> None:
    assert render(by_cutoff(), "markdown") == lines(
        "| dataset | LambdaMART τ=k | LambdaMART-eX static | LambdaMART-eX all-stt |",
        "| --- | ---: | ---: | ---: |",
        "| **NDCG@5** | | | |",
        r"| IST-S | 70.19 | **70.67**\*\* | _70.65_\* |",
        "| **NDCG@10** | | | |",
        "| MS 30 | 52.66 | 52.96 | 53.19 |",
        "",
        r"- bold: p \< 0.01",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("<b>*x*</b>", r"\<b>\*x\*\</b>"),
        ("`code` __init__", r"\`code\` \_\_init\_\_"),
        ("~~$x$~~", r"\~\~\$x\$\~\~"),
        ("[a](b) [a][b]", r"[a\](b) [a\][b]"),
        ("&lt; &#35; R&D", r"\&lt; \&#35; R&D"),
        (" two\r\nlines\tand\nmore\n", "two lines and more"),
        ("τ ± 順", "τ ± 順"),
    ],
)
def test_markdown_escapes(text: str, expected: str) -> None:
    found = render(Table([(text,)], [plain(text), text], [], text), "markdown")
    row, section = f"| {expected} |", f"| **{expected}** |"
    assert found == lines(expected, "", row, "| --- |", row, section)


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("# queries: 5", r"\# queries: 5"),
        ("- 5", r"\- 5"),
        ("> 5", r"\> 5"),
        ("1. five", r"1\. five"),
        ("12) five", r"12\) five"),
        ("0.05 is alpha", "0.05 is alpha"),
        ("[a]: b", r"[a\]: b"),
    ],
)
def test_notes_begin_nothing_else_in_markdown(note: str, expected: str) -> None:
    assert render(Table([("x",)], [], [note]), "markdown").endswith(f"\n\n- {expected}")


def test_emphasis_in_markdown() -> None:
    rows: list[list[Cell] | str] = [
        [Cell("a", "**", bold=True, italic=True)],
        [Cell("", "*", bold=True, italic=True)],
    ]
    found = render(Table([("x",)], rows), "markdown").split("\n")
    assert found[2:] == [r"| **_a_**\*\* |", r"| \* |"]


# LaTeX


def test_comparison_as_latex() -> None:
    assert render(comparison(), "latex") == lines(
        r"% needs \usepackage{booktabs,xcolor}",
        r"\begin{table}",
        r"  \centering",
        r"  \caption{MSLR \& co}",
        r"  \begin{tabular}{lrrrrr}",
        r"    \toprule",
        r"    system & mean & difference & 95\% interval & p & stars \\",
        r"    \midrule",
        r"    LambdaRank-P@k & 0.6932 &  &  &  &  \\",
        r"    rank\_net & \textcolor{red}{0.6910} & $-$0.0022 & [$-$0.0040, $-$0.0003] & 0.021"
        r" & $^{*}$ \\",
        r"    LambdaGap-S+ & \textbf{0.6976} & 0.0044 & [0.0020, 0.0066] & \textless{}0.001"
        r" & $^{***}$ \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \par\medskip",
        r"  {\footnotesize",
        r"  P@10, y \textgreater{} 0\par",
        r"  6306 queries\par}",
        r"\end{table}",
    )


def test_groups_as_latex() -> None:
    found = render(by_data_set(), "latex").split("\n")
    assert found[4:14] == [
        r"    \toprule",
        r"     & \multicolumn{2}{c}{MSLR-WEB30K} & \multicolumn{2}{c}{Istella-S} \\",
        r"    \cmidrule(lr){2-3} \cmidrule(lr){4-5}",
        r"    algorithm & k = 5 & k = 10 & k = 5 & k = 10 \\",
        r"    \midrule",
        r"    LambdaRank-P@k & 73.52 & 69.32 & 91.30\phantom{$^{*}$} & 81.70\phantom{$^{***}$} \\",
        r"    LambdaRank-NDCG & \textcolor{red}{72.06} & \textcolor{red}{68.08}"
        r" & \textcolor{red}{88.31}\phantom{$^{*}$} & \textcolor{red}{79.04}\phantom{$^{***}$} \\",
        r"    LambdaLoss-BNDCG & \textbf{73.68} & \textcolor{red}{68.92}"
        r" & \textbf{91.47}$^{*}$ & \textbf{82.09}$^{***}$ \\",
        r"    \bottomrule",
        r"  \end{tabular}",
    ]


def test_sections_as_latex() -> None:
    assert render(by_cutoff(), "latex") == lines(
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        r"  \begin{tabular}{lrrr}",
        r"    \toprule",
        r"     & \multicolumn{1}{c}{LambdaMART} & \multicolumn{2}{c}{LambdaMART-eX} \\",
        r"    \cmidrule(lr){2-2} \cmidrule(lr){3-4}",
        r"    dataset & τ=k & static & all-stt \\",
        r"    \midrule",
        r"    \multicolumn{4}{l}{\textit{NDCG@5}} \\",
        r"    IST-S & 70.19 & \textbf{70.67}$^{**}$ & \textit{70.65}$^{*}$ \\",
        r"    \midrule",
        r"    \multicolumn{4}{l}{\textit{NDCG@10}} \\",
        r"    MS 30 & 52.66 & 52.96\phantom{$^{**}$} & 53.19\phantom{$^{*}$} \\",
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \par\medskip",
        r"  {\footnotesize",
        r"  bold: p \textless{} 0.01\par}",
        r"\end{table}",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("& % $ # _ { }", r"\& \% \$ \# \_ \{ \}"),
        (r"C:\~x^2", r"C:\textbackslash{}\textasciitilde{}x\textasciicircum{}2"),
        ("a<b>c|d", r"a\textless{}b\textgreater{}c\textbar{}d"),
        ("τ ± é", "τ ± é"),
        ("two\nlines", "two lines"),
        ("--seed", "-{}-seed"),
        ("a---b", "a-{}-{}-b"),
        ("(-0.5, -.5, \N{MINUS SIGN}5)", "($-$0.5, $-$.5, $-$5)"),
        ("MSLR-30 5-10 1e-05 x-y", "MSLR-30 5-10 1e-05 x-y"),
        # After a line end, LaTeX would read the first letter as an argument.
        ("[base]", "{}[base]"),
        ("*base", "{}*base"),
    ],
)
def test_latex_escapes(text: str, expected: str) -> None:
    found = render(Table([(text,)], [plain(text)]), "latex").split("\n")
    assert found[5] == found[7] == f"    {expected} \\\\"


def test_columns_without_an_upper_header_as_latex() -> None:
    columns = [("system", ""), ("", "mean"), ("", "p"), ("wins", "a"), ("wins", "")]
    found = render(Table(columns, []), "latex").split("\n")
    assert found[5:8] == [
        r"    system &  &  & \multicolumn{2}{c}{wins} \\",
        r"    \cmidrule(lr){4-5}",
        r"     & mean & p & a &  \\",
    ]


def test_stars_of_names_leave_no_room_behind_other_names() -> None:
    found = render(Table([("x",)], [[Cell("a", "*")], [Cell("b")]]), "latex").split("\n")
    assert found[7:9] == [r"    a$^{*}$ \\", r"    b \\"]


def test_worse_with_stars_is_red_as_a_whole() -> None:
    rows: list[list[Cell] | str] = [
        [Cell("a"), Cell("1", "*", worse=True, bold=True, italic=True)],
        [Cell("b"), Cell("2", "***")],
    ]
    found = render(Table([("x",), ("y",)], rows), "latex")
    assert r"a & \textcolor{red}{\textbf{\textit{1}}$^{*}$}\phantom{$^{**}$} \\" in found


# CSV and JSON

TEXTS = ['a "quoted", b', "two\nlines", "τ\\|", " ", "=1"]


def read_csv(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_csv() -> None:
    assert render(by_cutoff(), "csv") == "\r\n".join(
        [
            "section,dataset,LambdaMART τ=k,LambdaMART-eX static,LambdaMART-eX all-stt",
            "NDCG@5,IST-S,70.19,70.67**,70.65*",
            "NDCG@10,MS 30,52.66,52.96,53.19",
        ]
    )
    assert render(by_data_set(), "csv").startswith("algorithm,MSLR-WEB30K k = 5,")


def test_csv_is_read_back() -> None:
    heads = ["x", "y, z", "", "x", "section"]
    table = Table([(head,) for head in heads], [plain(*TEXTS), "s", plain(*TEXTS)])
    assert read_csv(render(table, "csv")) == [["section", *heads], ["", *TEXTS], ["s", *TEXTS]]


def test_json_is_read_back() -> None:
    heads = ["x", "y, z", "τ", "", '"']
    found = render(Table([(head,) for head in heads], [plain(*TEXTS)] * 2), "json")
    assert json.loads(found) == [dict(zip(heads, TEXTS, strict=True))] * 2
    assert "τ" in found


def test_json() -> None:
    columns = [("", "dataset"), ("LambdaMART", "τ=k")]
    rows: list[list[Cell] | str] = ["NDCG@5", [Cell("IST-S"), Cell("70.19", "*", bold=True)]]
    assert render(Table(columns, rows, ["a note"], "a caption"), "json") == lines(
        "[",
        '  {"section": "NDCG@5", "dataset": "IST-S", "LambdaMART τ=k": "70.19*"}',
        "]",
    )


def test_json_needs_headers_that_differ() -> None:
    with pytest.raises(ValueError, match=r"^2 columns are 'x': a key of JSON must be unique$"):
        render(Table([("x",), ("x",)], []), "json")
    with pytest.raises(ValueError, match=r"^2 columns are 'section': "):
        render(Table([("section",)], ["a", plain("b")]), "json")


# Edges


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("text", "x  y\n----"),
        ("markdown", "| x | y |\n| --- | ---: |"),
        ("csv", "x,y"),
        ("json", "[]"),
    ],
)
def test_no_rows(format: str, expected: str) -> None:
    assert render(Table([("x",), ("y",)], []), format) == expected


def test_no_rows_as_latex() -> None:
    found = render(Table([("x",)], []), "latex").split("\n")
    assert [line.strip() for line in found[5:8]] == ["x " + r"\\", r"\midrule", r"\bottomrule"]


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("text", "x\n---\nabc"),
        ("markdown", "| x |\n| --- |\n| abc |"),
        ("csv", "x\r\nabc"),
        ("json", '[\n  {"x": "abc"}\n]'),
    ],
)
def test_one_column(format: str, expected: str) -> None:
    assert render(Table([("x",)], [plain("abc")]), format) == expected


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            Table([("x",), ("y",)], ["s", plain("a", "b"), plain("c", "d", "e")]),
            "row 3 ('c') has 3 cells: the table has 2 columns",
        ),
        (Table([("x",)], [[]]), "row 1 has 0 cells: the table has 1 columns"),
        (
            Table([("x",), ("y", "z")], []),
            "column 2 ('y', 'z') has 2 header levels: column 1 ('x',) has 1",
        ),
        (Table([], []), "the columns are []: there must be one, with one header"),
        (Table([()], []), "the columns are [()]: there must be one, with one header"),
    ],
)
def test_tables_that_are_none(table: Table, message: str, format: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        render(table, format)


def test_unknown_format() -> None:
    message = "the format is 'pdf': choose one of text, markdown, latex, html, csv, json"
    with pytest.raises(ValueError, match=f"^{message}$"):
        render(comparison(), "pdf")


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_stays_as_it_is(format: str) -> None:
    table = comparison()
    first = render(table, format)
    assert table == comparison()
    assert render(table, format) == first
    assert not first.endswith("\n")
    assert not any(line != line.rstrip(" ") for line in first.split("\n"))
