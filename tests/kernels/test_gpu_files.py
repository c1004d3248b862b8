"""`make test-gpu` takes a machine as it is: CuPy is there, but hardly any other library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What such a machine may lack, with all that tests of other things import.
LACKING = (
    "lightgbm",
    "xgboost",
    "catboost",
    "torch",
    "pandas",
    "polars",
    "hypothesis",
    "playwright",
)
PROGRAM = """
import sys
for name in {lacking!r}:
    sys.modules[name] = None  # as if it was not installed
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-m", "gpu", *{more!r}]))
"""


def run_pytest(lacking: Sequence[str], *more: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Tests that need a GPU, without these libraries."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(lacking=lacking, more=more)],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | env,
        capture_output=True,
        text=True,
        check=False,
    )


def list_files() -> list[str]:
    """What `make test-gpu` runs."""
    found = subprocess.run(
        ["make", "-n", "test-gpu", "GPU_PYTHON=python3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return re.findall(r"tests/\S+\.py", found.stdout)


def collect(lacking: Sequence[str], *places: str) -> set[str]:
    """Files with tests that need a GPU."""
    done = run_pytest(lacking, "--collect-only", *places)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line.split("::")[0] for line in done.stdout.splitlines() if "::" in line}


def test_gpu_tests_need_no_library_of_other_tests() -> None:
    files = list_files()
    assert collect(LACKING, *files) == set(files)


@pytest.mark.slow  # it imports every test
def test_no_test_that_needs_a_gpu_is_left_out() -> None:
    assert collect((), "tests") == set(list_files())


def test_without_a_gpu_make_test_gpu_fails_in_one_line() -> None:
    done = run_pytest(("cupy",), "tests/kernels/test_cuda.py", RANKFORCE_NEEDS_GPU="1")
    assert done.returncode == 1
    assert done.stdout.count("NOTHING OF THIS WAS CHECKED ON A GPU: work on a GPU needs CuPy") == 1
