"""Settings of the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.show.report.browser import start_browser
from tests.warm_kernels import warm_kernels

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for each worker of the suite: two at once are too many for its driver."""
    with start_browser() as started:
        yield started
