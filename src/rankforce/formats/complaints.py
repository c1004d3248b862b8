"""What to say of a line that cannot be read: the place, the text and what was expected."""

from __future__ import annotations

import re

from rankforce.formats.blocks import Block
from rankforce.kernels import text as kernels

TOKEN_CHARACTERS = 60
TOKEN = re.compile(rb"[^ \t\r\n#]*")
LINE = re.compile(rb"[^\n]*")
NOT_UTF8 = -1  # beside the kernels' own: found by Python

EXPECTED = {
    kernels.NO_QUERY: "missing qid: expected qid:ID after the label, as on the first row",
    kernels.SECOND_QUERY: "a qid, but the first row has none (missing qid): "
    "expected one on every row, or on none",
    kernels.EMPTY_QUERY: "expected an id behind 'qid:'",
    kernels.TOO_WIDE: f"expected a feature index of at most {kernels.MAX_INDEX:,}",
    kernels.BELOW_BASE: "expected feature indices from 1 on, for base=1",
    kernels.DUPLICATE: "duplicate feature: expected every index once in a line",
    kernels.NUL: "not text: it holds a NUL byte: expected a text file",
    NOT_UTF8: "not text: expected UTF-8",
}


def complaint(path: object, block: Block, at: int, status: int) -> str:
    """The message for what is wrong at byte `at` of a block."""
    line = _match(LINE, block, block.text.rfind(b"\n", 0, at) + 1)
    token = _match(TOKEN, block, at) or _match(LINE, block, at) or line
    if b"\0" in line:
        status = kernels.NUL
    expected = EXPECTED.get(status) or _expected(status, token)
    end = at + len(token) + 1
    if block.is_cut and end == block.pieces[-1].end:
        expected += " (the file ends here, without a line end: is it cut off?)"
    shown = token.decode(errors="backslashreplace")
    if len(shown) > TOKEN_CHARACTERS:
        shown = shown[:TOKEN_CHARACTERS] + "..."
    return f"{path}, line {block.line_of(at)}: {shown!r}: {expected}"


def _match(pattern: re.Pattern[bytes], block: Block, at: int) -> bytes:
    found = pattern.match(block.text, at)
    return bytes(found.group()).rstrip(b"\r") if found else b""


def _expected(status: int, token: bytes) -> str:
    """What a label or a feature should have been."""
    if status == kernels.BAD_LABEL:
        if b":" in token:
            return "no label: expected a number at the start of the line"
        return "expected a label, a finite number"
    index, colon, value = token.partition(b":")
    if not colon:
        return "missing colon: expected index:value"
    if status == kernels.BAD_VALUE:
        if not value:
            return "expected a number behind the colon"
        if value.lower().lstrip(b"+-").startswith(b"inf"):
            return "infinite: expected a finite number, or nan for a missing value"
        return "expected a number that float32 can hold, or nan for a missing value"
    if index == b"qid":
        return "expected the query id right after the label, once"
    if re.fullmatch(rb"\d+", index):
        return EXPECTED[kernels.TOO_WIDE]
    if re.fullmatch(rb"-\d+", index):
        return "negative index: expected a feature index from 0 up"
    return "expected a feature index, an integer from 0 up, before the colon"
