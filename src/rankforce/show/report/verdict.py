"""Which run is better: the tables of a report, and what they say in words."""

from __future__ import annotations

from typing import Any

from rankforce.common.types import Floats, plain
from rankforce.data.ranking_data import RankingData
from rankforce.evaluation.comparison import Comparison, Contrast
from rankforce.evaluation.evaluate import USUAL, evaluate
from rankforce.evaluation.show import describe, show_p
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric

LEVEL = 0.05  # below it, a difference is called more than chance


def comparison_table(found: Comparison) -> dict[str, Any]:
    """Means, differences from the baseline, intervals, p-values; one row per run."""
    level = f"{found.test.confidence * 100:g} % interval"
    columns = ["run", found.metric.name, "difference", level, "p", "effect"]
    columns += ["wins", "ties", "losses"]
    rows: list[list[Any]] = []
    for name, mean in found.means.items():
        one = found.contrasts.get(name)
        row = [name, plain(mean)]
        if one is None:
            rows.append([*row, *[None] * 7])
            continue
        interval = [plain(one.low), plain(one.high)]
        counts = [one.wins, one.ties, one.losses]
        rows.append(
            [*row, plain(one.difference), interval, one.adjusted, plain(one.effect), *counts]
        )
    return {
        "metric": found.metric.name,
        "higher_is_better": found.metric.higher_is_better,
        "baseline": found.baseline,
        "best": found.best,
        "columns": columns,
        "rows": rows,
        "notes": describe(found, 1.0),
    }


def metric_table(
    metric: Metric, scores: dict[str, Floats], data: RankingData, notes: list[str]
) -> dict[str, Any] | None:
    """Means by the usual metrics, beside those of a random and an ideal ranking."""
    names = [name.strip() for name in USUAL.split(",")]
    metrics = {one.name: one for one in (metric, *map(make_metric, names))}
    try:
        told = {name: evaluate(one, data, metrics.values()) for name, one in scores.items()}
    except ValueError as error:
        notes.append(f"No table of further metrics: {error}.")
        return None
    first = next(iter(told.values()))
    rows = [[name, *map(plain, one.means.values())] for name, one in told.items()]
    references = first.references()
    if references is not None:
        for name, means in zip(("a random ranking", "an ideal ranking"), references, strict=True):
            rows.append([name, *map(plain, means.values())])
    conventions = [f"{one.name}: {one.conventions}." for one in first.metrics]
    return {
        "columns": ["run", *metrics],
        "higher_is_better": [one.higher_is_better for one in first.metrics],
        "rows": rows,
        "references": 0 if references is None else 2,
        "notes": conventions,
    }


def sentences(found: Comparison, data: str) -> list[str]:
    """What won, by how much, and whether it is chance.

    >>> import rankforce as rf
    >>> values = {"old": [0.5, 0.25, 0.75], "new": [0.6, 0.35, 0.85]}
    >>> found = rf.compare_values(values, metric="ndcg@10")
    >>> print(*sentences(found, "test.txt"), sep="\\n")
    new has the best NDCG@10 on test.txt: 0.6000, against 0.5000 for the baseline old.
    new is better than old by 0.1000 (95 % interval +0.1000 to +0.1000; p = 0.2500): a difference
    of this size can be chance; better on 3, worse on 0 of 3 queries.
    """
    name, means = found.metric.name, found.means
    base = found.baseline
    if not found.contrasts:
        return [f"{base} has {name} {means[base]:.4f} on {data}{_between(found)}."]
    best = found.best
    if len(best) > 1:
        said = f"{' and '.join(best)} share the best {name} on {data}: {means[best[0]]:.4f}."
    elif best == [base]:
        said = f"No run is better than the baseline {base}: {name} {means[base]:.4f} on {data}."
    else:
        said = (
            f"{best[0]} has the best {name} on {data}: {means[best[0]]:.4f}, against "
            f"{means[base]:.4f} for the baseline {base}."
        )
    order = sorted(found.contrasts, key=lambda one: one not in best)
    return [said, *(_contrast(one, found, found.contrasts[one]) for one in order)]


def _contrast(name: str, found: Comparison, one: Contrast) -> str:
    counts = f"better on {one.wins}, worse on {one.losses} of {found.queries} queries"
    if one.difference == 0:
        return f"{name} has the same mean as {found.baseline}; {counts}."
    which = "better" if one.is_better else "worse"
    level = f"{found.test.confidence * 100:g} %"
    p = show_p(one.adjusted)
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    several = f", corrected for {len(found.contrasts)} runs" if len(found.contrasts) > 1 else ""
    is_told = one.adjusted < LEVEL
    chance = "more than chance" if is_told else "a difference of this size can be chance"
    interval = f"{one.low:+.4f} to {one.high:+.4f}".replace("-", "−")
    return (
        f"{name} is {which} than {found.baseline} by {abs(one.difference):.4f} ({level} interval "
        f"{interval}; {p}{several}): {chance}; {counts}."
    )


def _between(found: Comparison) -> str:
    if found.random is None or found.perfect is None:
        return ""
    return f", where a random ranking has {found.random:.4f} and an ideal one {found.perfect:.4f}"


def run_sentence(record: dict[str, Any]) -> str:
    """How far a run got, and what its forces did at the end.

    >>> record = {"name": "a", "objective": "RankNet", "step": "tree", "steps": 9, "used": 7}
    >>> run_sentence(record | {"finished": True, "diagnostics": None})
    'a: RankNet, 9 trees, of which the first 7 make its scores.'
    """
    count, used, step = record["steps"], record["used"], record["step"]
    said = f"{record['name']}: {record['objective']}, {count} {step}{'' if count == 1 else 's'}"
    if used < count:
        said += f", of which the first {used} make its scores"
    if not record["finished"]:
        said += ", not finished (interrupted, or still training)"
    wrong = _at_end(record, "incoherence", "restricted")
    pairs = _at_end(record, "pairs", "relative")
    if wrong is not None and pairs is not None:
        said += (
            f"; at the end {100 * pairs:.1f} % of all pairs push, and {100 * wrong:.1f} % of the "
            "queries are incoherent"
        )
    return said + "."


def _at_end(record: dict[str, Any], name: str, key: str) -> float | None:
    """The last value of a diagnostic among the steps that make the scores."""
    curves = record["diagnostics"]
    values = curves["series"].get(name, {}).get(key, []) if curves else []
    known = [*zip(curves["trees"], values, strict=True)] if values else []
    return next((value for steps, value in known[::-1] if steps <= record["used"]), None)
