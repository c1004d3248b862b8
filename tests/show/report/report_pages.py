"""Reports on disk, and how tests look at them in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rankforce as rf
from rankforce.show.report.write import write_report
from tests.show.report.made_runs import ALERT, EVIL, make_data, train

if TYPE_CHECKING:
    from playwright.sync_api import Page


def write_reports(place: Path) -> dict[str, Path]:
    """A report of three runs, of one, of runs without data, and one whose texts are markup."""
    learn, judge = make_data(0), make_data(1)
    recorder = rf.Recorder(every=2, metrics="ndcg@5", against=rf.objective("ranknet"))
    runs = {
        "old": train("lambdarank-ndcg", learn, judge, callbacks=[recorder]),
        "new": train("lambdamart-ex static", learn, judge, n_estimators=20, num_leaves=9),
        "gap": train("lambdagap-x+", learn, judge),
    }
    evil = make_data(2, evil=True)
    named = {text: train("ranknet", evil, evil, k=None, n_estimators=3) for text in EVIL}
    write_report(runs, judge, out=place / "three.html")
    write_report(runs["old"], judge, out=place / "one.html")
    write_report(runs, out=place / "no data.html")
    write_report(named, evil, out=place / "evil.html", title=ALERT, queries=30)
    return {file.stem: file for file in place.iterdir()}


def visit(page: Page, file: Path) -> Any:
    """Open a report from disk; the data it holds."""
    page.emulate_media(reduced_motion="reduce")  # what scrolls is there at once
    page.goto(file.as_uri())
    return json.loads(page.locator("#data").text_content() or "")


def chart(page: Page, title: str) -> Any:
    return page.locator("figure.chart").filter(
        has=page.get_by_role("heading", name=title, exact=True)
    )
