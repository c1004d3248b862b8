"""The README's examples run, and print what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import rankforce as rf
from rankforce.formats.write import write

pd = pytest.importorskip("pandas")

README = Path(__file__).parents[1] / "README.md"


def examples() -> list[tuple[str, str]]:
    """Blocks of Python, each with the block right behind it: what it prints, if it does."""
    block = r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?"
    return re.findall(block, README.read_text(), re.DOTALL)


def assert_shown(text: str, shown: str) -> None:
    """Vector units differ between machines, and with them the last bits of forces."""
    printed, told = text.split(), shown.split()
    assert len(printed) == len(told)
    for word, other in zip(told, printed, strict=True):
        is_number = re.fullmatch(r"-?\d\.\d+", word)
        assert float(other) == pytest.approx(float(word), abs=0.03) if is_number else word == other


@pytest.mark.slow
def test_examples_run_and_print_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = rf.make_data("mslr", queries=5, seed=3)
    bare = rf.RankingData(data.features, group=data.group, feature_names=data.feature_names)
    write(bare, tmp_path / "test.csv")
    (tmp_path / "shards").mkdir()
    write(data, tmp_path / "shards" / "part.0.parquet")
    names: dict[str, Any] = {"sizes": [3, 2], "client": None}
    columns = {"search_id": [7, 7], "stars": [1, 0], "bm25": [3.5, 2.5], "title": ["a", "b"]}
    names["frame"] = pd.DataFrame(columns)
    names |= {"old_scores": [1, 2, 3, 4, 5], "new_scores": [5, 4, 3, 2, 1]}
    names["valid"] = rf.make_data("mslr", queries=30, seed=2)
    few = rf.make_data("mslr", queries=30, seed=4)
    for text, shown in examples():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(text, names)
        if shown and printed.getvalue():
            assert_shown(printed.getvalue(), shown)
        names["train"] = few  # only the first example's values are shown
    assert len(names["lam"]) == 5
    assert names["lam"].any(), "the forces that the example shows are all 0"
