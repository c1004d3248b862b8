"""Bars, numbers and names in the columns of a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from rankforce.common.errors import RankforceError
from rankforce.show.tables.text import width

DRAWN = "█▌▐▏▕│─…⋮"
PLAIN = str.maketrans("│─…⋮", "|-~:")  # where an encoding has them not


def find_encoding(encoding: str | None) -> str:
    """The encoding that text is for: by default that of standard output."""
    found = encoding or getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "".encode(found)
    except LookupError:
        raise RankforceError(
            f"unknown encoding {found!r}: choose 'utf-8' or 'ascii', say"
        ) from None
    return found


def can_draw(encoding: str) -> bool:
    """Whether an encoding has the characters of bars.

    >>> can_draw("utf-8"), can_draw("ascii"), can_draw("latin-1")
    (True, False, False)
    """
    try:
        DRAWN.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def bar(share: float, half: int, *, drawn: bool) -> str:
    """A bar from the middle of `2 * half + 1` columns: right for above 0, left for below.

    What is not 0 shows, however small.

    >>> bar(0.5, 4, drawn=True), bar(-0.4, 4, drawn=True), bar(0.001, 4, drawn=True)
    ('    │██  ', '  ▐█│    ', '    │▏   ')
    >>> bar(1.0, 4, drawn=False), bar(-0.4, 4, drawn=False)
    ('    |===>', '  <=|    ')
    """
    left = right = " " * half
    if share > 0.0:
        right = _length(share, half, drawn=drawn).ljust(half)
    elif share < 0.0:
        left = _length(-share, half, drawn=drawn).translate(_TURNED)[::-1].rjust(half)
    return f"{left}{'│' if drawn else '|'}{right}"


_TURNED = str.maketrans("▌▏>", "▐▕<")


def _length(share: float, room: int, *, drawn: bool) -> str:
    """A bar to the right."""
    if drawn:
        full, rest = divmod(round(2 * share * room), 2)
        return "█" * full + "▌" * rest or "▏"
    return "=" * (round(share * room) - 1) + ">"


def number_format(values: Iterable[float]) -> str:
    """A format that shows four digits of the largest of some numbers.

    >>> [number_format([largest]) for largest in (0.0312, 12.5, 1e9, 0.0)]
    ['.5f', '.2f', '.2e', '.3f']
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest == 0.0:
        return ".3f"
    power = math.floor(math.log10(largest))
    return f".{max(3 - power, 0)}f" if -4 <= power <= 6 else ".2e"


def clean(text: str, encoding: str = "utf-8") -> str:
    r"""Text from data on one line, without characters that a terminal would obey or cannot show.

    >>> clean("d1\x1b[31m\n2"), clean("é", "ascii")
    ('d1?[31m?2', '\\xe9')
    """
    shown = "".join(one if one.isprintable() else "?" for one in text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def wrap(text: str, room: int, indent: str = "") -> list[str]:
    """Lines of at most `room` columns, broken at spaces; all but the first begin with `indent`.

    >>> wrap("one two three", 8, "  ")
    ['one two', '  three']
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if width(longer) <= room or not lines[-1].strip():
            lines[-1] = longer
        else:
            lines.append(indent + word)
    return lines


def fit(text: str, room: int, align: str = "<") -> str:
    """Text in exactly `room` columns, cut with an ellipsis where it is longer.

    >>> fit("d17", 5), fit("d17", 5, ">"), fit("http://a.b/c", 8)
    ('d17  ', '  d17', 'http://…')
    """
    if width(text) > room:
        while width(text) > room - 1:
            text = text[:-1]
        text += "…"
    free = " " * (room - width(text))
    return free + text if align == ">" else text + free
