"""A comparison as a table, and as records for programs."""

from __future__ import annotations

import json
from typing import Any

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import plain
from rankforce.evaluation.comparison import Comparison, Contrast
from rankforce.show.tables import Cell, Table, check_format, csv_text, render

STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001"
_TESTS = {
    "fisher": "Fisher's randomisation test",
    "permutation": "paired permutation test",
    "t": "paired t-test",
    "bootstrap": "bootstrap test",
}
_SIDES = {
    "two-sided": "two-sided",
    "better": "one-sided (better than the baseline)",
    "worse": "one-sided (worse than the baseline)",
}
_CORRECTIONS = {
    "none": "not corrected for several systems",
    "holm": "corrected by Holm",
    "bh": "corrected by Benjamini and Hochberg",
}


def show_comparison(found: Comparison, format: str, *, digits: int, percent: bool) -> str:
    """The table of `Comparison.table`."""
    check_format(format)
    if format == "json":
        return json.dumps(comparison_record(found), indent=2)
    if format == "csv":
        return _csv(found)
    check_whole("digits", digits, least=0)
    scale = percent_scale(found, percent)
    level = f"{found.test.confidence * 100:g} % interval"
    columns = ["system", found.metric.name + (" (%)" if scale > 1 else ""), "difference", level]
    columns += ["p", "effect", "wins", "ties", "losses"]
    rows: list[list[Cell] | str] = [_row(found, name, digits, scale) for name in found.values]
    return render(Table([(name,) for name in columns], rows, describe(found, scale)), format)


def show_several(
    several: list[Comparison], format: str, *, digits: int, percent: bool, moved: int | None = None
) -> str:
    """Comparisons by several metrics, one after the other; `moved` adds the queries that moved."""
    if format == "json":
        records = [comparison_record(found) | _moved_record(found, moved) for found in several]
        return json.dumps(records[0] if len(records) == 1 else records, indent=2)
    parts = [found.table(format, digits=digits, percent=percent) for found in several]
    if format == "csv":
        if moved is not None:
            raise RankforceError(
                "CSV has no place for the queries that moved: choose another format"
            )
        return "\r\n".join([parts[0], *(part.split("\r\n", 1)[1] for part in parts[1:])])
    if moved is not None:
        parts = [
            "\n\n".join(
                [part, *_moved_tables(found, format, digits, percent_scale(found, percent), moved)]
            )
            for part, found in zip(parts, several, strict=True)
        ]
    return "\n\n".join(parts)


def _moved_tables(found: Comparison, format: str, digits: int, scale: float, top: int) -> list[str]:
    tables = []
    for name in found.contrasts:
        titles = ("query", found.baseline, name, "difference")
        columns: list[tuple[str, ...]] = [(title,) for title in titles]
        rows: list[list[Cell] | str] = [
            [
                Cell(str(one.query)),
                *(Cell(f"{value * scale:.{digits}f}") for value in (one.baseline, one.system)),
                Cell(f"{one.difference * scale:+.{digits}f}"),
            ]
            for one in found.moved(name, top)
        ]
        caption = f"Queries whose {found.metric.name} moved most, {found.baseline} to {name}"
        tables.append(render(Table(columns, rows, caption=caption), format))
    return tables


def _moved_record(found: Comparison, top: int | None) -> dict[str, Any]:
    if top is None:
        return {}
    return {
        "moved": {
            name: [one._asdict() | {"difference": one.difference} for one in found.moved(name, top)]
            for name in found.contrasts
        }
    }


def _row(found: Comparison, name: str, digits: int, scale: float) -> list[Cell]:
    mean = Cell(f"{found.means[name] * scale:.{digits}f}", bold=name in found.best)
    if name == found.baseline:
        return [Cell(name), mean, Cell("baseline"), *[Cell("")] * 6]
    contrast = found.contrasts[name]
    low, high = (f"{scale * end:+.{digits}f}" for end in (contrast.low, contrast.high))
    return [
        Cell(name, worse=is_worse(contrast)),
        mean,
        Cell(f"{contrast.difference * scale:+.{digits}f}", stars=contrast.stars),
        Cell(f"{low} to {high}"),
        Cell(show_p(contrast.adjusted)),
        Cell(f"{contrast.effect:+.2f}"),
        *(Cell(str(count)) for count in (contrast.wins, contrast.ties, contrast.losses)),
    ]


