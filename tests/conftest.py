"""Settings of the whole suite."""

from __future__ import annotations

import contextlib
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

# How the reason of every test begins that is skipped without a GPU.
WITHOUT_GPU = "NOTHING OF THIS WAS CHECKED ON A GPU"


def pytest_configure(config: pytest.Config) -> None:
    """Where several workers are to start, compile the kernels first: each would do it anew."""
    if os.environ.get("RANKFORCE_SANITIZES") == "1":
        # In a pool, NVIDIA's sanitizer does not see where one array ends and the next begins.
        with contextlib.suppress(ImportError):  # without CuPy the tests fail, and say so
            import cupy

            cupy.cuda.set_allocator(None)
    is_controller = not hasattr(config, "workerinput")
    if is_controller and (config.getoption("numprocesses", None) or 0) > 1:
        warm_kernels()


def for_gpu(item: pytest.Item) -> list[pytest.Mark]:
    """The marks that skip a test without a GPU."""
    found = item.iter_markers("skipif")
    return [mark for mark in found if mark.kwargs.get("reason", "").startswith(WITHOUT_GPU)]


@pytest.hookimpl(tryfirst=True)  # `-m gpu` selects afterwards
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on a GPU."""
    for item in items:
        if for_gpu(item):
            item.add_marker("gpu")


@pytest.hookimpl(tryfirst=True)  # before skipping
def pytest_runtest_setup(item: pytest.Item) -> None:
    """With RANKFORCE_NEEDS_GPU=1, as `make test-gpu` sets it, no GPU is one failure, said once."""
    if os.environ.get("RANKFORCE_NEEDS_GPU") == "1":
        for mark in for_gpu(item):
            if mark.args[0]:
                pytest.exit(mark.kwargs["reason"], returncode=1)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for each worker of the suite: two at once are too many for its driver."""
    with start_browser() as started:
        yield started
