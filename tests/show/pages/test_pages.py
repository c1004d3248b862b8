"""Documents: what is in one is in its Markdown, its page and its record."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankforce.show.pages import (
    Block,
    Command,
    Document,
    Heading,
    Items,
    Picture,
    Shown,
    Words,
    to_html,
    to_markdown,
    write,
)
from rankforce.show.tables import Cell, Table, render
from rankforce.show.tables.table import one_line

EVIL = "<script>alert('1')</script> & \"quoted\" &lt;"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="2"><script>alert(1)</script></svg>'
VOID = ("meta", "br", "img")


class Reader(HTMLParser):
    """The texts that a reader sees, and all tags; one that does not close its own is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.seen = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "body" in self.open:
            self.seen += data

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [marks for tag, marks in self.tags if tag == name]


def page(*blocks: Block, title: str = "Title", folder: Path = Path()) -> Reader:
    return Reader(to_html(Document(title, blocks), folder))


def markdown(*blocks: Block) -> str:
    """The Markdown of blocks, without the title."""
    return to_markdown(Document("Title", blocks)).removeprefix("# Title\n\n")


def main_of(*blocks: Block) -> str:
    """The HTML of blocks, without the page around it."""
    text = to_html(Document("Title", blocks), Path())
    return text.split("<main>\n")[1].split("\n</main>")[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two pictures."""
    (tmp_path / "dot.png").write_bytes(PNG)
    (tmp_path / "two words.svg").write_text(SVG)
    return tmp_path


# Every text of any document

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="`*[]"))
LINE = TEXT.map(one_line).filter(bool)
WORD = st.text("abcé<&_", min_size=1)  # for marks, which stand between spaces
MARKED = st.tuples(st.sampled_from(["{}", "**{}**", "`{}`", "[{}](a.csv)"]), WORD)


@st.composite
def marked(draw: Callable[..., Any]) -> tuple[str, list[str]]:
    """A text with marks, and what is to be read of it."""
    parts = draw(st.lists(MARKED, min_size=1, max_size=5))
    return " ".join(mark.format(word) for mark, word in parts), [word for _, word in parts]


def whole(text: str) -> tuple[str, list[str]]:
    return text, [text]


WRITTEN = marked() | LINE.map(whole)
CELL = st.builds(Cell, LINE, st.sampled_from(["", "*"]), *[st.booleans()] * 3)


@st.composite
def shown(draw: Callable[..., Any]) -> tuple[Block, list[str]]:
    """A table of two columns, and its texts."""
    rows = draw(st.lists(st.lists(CELL, min_size=2, max_size=2) | LINE, max_size=3))
    heads = draw(st.lists(st.tuples(LINE, LINE), min_size=2, max_size=2))
    notes, caption = draw(st.lists(LINE.map("n".__add__), max_size=2)), draw(LINE)
    cells = [cell.text for row in rows if not isinstance(row, str) for cell in row]
    sections = [row for row in rows if isinstance(row, str)]
    texts = [*cells, *sections, *(text for head in heads for text in head), *notes, caption]
    return Shown(Table(heads, rows, notes, caption)), texts


BLOCK = st.one_of(
    st.tuples(st.builds(Heading, LINE, st.integers(2, 6))).map(lambda got: (got[0], [got[0].text])),
    WRITTEN.map(lambda got: (Words(got[0]), got[1])),
    st.lists(WRITTEN).map(
        lambda got: (Items([text for text, _ in got]), [word for _, all in got for word in all])
    ),
    shown(),
    LINE.map(lambda text: (Picture("dot.png", text), [text])),
    LINE.map(lambda text: (Command(text), [text])),
)
WITH_TEXTS = st.tuples(LINE, st.lists(BLOCK, max_size=5))


@given(WITH_TEXTS)
def test_every_text_is_in_the_page(given_: tuple[str, list[tuple[Block, list[str]]]]) -> None:
    title, pairs = given_
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "dot.png").write_bytes(PNG)
        found = page(*(block for block, _ in pairs), title=title, folder=Path(place))
    assert not found.all("script")
    for text in [title, *(text for _, texts in pairs for text in texts)]:
        assert text in found.seen


@given(WITH_TEXTS)
def test_every_text_is_in_the_markdown(given_: tuple[str, list[tuple[Block, list[str]]]]) -> None:
    title, pairs = given_
    text = to_markdown(Document(title, [block for block, _ in pairs]))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    read = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    for expected in [title, *(text for _, texts in pairs for text in texts)]:
        # What is code stands there as it is.
        assert expected in read or expected in text


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("`*[]()<&:a/ ")))
def test_no_text_breaks_the_page(text: str) -> None:
    found = page(Words(text), Items([text]), Heading(text), Command(text), title=text)
    allowed = {"main", "p", "ul", "li", "h2", "pre", "code", "b", "a", "nav", "header", "h1", "div"}
    names = [tag for tag, _ in found.tags]
    assert set(names[names.index("body") + 1 :]) <= allowed


# Marks in words


@pytest.mark.parametrize(
    ("text", "in_html", "in_markdown"),
    [
        ("a `b_c` d", "a <code>b_c</code> d", "a `b_c` d"),
        ("**a_b** c", "<b>a_b</b> c", r"**a\_b** c"),
        ("see [a_b](c_d.csv).", 'see <a href="c_d.csv">a_b</a>.', r"see [a\_b](c_d.csv)."),
        ("[a](https://x.org/?b=1&c)", '<a href="https://x.org/?b=1&amp;c">a</a>', None),
        ("**`a` b**", "<b><code>a</code> b</b>", "**`a` b**"),
        ("[`a`](b) **[c](d)**", '<a href="b"><code>a</code></a> <b><a href="d">c</a></b>', None),
        (" two\n  lines", "two   lines", None),
        # Everything else is text.
        ("a_b_c *d* <e>", "a_b_c *d* &lt;e&gt;", r"a\_b\_c \*d\* \<e>"),
        ("2 ** 3 ** 4", "2 ** 3 ** 4", r"2 \*\* 3 \*\* 4"),
        ("a**b**c", "a**b**c", r"a\*\*b\*\*c"),
        ("``a`` `", "``a`` `", r"\`\`a\`\` \`"),
        ("[0.1, 0.2] (a)", "[0.1, 0.2] (a)", "[0.1, 0.2] (a)"),
        ("[a](javascript:b)", "[a](javascript:b)", r"[a\](javascript:b)"),
        ("[a](\x01javascript:b)", "[a](\x01javascript:b)", r"[a\](" + "\x01javascript:b)"),
        ("[a](data:b)", "[a](data:b)", r"[a\](data:b)"),
        # What Markdown would take for something else.
        ("yes![a](b)", 'yes!<a href="b">a</a>', r"yes\![a](b)"),
        ("# a", "# a", r"\# a"),
        ("1. a", "1. a", r"1\. a"),
    ],
)
def test_marks(text: str, in_html: str, in_markdown: str | None) -> None:
    assert main_of(Words(text)) == f"<p>{in_html}</p>"
    assert main_of(Items([text])) == f"<ul>\n<li>{in_html}</li>\n</ul>"
    expected = one_line(text) if in_markdown is None else in_markdown
    assert markdown(Words(text)) == f"{expected}\n"
    assert markdown(Items([text])) == f"* {expected}\n"


# Markdown


def test_blocks_as_markdown() -> None:
    table = Table([("system",)], [[Cell("a_b")]], ["a note"])
    found = markdown(
        Heading("Find_ings", 3), Shown(table), Items(["a", "b"]), Picture("a.png", "p")
    )
    assert found == (
        "### Find\\_ings\n\n" + render(table, "markdown") + "\n\n* a\n* b\n\n![p](a.png)\n\np\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("C #", r"C \#"), ("C#", "C#"), ("##", r"\##"), ("a # b", "a # b")]
)
def test_headings_keep_their_last_letter(text: str, expected: str) -> None:
    assert markdown(Heading(text)) == f"## {expected}\n"


def test_fences_are_longer_than_those_inside() -> None:
    assert markdown(Command("echo a\necho b")) == "```sh\necho a\necho b\n```\n"
    assert markdown(Command("````\n")).startswith("`````sh\n````\n`````")


def test_pictures_as_markdown() -> None:
    found = markdown(Picture("two words.svg", "[0, 1] of a_b"))
    assert found == "![\\[0, 1\\] of a\\_b](two%20words.svg)\n\n[0, 1] of a\\_b\n"
    assert markdown(Picture("a.png", "")) == "![](a.png)\n"


def test_nothing_leaves_no_empty_lines() -> None:
    assert markdown(Words(""), Items([]), Words("a")) == "a\n"
    assert main_of(Items([]), Words("a")) == "<p>a</p>"


# HTML


def test_everything_is_escaped(folder: Path) -> None:
    table = Table([(EVIL,)], [EVIL, [Cell(EVIL)]], [EVIL], EVIL)
    blocks = [Heading(EVIL), Words(EVIL), Items([EVIL]), Shown(table), Command(EVIL)]
    blocks += [Picture("dot.png", EVIL), Words(f"`{EVIL}` **{EVIL}** [{EVIL}](a)")]
    text = to_html(Document(EVIL, blocks), folder)
    assert "<script" not in text
    assert Reader(text).seen.count(EVIL) == 15  # the heading twice, with the contents


def test_pictures_are_in_the_page(folder: Path) -> None:
    found = page(Picture("dot.png", "a"), Picture("two words.svg", 'b "c"'), folder=folder)
    first, second = found.all("img")
    head, content = str(first["src"]).split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(content) == PNG
    head, content = str(second["src"]).split(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(content).decode() == SVG
    assert [one["alt"] for one in (first, second)] == ["a", 'b "c"']


def test_the_page_stands_alone() -> None:
    text = to_html(Document("a", [Heading("b"), Words("[c](https://example.org)")]), Path())
    found = Reader(text)
    assert found.all("meta")[0] == {"charset": "utf-8"}
    assert "width=device-width" in str(found.all("meta")[2])
    assert re.findall("https?://[^\"']*", text) == ["https://example.org"]
    assert not found.all("link")
    assert "url(" not in text


def test_contents() -> None:
    titles = ["R & D", "R d", "R-D 2", "Größe", "!", "?"]
    blocks: list[Block] = [Heading(title) for title in titles]
    found = page(Heading("below", 3), *blocks, Heading("r d"))
    names = ["r-d", "r-d-2", "r-d-2-2", "größe", "section", "section-2", "r-d-3"]
    assert [one.get("id") for one in found.all("h2")] == names
    assert [one["href"] for one in found.all("a")] == ["#" + name for name in names]
    assert found.all("h3") == [{}]
    assert not page(Heading("below", 3)).all("nav")


def test_wide_tables_have_a_box() -> None:
    caption = 'a "b"'
    found = main_of(Shown(Table([("x",)], [], ["a note"], caption)))
    first, last = found.split("\n", 1)[0], found.rsplit("\n", 2)
    assert first == ('<div class="scroll" role="region" aria-label="a &quot;b&quot;" tabindex="0">')
    assert last[1:] == ["</div>", '<p class="notes">a note</p>']


def test_the_same_document_is_the_same_text(folder: Path) -> None:
    document = Document("a", [Heading("b"), Picture("dot.png", "c")])
    assert to_html(document, folder) == to_html(document, str(folder))


# Files


def test_write(folder: Path) -> None:
    document = Document("é", [Words("**a**"), Picture("dot.png", "b")])
    files = write(document, folder, {"a": [1, "é"]}, "found")
    assert files == [folder / name for name in ("found.md", "found.html", "found.json")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert texts[:2] == [to_markdown(document), to_html(document, folder)]
    assert json.loads(texts[2]) == {"a": [1, "é"]}
    assert [file.name for file in write(document, str(folder), {})] == [
        "report.md",
        "report.html",
        "report.json",
    ]


def test_nothing_is_written_where_a_picture_is_missing(folder: Path) -> None:
    message = f"^picture {re.escape(str(folder / 'a.png'))} cannot be read: No such file"
    with pytest.raises(ValueError, match=message):
        write(Document("a", [Picture("a.png", "b")]), folder, {})
    assert not (folder / "report.md").exists()


def test_write_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^folder is '.*/no': expected a folder that exists$"):
        write(Document("a", []), tmp_path / "no", {})


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("a", "block 2 is 'a': choose one of Heading, Words, Items, Shown, Picture, Command"),
        (Heading("a", 1), "heading 'a' has level 1: it must be from 2 to 6"),
        (Heading("a", 7), "heading 'a' has level 7: it must be from 2 to 6"),
        (
            Picture("b/a.png", ""),
            "a picture is 'b/a.png': expected the name of a file in the folder of the document",
        ),
        (
            Picture("..\\a.png", ""),
            "a picture is '..\\\\a.png': expected the name of a file in the folder of the document",
        ),
        (
            Picture("a.gif", ""),
            "the ending of picture 'a.gif' is '.gif': choose '.png' or '.svg'",
        ),
        (
            Shown(Table([("x",)], [[]])),
            "row 1 has 0 cells: the table has 1 columns",
        ),
    ],
)
@pytest.mark.parametrize("made", [to_markdown, lambda document: to_html(document, Path())])
def test_documents_that_are_none(block: Any, message: str, made: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        made(Document("a", [Words("b"), block]))