def is_worse(contrast: Contrast) -> bool:
    """Whether the mean is worse than the baseline's."""
    return contrast.difference != 0 and not contrast.is_better


def show_p(p: float) -> str:
    """A p-value with four digits.

    >>> show_p(0.04321), show_p(1 / 10_001), show_p(0.00001)
    ('0.0432', '0.0001', '<0.0001')
    """
    shown = f"{p:.4f}"
    return "<0.0001" if float(shown) == 0.0 else shown


def percent_scale(found: Comparison, percent: bool) -> float:
    """What a metric is multiplied by: sums of ranks and functions of users are never in percent."""
    definition = found.metric.definition
    return 100.0 if percent and definition.is_share and definition.kind != "own" else 1.0


def describe(found: Comparison, scale: float) -> list[str]:
    """What must be known to read the numbers."""
    metric = found.metric
    direction = "higher is better, " if metric.higher_is_better else ""  # conventions tell lower
    skipped = len(found.query_ids) - found.queries
    queries = f"{found.queries:,} queries" + (f", {skipped:,} do not count" if skipped else "")
    weighted = ", weighted" if found.weights is not None else ""
    notes = [f"{metric.name}: {direction}{metric.conventions}; mean over {queries}{weighted}"]
    if found.contrasts:
        notes += [
            describe_test(found),
            f"difference: from {found.baseline}; {STARS}; {_interval(found)}; effect: mean over "
            "standard deviation of the differences, above 0 is better",
        ]
    if found.random is not None and found.perfect is not None:
        random, perfect = (f"{value * scale:.4g}" for value in (found.random, found.perfect))
        notes.append(f"a random ranking has {random}, an ideal one {perfect}")
    return notes + found.notes


def describe_test(found: Comparison) -> str:
    """How the p-values were found."""
    test = found.test
    is_sampled = any(not contrast.is_exact for contrast in found.contrasts.values())
    drawn = f", {test.resamples:,} resamples" if is_sampled else ", exact"
    how = "" if test.name == "t" else drawn
    several = f", {_CORRECTIONS[test.correction]}" if len(found.contrasts) > 1 else ""
    return f"p: {_TESTS[test.name]}, {_SIDES[test.alternative]}{how}{several}"


def _interval(found: Comparison) -> str:
    test = found.test
    if test.name == "t":
        return "interval by Student's t"
    return f"interval by bootstrap, {test.resamples:,} resamples, seed {test.seed}"


def comparison_record(found: Comparison) -> dict[str, Any]:
    """A comparison in plain types; what is not a finite number is None."""
    test = found.test
    return {
        "metric": found.metric.name,
        "conventions": found.metric.conventions,
        "higher_is_better": found.metric.higher_is_better,
        "queries": found.queries,
        "weighted": found.weights is not None,
        "baseline": found.baseline,
        "test": test.name,
        "alternative": test.alternative,
        "correction": test.correction,
        "resamples": test.resamples,
        "confidence": test.confidence,
        "seed": test.seed,
        "random": plain(found.random),
        "perfect": plain(found.perfect),
        "notes": found.notes,
        "systems": [_system_record(found, name) for name in found.values],
    }


def _system_record(found: Comparison, name: str) -> dict[str, Any]:
    contrast = found.contrasts.get(name)
    record: dict[str, Any] = {"system": name, "mean": plain(found.means[name])}
    record["best"] = name in found.best
    for field in Contrast._fields:
        value = None if contrast is None else getattr(contrast, field)
        record[field] = plain(value)
    record["stars"] = None if contrast is None else contrast.stars
    return record


def _csv(found: Comparison) -> str:
    """One line for each system, in full precision, with the conventions in every line."""
    whole = comparison_record(found)
    systems = whole.pop("systems")
    whole["notes"] = "; ".join(whole["notes"])
    return csv_text([[*systems[0], *whole], *((system | whole).values() for system in systems)])
