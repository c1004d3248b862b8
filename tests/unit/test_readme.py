"""The README's examples run, and print what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import rankforce as rf

README = Path(__file__).parents[2] / "README.md"


def blocks() -> list[tuple[str, str]]:
    """Code blocks as (language, text)."""
    return re.findall(r"```(\w*)\n(.*?)```", README.read_text(), re.DOTALL)


def test_examples_run_and_print_what_is_shown() -> None:
    names: dict[str, object] = {"sizes": [3, 2]}
    names |= {"old_scores": [1, 2, 3, 4, 5], "new_scores": [5, 4, 3, 2, 1]}
    names["valid"] = rf.make_data("mslr", queries=30, seed=2)
    found = blocks()
    first = next(i for i, (language, _) in enumerate(found) if language == "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(found[first][1], names)
    shown, seen = found[first + 1][1].split(), printed.getvalue().split()
    assert len(shown) == len(seen)
    for word, other in zip(shown, seen, strict=True):
        # Vector units differ between machines, and with them the last bits of forces.
        is_number = re.fullmatch(r"0\.\d+", word)
        assert float(other) == pytest.approx(float(word), abs=0.03) if is_number else word == other
    for language, text in found[first + 1 :]:
        if language == "python":
            with contextlib.redirect_stdout(printed):
                exec(text, names)
    assert len(names["lam"]) == 5  # type: ignore[arg-type]
