"""The examples run as a user runs them, and print what they should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.inside import said

pytestmark = pytest.mark.slow  # CI runs it

FOLDER = Path(__file__).parents[2] / "examples"


def run(name: str, *options: str, cwd: Path | None = None) -> str:
    command = [sys.executable, str(FOLDER / name), *options]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert answer.returncode == 0, answer.stderr
    assert said(answer.stderr) == ""
    return answer.stdout


def test_graded_objective(tmp_path: Path) -> None:
    picture = tmp_path / "front.png"
    shown = run("graded_objective.py", "--queries", "30", "--trees", "4", "--out", str(picture))
    assert "grades, then clicks" in shown
    assert "CNDCG@3(source=clicks) is " in shown
    assert "pairs of one grade, both clicked" in shown
    assert "the front: w = [" in shown
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_networks_and_trees() -> None:
    options = ("--queries", "12", "--epochs", "2", "--trees", "4")
    shown = run("networks_and_trees.py", *options)
    for name in ("trees upon mlp", "mlp upon trees", "linear upon trees"):
        assert re.search(rf"^{name} is (not )?ahead of the better one alone: 0\.\d+", shown, re.M)


@pytest.mark.parametrize("name", ["torch_loop.py", "lightning_loop.py"])
def test_loops_of_ones_own(name: str, tmp_path: Path) -> None:
    shown = run(name, "--queries", "60", "--epochs", "3", cwd=tmp_path)
    before, after = map(float, re.findall(r"NDCG@10 (?:before|after): (0\.\d+)", shown))
    assert after > before + 0.03
    assert list(tmp_path.iterdir()) == []
