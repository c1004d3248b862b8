"""Data of a page from arrays, and what the page's arithmetic makes of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankforce.show.report.objective_tables import objective_data
from rankforce.show.report.write import SCRIPTS, scripts

if TYPE_CHECKING:
    from playwright.sync_api import Page

Floats = NDArray[np.float64]

# Numbers travel as text: as arguments they take longer than all the arithmetic.
COMPUTE = """(text) => {
  const [objective, tables, queries, options] = JSON.parse(text);
  return JSON.stringify(queries.map((query) => {
    const found = rankforce.forces.compute(objective, tables, query, {...options, ...query});
    return {...found, rank: [...found.rank], lambda: [...found.lambda], hess: [...found.hess]};
  }));
}"""


@dataclass(frozen=True)
class Lists:
    """Queries one behind the other, as Python has them."""

    scores: Floats
    labels: Mapping[str | None, Floats]  # by source, the labels themselves under None
    sizes: Sequence[int]
    preferences: tuple[list[int], list[int], list[float]] | None = None
    names: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[slice]:
        bounds = [0, *np.cumsum(self.sizes).tolist()]
        return [slice(start, stop) for start, stop in itertools.pairwise(bounds)]

    def for_python(self) -> Any:
        """Labels as `Objective.gradients` takes them."""
        named: dict[str, Any] = {source or "label": y for source, y in self.labels.items()}
        if self.preferences is not None:
            named["preferences"] = self.preferences
        return named

    def queries(self) -> list[dict[str, Any]]:
        """Queries as the page has them."""
        return [self._query(number, rows) for number, rows in enumerate(self.rows)]

    def _query(self, number: int, rows: slice) -> dict[str, Any]:
        labels = {source: _plain(y[rows]) for source, y in self.labels.items()}
        names = self.names or [str(row) for row in range(len(self.scores))]
        return {
            "id": f"query {number}",
            "key": str(number),
            "documents": names[rows],
            "labels": labels.pop(None),
            "sources": labels,
            "preferences": self._pairs_of(rows),
            "scores": _plain(self.scores[rows]),
        }

    def _pairs_of(self, rows: slice) -> list[list[float]] | None:
        if self.preferences is None:
            return None
        return [
            [hi - rows.start, lo - rows.start, weight]
            for hi, lo, weight in zip(*self.preferences, strict=True)
            if rows.start <= hi < rows.stop
        ]

    def written(self, objectives: Sequence[Any], *, iteration: int = 0) -> dict[str, Any]:
        """The objectives as the page has them; none is left out."""
        longest = max(self.sizes)
        found = objective_data(objectives, labels=self.labels, longest=longest, iteration=iteration)
        assert not found.notes
        return found.data


def _plain(values: Floats) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


def script(name: str) -> str:
    """One of the page's files; a script comes behind those that it may build upon."""
    if name in SCRIPTS:
        return scripts(name)
    return (files("rankforce.show.report") / "page" / name).read_text(encoding="utf-8")


def compute(
    page: Page, objective: Any, lists: Lists, *, norm: str = "none", iteration: int = 0
) -> list[dict[str, Any]]:
    """What the page computes for each query."""
    data = lists.written([objective], iteration=iteration)
    options = {"norm": norm, "pairs": True}
    arguments = [data["list"][0], data["tables"], lists.queries(), options]
    text = json.dumps(arguments, allow_nan=False)
    found: list[dict[str, Any]] = json.loads(page.evaluate(COMPUTE, text))
    return found
