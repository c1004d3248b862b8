"""Two rankers to report on, and the data inside a page."""

from __future__ import annotations

import json
import re
from typing import Any

import rankforce as rf
from tests.show.report.made_runs import train


def train_two(learn: rf.RankingData, judge: rf.RankingData) -> dict[str, rf.Ranker]:
    """An old run, with recorded diagnostics, and a new one without."""
    recorder = rf.Recorder(every=4, metrics="ndcg@5")
    return {
        "old": train("lambdarank-ndcg", learn, judge, callbacks=[recorder]),
        "new": train("lambdamart-ex static", learn, judge, learning_rate=0.3, seed=3),
    }


def data_of(text: str) -> Any:
    """The data of a page, as a browser reads it."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])
