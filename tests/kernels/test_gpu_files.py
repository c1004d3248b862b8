"""`make test-gpu` takes a machine as it is: CuPy is there, but hardly any other library."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
COLLECT = """
import sys
for name in {lacking!r}:
    sys.modules[name] = None  # as if it was not installed
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "-m", "gpu", *{files!r}]))
"""


def test_gpu_tests_need_no_library_of_other_tests() -> None:
    found = subprocess.run(
        ["make", "-n", "test-gpu", "GPU_PYTHON=python3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = re.findall(r"tests/\S+\.py", found.stdout)
    code = COLLECT.format(lacking=LACKING, files=files)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    collected = {line.split("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert collected == set(files) - {"tests/kernels/test_nvrtc.py"}  # it reads what another has
