"""Settings of the whole suite."""

from __future__ import annotations

import os

import pytest

from tests.warm_kernels import warm_kernels

# Several workers share the cores: threads that spin while they wait would starve each other. What
# the package sets by itself is not enough, where a test has loaded LightGBM or XGBoost before. A
# test that is about threads asks for them by number.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Where several workers are to start, compile the kernels first: each would do it anew."""
    is_controller = not hasattr(config, "workerinput")
    if is_controller and (config.getoption("numprocesses", None) or 0) > 1:
        warm_kernels()
