"""What a run says about its speed and the time left."""

from __future__ import annotations

import io

import pytest

from rankforce.common import live_line
from rankforce.training.callbacks.progress import Progress
from tests.common.terminal import Times


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    clock = Times()
    monkeypatch.setattr(live_line, "time", clock)
    return clock


def lines(times: Times, total: int, steps: list[tuple[float, int]]) -> list[str]:
    """What is written when so many seconds pass until so many trees are there."""
    stream = io.StringIO()
    shown = Progress(total, True, stream=stream)
    for seconds, done in steps:
        times.now += seconds
        shown.update(done, [], None)
    return stream.getvalue().splitlines()


def test_the_first_tree_foretells_nothing(times: Times) -> None:
    """A minute of set-up, then two trees a second."""
    shown = lines(times, 221, [(60.0, 1), (10.0, 21), (1.0, 23), (10.0, 43), (89.0, 221)])
    assert shown == [
        "tree 1/221",
        "tree 21/221  2.0 trees/s  1:40 left",
        "tree 43/221  2.0 trees/s  1:29 left",
        "tree 221/221  2.0 trees/s  2:50 in all",
    ]


def test_a_run_that_goes_on_counts_its_own_trees(times: Times) -> None:
    shown = lines(times, 100, [(60.0, 51), (50.0, 52), (50.0, 53)])
    assert shown == [
        "tree 51/100",
        "tree 52/100  50 s/tree  40:00 left",
        "tree 53/100  50 s/tree  39:10 left",
    ]


def test_a_single_tree(times: Times) -> None:
    assert lines(times, 1, [(2.0, 1)]) == ["tree 1/1  0:02 in all"]
