"""Fixtures of the tests of the report: data, rankers, pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rankforce as rf
from tests.show.report.explorer_page import open_explorer
from tests.show.report.gathered import train_two
from tests.show.report.made_runs import make_data
from tests.show.report.report_pages import write_reports

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="session")
def train_data() -> rf.RankingData:
    """What `rankers` are trained on."""
    return make_data(0)


@pytest.fixture(scope="session")
def test_data() -> rf.RankingData:
    """What they are judged by."""
    return make_data(1)


@pytest.fixture(scope="session")
def rankers(train_data: rf.RankingData, test_data: rf.RankingData) -> dict[str, rf.Ranker]:
    """Two small ones."""
    return train_two(train_data, test_data)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of several kinds."""
    return write_reports(tmp_path_factory.mktemp("pages"))


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Page:
    """The explorer alone, in the browser."""
    return open_explorer(page, tmp_path)
