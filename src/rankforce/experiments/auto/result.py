"""What came of it: a ranker, what is to be expected of it, and what was tried."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.files import check_folder
from rankforce.experiments.auto.estimate import Estimate
from rankforce.experiments.auto.outlook import Outlook, outlook
from rankforce.experiments.auto.plan import MODEL
from rankforce.experiments.auto.search import Step
from rankforce.experiments.auto.tried import Tried
from rankforce.measures.metric import Metric
from rankforce.show.pages import write
from rankforce.show.tables import Cell, Table, render
from rankforce.training.ranker import Ranker

ROWS = 10  # of the table that is printed
STEM = "auto"  # of the names of the page's files
# Settings that candidates differ in, and what a column calls them.
COLUMNS = {
    "num_leaves": "leaves",
    "min_child_samples": "rows a leaf",
    "learning_rate": "rate",
    "subsample": "queries",
    "colsample_bytree": "columns",
    "reg_lambda": "L2",
}


class Auto(NamedTuple):
    """The ranker, and how it was found."""

    ranker: Ranker
    metric: Metric
    tried: list[Tried]
    steps: list[Step]  # what would have been chosen when
    members: list[Tried]  # of the committee; none where it is the first ranker
    ended: str  # why
    seconds: float
    budget: float
    data: str
    valid: Estimate | None  # on the validation set, if there was one

    @property
    def estimate(self) -> Estimate | None:
        """What is to be expected on new queries; None where it was over before two folds."""
        return self.steps[-1].estimate if self.steps and self.members else None

    @property
    def outlook(self) -> Outlook | None:
        """What another hour might bring; None where nothing is known of it."""
        if not self.tried:
            return None
        folds = self.tried[0].folds
        return outlook(
            self.steps,
            folds.weights(range(len(folds))),
            higher=self.metric.higher_is_better,
            spent=self.seconds,
        )

    def ranked(self) -> list[Tried]:
        """What was tried: by the number of folds, then the best first; what failed comes last."""
        sign = -1.0 if self.metric.higher_is_better else 1.0
        return sorted(
            self.tried,
            key=lambda one: (
                -len(one.runs),
                math.inf if one.value is None else sign * one.value,
                one.candidate.number,
            ),
        )

    def records(self) -> list[dict[str, Any]]:
        """A table of what was tried for programs: `pandas.DataFrame(found.records())`."""
        count = Counter(one.candidate.number for one in self.members)
        return [
            {
                "number": one.candidate.number,
                "members": count[one.candidate.number],
                "value": one.value,
                "folds": len(one.runs),
                "trees": one.trees() if one.runs else None,
                "seconds": round(one.seconds, 3),
                "error": one.error,
                **one.candidate.all_settings,
            }
            for one in self.ranked()
        ]

    def as_table(self, rows: int | None = None) -> Table:
        """What was tried, at most `rows` of it, as a table to be shown."""
        count = Counter(one.candidate.number for one in self.members)
        ranked = self.ranked()
        shown = ranked[:rows]
        lines: list[list[Cell] | str] = [
            [
                Cell(f"{one.candidate.number} {one.candidate.title}"),
                Cell("failed" if one.value is None else f"{one.value:.4f}"),
                Cell(f"{len(one.runs)}"),
                Cell(f"{one.trees()}" if one.runs else ""),
                Cell(f"{one.seconds:.1f}"),
                Cell(f"{count[one.candidate.number] or ''}", bold=one in self.members),
                *(Cell(f"{one.candidate.settings.get(name, ''):.3g}") for name in self._varied()),
            ]
            for one in shown
        ]
        names = ["candidate", self.metric.name, "folds", "trees", "seconds", "members"]
        names += [COLUMNS[name] for name in self._varied()]
        notes = [">: in the committee, so many times"] if self.members else []
        if len(shown) < len(ranked):
            notes.append(f"the first {len(shown)} of {len(ranked)}")
        return Table([(name,) for name in names], lines, notes)

    def _varied(self) -> list[str]:
        return [
            name for name in COLUMNS if all(name in one.candidate.settings for one in self.tried)
        ]

    def table(self, format: str = "text", *, rows: int | None = None) -> str:
        """What was tried, in one of the formats of `rf.compare`."""
        return render(self.as_table(rows), format)

    def __repr__(self) -> str:
        return f"{self.table(rows=ROWS)}\n\n{self.summary()}"

    def summary(self) -> str:
        """What there is, and what is to be expected of it, in one line."""
        model = self.ranker.model_
        if not self.members:
            return f"the first ranker, {model.used} trees: {self.ended} before more was known"
        count = len(self.members)
        what = f"a committee of {count}" if count > 1 else "one ranker"
        told = f"{what}, {model.used} trees"
        if self.estimate is not None:
            told += f": {self.metric.name} {self.estimate} to be expected on new queries"
        return told if self.valid is None else f"{told}, {self.valid} on the validation set"

    def record(self) -> dict[str, Any]:
        """All of it but the ranker, as JSON can hold it."""
        steps = [
            {
                "seconds": round(step.seconds, 3),
                "tried": step.tried,
                "estimate": _plain(step.estimate),
            }
            for step in self.steps
        ]
        ahead = self.outlook
        return {
            "metric": self.metric.name,
            "data": self.data,
            "ended": self.ended,
            "seconds": round(self.seconds, 3),
            "budget": None if self.budget == math.inf else self.budget,
            "trees": self.ranker.model_.used,
            "members": [one.candidate.number for one in self.members],
            "estimate": _plain(self.estimate),
            "valid": _plain(self.valid),
            "another_hour": None if ahead is None else {**_plain(ahead.hour), "words": str(ahead)},
            "steps": steps,
            "tried": self.records(),
        }

    def save(self, folder: str | Path) -> Path:
        """Write the ranker into `model`, and the page as auto.html, auto.md and auto.json."""
        from rankforce.experiments.auto.page import document

        place = Path(folder)
        check_folder(place, "folder")
        place.mkdir(parents=True, exist_ok=True)
        self.ranker.save(place / MODEL)
        write(document(self), place, self.record(), STEM)
        return place


def _plain(one: Estimate | None) -> Any:
    return None if one is None else one._asdict()
