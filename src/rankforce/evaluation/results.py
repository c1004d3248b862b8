"""Several comparisons in one table, as papers print them: `rf.results`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rankforce.common.checks import check_choice, check_named, check_whole
from rankforce.common.errors import RankforceError
from rankforce.evaluation.comparison import Comparison, best_names
from rankforce.evaluation.show import STARS, describe_test, is_worse, percent_scale
from rankforce.show.tables import Cell, Table, render

Key = str | tuple[str, ...]
# What bold means.
MARKS = {"best": "the best", "significant": "p < 0.01 (italic: p < 0.05)"}


class _Column(NamedTuple):
    """Comparisons of one data set and metric, each with a baseline of its own."""

    key: tuple[str, ...]
    comparisons: list[Comparison]

    @property
    def means(self) -> dict[str, float]:
        return {name: value for c in self.comparisons for name, value in c.means.items()}

    @property
    def best(self) -> list[str]:
        return best_names(self.means, self.comparisons[0].metric.higher_is_better)


def results(
    comparisons: Mapping[Any, Comparison | Sequence[Comparison]],
    format: str = "text",
    *,
    rows: str = "systems",
    names: Mapping[str, Key] | None = None,
    mark: str = "best",
    references: bool = False,
    percent: bool = True,
    digits: int = 2,
    caption: str = "",
) -> str:
    """Many comparisons as one table, "text", "markdown", "latex", "html", "csv" or "json".

    A key is the header of a comparison, in one or more levels: ("Istella-S", "k = 5"). With
    `rows="systems"` comparisons are columns, as in Table 4 of Adalia et al. 2025; with
    `rows="comparisons"` they are rows, in sections if the key has two levels, as in Table 5 of
    Marcuzzi et al. 2023. Where parts of the systems have baselines of their own, give a list of
    comparisons. `names` are headers for systems, in levels where they are columns. Stars are for
    systems better than their baseline, and `mark` says what is bold: the "best" of a comparison or
    the "significant". `references` adds the perfect and the random model.

    >>> import rankforce as rf
    >>> labels, sizes = [1, 0, 0, 1], [2, 2]
    >>> c = rf.compare({"a": [1, 0, 1, 0], "b": [1, 0, 0, 1]}, labels, group=sizes, metric="p@1")
    >>> print(results({"test": c}, digits=1))
    system    test
    --------------
    a         50.0
    b       >100.0
    <BLANKLINE>
    >: the best; ...
    """
    check_choice("rows", rows, ("systems", "comparisons"))
    check_choice("mark", mark, MARKS)
    check_whole("digits", digits, least=0)
    check_named("comparisons", comparisons, "{'header': comparison, ...}")
    columns = [_column(key, value) for key, value in comparisons.items()]
    names = names or {}
    how = _Style(mark, percent, digits)
    make = _systems_as_rows if rows == "systems" else _comparisons_as_rows
    table = make(columns, names, references, how)
    return render(table._replace(notes=_notes(columns, how), caption=caption), format)


class _Style(NamedTuple):
    mark: str
    percent: bool
    digits: int

    def cell(self, column: _Column, name: str) -> Cell:
        """The mean of a system, with stars if it is better than its baseline."""
        if name not in column.means:
            return Cell("")
        text = self.number(column, column.means[name])
        contrast = next(
            (c.contrasts[name] for c in column.comparisons if name in c.contrasts), None
        )
        stars = contrast.stars if contrast is not None and contrast.is_better else ""
        worse = contrast is not None and is_worse(contrast)
        if self.mark == "best":
            return Cell(text, stars, bold=name in column.best, worse=worse)
        return Cell(text, stars, bold=len(stars) > 1, italic=len(stars) == 1, worse=worse)

    def number(self, column: _Column, value: float | None) -> str:
        """A mean; nothing where it is not known."""
        scale = percent_scale(column.comparisons[0], self.percent)
        return "" if value is None else f"{value * scale:.{self.digits}f}"

    def references(self, column: _Column) -> list[Cell]:
        """The perfect and the random model."""
        found = column.comparisons[0]
        return [Cell(self.number(column, value)) for value in (found.perfect, found.random)]


def _column(key: Key, value: Comparison | Sequence[Comparison]) -> _Column:
    path = _levels(key)
    found: list[Any] = list(value) if isinstance(value, Sequence) else [value]
    if not found or not all(isinstance(one, Comparison) for one in found):
        raise RankforceError(f"{' '.join(path)}: expected a comparison or a list of them")
    metrics = {one.metric.name for one in found}
    if len(metrics) > 1:
        raise RankforceError(
            f"{' '.join(path)}: comparisons by {' and '.join(sorted(metrics))} differ"
        )
    seen: dict[str, float] = {}
    for name, average in (pair for one in found for pair in one.means.items()):
        if seen.setdefault(name, average) != average:
            raise RankforceError(
                f"{' '.join(path)}: {name!r} has two means, {seen[name]} and {average}"
            )
    return _Column(path, found)


def _systems_as_rows(
    columns: list[_Column], names: Mapping[str, Key], references: bool, how: _Style
) -> Table:
    depth = max(len(column.key) for column in columns)
    header = [("",) * (depth - 1) + ("system",)]
    header += [("",) * (depth - len(column.key)) + column.key for column in columns]
    rows: list[list[Cell] | str] = []
    if references:
        perfect, random = zip(*(how.references(column) for column in columns), strict=True)
        rows += [[Cell("Perfect model"), *perfect], [Cell("Random model"), *random]]
    for name in _systems(columns):
        shown = " ".join(_levels(names.get(name, name)))
        rows.append([Cell(shown), *(how.cell(column, name) for column in columns)])
    return Table(header, rows)


def _comparisons_as_rows(
    columns: list[_Column], names: Mapping[str, Key], references: bool, how: _Style
) -> Table:
    systems = _systems(columns)
    levels = [_levels(names.get(name, name)) for name in systems]
    reference = [("perfect model",), ("random model",)] if references else []
    paths = [*levels, *reference]
    depth = max(map(len, paths))
    header = [("",) * depth, *(("",) * (depth - len(path)) + path for path in paths)]
    rows: list[list[Cell] | str] = []
    section = ""
    for column in columns:
        *above, name = column.key
        if " ".join(above) != section:
            section = " ".join(above)
            rows.append(section)
        cells = [Cell(name), *(how.cell(column, system) for system in systems)]
        if references:
            cells += how.references(column)
        rows.append(cells)
    return Table(header, rows)


def _systems(columns: Iterable[_Column]) -> list[str]:
    return list(dict.fromkeys(name for column in columns for name in column.means))


def _levels(key: Any) -> tuple[str, ...]:
    levels = key if isinstance(key, tuple) and key else (key,)
    if not all(isinstance(level, str) for level in levels):
        raise RankforceError(f"a header is {key!r}: it must be a text, or a tuple of texts")
    return levels


def _notes(columns: list[_Column], how: _Style) -> list[str]:
    """Marks, tests and conventions; what all comparisons share stands once."""
    all_of_them = [c for column in columns for c in column.comparisons]
    baselines = dict.fromkeys(c.baseline for c in all_of_them if c.contrasts)
    metrics: dict[str, dict[str, None]] = {}
    for c in all_of_them:
        metrics.setdefault(c.metric.conventions, {})[c.metric.name] = None
    is_percent = any(percent_scale(c, how.percent) > 1.0 for c in all_of_them)
    percent = "; shares in percent" if is_percent else ""
    notes = [f">: {MARKS[how.mark]}{percent}"]
    if baselines:
        notes.append(f"better than {', '.join(baselines)}: {STARS}")
    notes += dict.fromkeys(describe_test(c) for c in all_of_them if c.contrasts)
    notes += [f"{', '.join(names)}: {how_it_counts}" for how_it_counts, names in metrics.items()]
    notes += dict.fromkeys(note for c in all_of_them for note in c.notes)
    return [*notes, _count([c.queries for c in all_of_them], all_of_them)]


def _count(queries: list[int], comparisons: list[Comparison]) -> str:
    fewest, most = min(queries), max(queries)
    counted = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    is_weighted = any(c.weights is not None for c in comparisons)
    return f"means over {counted} queries" + (", weighted" if is_weighted else "")
