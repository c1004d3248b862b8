"""A browser for whatever is to be looked at in one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.show.report.browser import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, 1400 pixels wide, which must stay without errors and outside requests."""
    with open_page(browser) as opened:
        yield opened
