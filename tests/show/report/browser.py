"""A real browser for the tests of the page: found, started, and listened to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What never leaves the machine.
INSIDE = ("file:", "data:", "about:", "blob:")
# Charts have been seen to follow a new width in the third frame; what they move may move others.
SETTLED = """async () => {
  for (let i = 0; i < 5; ++i) await new Promise(requestAnimationFrame);
}"""


def find_browser() -> str | None:
    """RANKFORCE_BROWSER, or the first browser on the path."""
    named = os.environ.get("RANKFORCE_BROWSER")
    return next(filter(None, map(shutil.which, [named] if named else NAMES)), None)


def give_up(missing: str) -> NoReturn:
    """Skip loudly: a user may have no browser. With RANKFORCE_NEEDS_BROWSER=1, as in CI, fail."""
    if os.environ.get("RANKFORCE_NEEDS_BROWSER") == "1":
        pytest.fail(f"the page cannot be tested: {missing}", pytrace=False)
    pytest.skip(f"THE PAGE IS NOT TESTED: {missing}")


@contextmanager
def start_browser() -> Iterator[Browser]:
    """A headless browser, or a sentence that says what is missing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        give_up("the Python package playwright is missing: pip install playwright")
    found = find_browser()
    if found is None:
        give_up("no browser was found: install Debian's chromium, or name one in RANKFORCE_BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(
    browser: Browser, *, inside: tuple[str, ...] = INSIDE, refusals: str | None = None
) -> Iterator[Page]:
    """An empty page; errors in it and requests to the outside fail the test at its end.

    `inside` is how addresses begin that are not outside. A browser complains of answers that refuse
    something: those with `refusals` in them are what the test is about.
    """
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.set_default_timeout(5_000)  # ms
    complaints: list[str] = []

    def on_request(url: str) -> None:
        if not url.startswith(inside):
            complaints.append(f"request to the outside: {url}")

    def on_message(kind: str, text: str) -> None:
        is_refusal = refusals is not None and refusals in text
        if kind in ("error", "warning") and not is_refusal:
            complaints.append(f"console {kind}: {text}")

    page.on("request", lambda request: on_request(request.url))
    page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
    page.on("console", lambda message: on_message(message.type, message.text))
    try:
        yield page
    finally:
        context.close()
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def set_width(page: Page, width: int) -> None:
    """Give a page a width, and wait until it has drawn what follows from that."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("width => window.innerWidth === width", arg=width)
    page.evaluate(SETTLED)
