"""Comparisons by a scorecard: one for each tier, and what they say together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rankforce.common.checks import check_whole
from rankforce.evaluation.comparison import Comparison
from rankforce.evaluation.scorecard import Scorecard, Verdict
from rankforce.evaluation.show import (
    STARS,
    comparison_record,
    describe,
    describe_test,
    is_worse,
    percent_scale,
)
from rankforce.show.tables import Cell, Table, check_format, csv_text, render


@dataclass(frozen=True, eq=False)
class GradedComparison:
    """Systems against a baseline by a scorecard. Made by :func:`rankforce.compare`."""

    card: Scorecard
    tiers: list[Comparison]  # by each metric of the scorecard
    verdicts: dict[str, Verdict]  # by system, without the baseline
    best: str  # the system that the scorecard chooses

    @property
    def baseline(self) -> str:
        """The system that the others are judged against."""
        return self.tiers[0].baseline

    def told(self, system: str) -> str:
        """The verdict on a system in words.

        >>> import rankforce as rf
        >>> from rankforce.evaluation.scorecard import scorecard
        >>> systems = {"a": [3, 2, 1], "b": [3, 1, 2]}
        >>> found = rf.compare(systems, [1, 0, 1], metric=scorecard(["p@1", "ndcg@2"]))
        >>> found.told("b")
        'better by NDCG@2'
        """
        if system == self.baseline:
            return "baseline"
        found = self.verdicts[system]
        if found.tier is None:
            return "same"
        side = "better" if found.better else "worse"
        return f"{side} by {self.tiers[found.tier].metric.name}"

    def table(self, format: str = "text", *, digits: int = 4, percent: bool = False) -> str:
        """A row for each system: mean and difference by each metric, and the verdict.

        As "text", "markdown", "latex", "html", "csv" or "json". CSV and JSON have all digits; in
        the others `percent` multiplies the metrics by 100.
        """
        check_format(format)
        if format == "json":
            return json.dumps(self.record(), indent=2)
        if format == "csv":
            return _csv(self)
        check_whole("digits", digits, least=0)
        columns = [("", "system")]
        for one in self.tiers:
            name = one.metric.name + (" (%)" if percent_scale(one, percent) > 1 else "")
            columns += [(name, "mean"), (name, "difference")]
        rows: list[list[Cell] | str] = [
            _row(self, system, digits, percent) for system in self.tiers[0].values
        ]
        return render(Table([*columns, ("", "verdict")], rows, _notes(self, percent)), format)

    def record(self) -> dict[str, Any]:
        """Everything but the values of single queries, for programs."""
        rules = [
            {"metric": one.metric.name, "tolerance": one.tolerance, "level": one.level}
            for one in self.card.tiers
        ]
        verdicts = {
            name: verdict._asdict() | {"told": self.told(name)}
            for name, verdict in self.verdicts.items()
        }
        return {
            "card": {"tiers": rules, "test": self.card.test},
            "baseline": self.baseline,
            "best": self.best,
            "verdicts": verdicts,
            "tiers": [comparison_record(one) for one in self.tiers],
        }

    def __repr__(self) -> str:
        return self.table()


def _row(found: GradedComparison, system: str, digits: int, percent: bool) -> list[Cell]:
    verdict = found.verdicts.get(system)
    cells = [Cell(system, worse=verdict is not None and verdict.worse)]
    for one in found.tiers:
        scale = percent_scale(one, percent)
        cells.append(Cell(f"{one.means[system] * scale:.{digits}f}", bold=system in one.best))
        contrast = one.contrasts.get(system)
        if contrast is None:
            cells.append(Cell(""))
            continue
        text = f"{contrast.difference * scale:+.{digits}f}"
        cells.append(Cell(text, stars=contrast.stars, worse=is_worse(contrast)))
    return [*cells, Cell(found.told(system))]


def _notes(found: GradedComparison, percent: bool) -> list[str]:
    """The rules, the conventions of every metric, and what the tiers share once."""
    notes = [describe(one, percent_scale(one, percent))[0] for one in found.tiers]
    if found.verdicts:
        notes += [
            f"verdict: against {found.baseline}, by the first that tells them apart of "
            f"{found.card.conventions}; the choice is {found.best}",
            *dict.fromkeys(describe_test(one) for one in found.tiers),
            f"difference: from {found.baseline}; {STARS}",
        ]
    return [*notes, *dict.fromkeys(note for one in found.tiers for note in one.notes)]


def _csv(found: GradedComparison) -> str:
    """One line for each system, in full precision."""
    lines = []
    for system in found.tiers[0].values:
        line: dict[str, Any] = {"system": system}
        for one in found.tiers:
            name, contrast = one.metric.name, one.contrasts.get(system)
            line[f"{name} mean"] = one.means[system]
            for field in ("difference", "p_value", "adjusted"):
                line[f"{name} {field}"] = None if contrast is None else getattr(contrast, field)
        lines.append(line | {"verdict": found.told(system), "best": system == found.best})
    return csv_text([[*lines[0]], *(line.values() for line in lines)])
