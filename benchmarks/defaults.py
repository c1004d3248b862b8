"""Which settings are not worse than the defaults anywhere, and better somewhere?

    python benchmarks/defaults.py --data FOLDER FOLDER made:mslr:600 --keep SCORES
    python benchmarks/defaults.py --data FOLDER --of whole --keep SCORES       # no early stopping
    python benchmarks/defaults.py --data FOLDER --of committees --metric ndcg@10,p@10 --keep SCORES

One change at a time: of a single ranker from the defaults and from small bagged trees, each against
the defaults; of a committee in its members, against CatBoost. They have up to 500 trees and stop
early unless a name says otherwise. A table for each set has means, differences, p-values of
Fisher's randomisation test and what Holm's correction makes of them; the last one has all sets
beside each other, * for p < 0.05 and ** where Holm's is. Folds and synthetic sets are those of
`benchmarks/folds.py`; with --keep the same command goes on where it was left.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from contenders import (
    BAGS,
    EIGHT,
    SMALL,
    WHOLE,
    Contender,
    fit_alone,
    fit_catboost,
    fit_lightgbm,
    fit_ours,
    fit_xgboost,
)
from folds import add_options, run_all, set_name

import rankforce as rf

LEVEL = 0.05
NO_BAGS = {"subsample": 1.0, "colsample_bytree": 1.0}
TODAY = {"num_leaves": 31, "min_child_samples": 20, "learning_rate": 0.1, "tau": 10, **NO_BAGS}
SMALLER = {**TODAY, **SMALL, **BAGS, "learning_rate": 0.05}
CHANGES: dict[str, list[Any]] = {
    "num_leaves": [7, 12, 20, 31, 63],
    "min_child_samples": [20, 50],
    "subsample": [1.0, 0.7, 0.5],
    "colsample_bytree": [1.0, 0.5, 0.3],
    "learning_rate": [0.03, 0.05, 0.1],
    "step": ["newton", "gradient", "exact-newton"],
    "tau": [10, 30, float("inf")],
}
BASES = {"defaults": TODAY, "small": SMALLER}


def single_rankers() -> dict[str, Contender]:
    found = {}
    for title, base in BASES.items():
        whole = {"step": "newton", "subsample_by": "query", **base}
        found[title] = Contender(fit_ours, whole)
        for name, choices in CHANGES.items():
            for choice in choices:
                if choice != whole[name]:
                    changed = Contender(fit_ours, {**whole, name: choice})
                    found[f"{title}, {name} {choice}"] = changed
        documents = 70 - whole["min_child_samples"]
        for leaves in (7, 12):  # the two go together
            both = {"num_leaves": leaves, "min_child_samples": documents}
            if leaves != whole["num_leaves"]:
                named = f"{title}, {leaves} leaves of {documents}"
                found[named] = Contender(fit_ours, {**whole, **both})
    return found


def committees() -> dict[str, Contender]:
    """Peers, and committees whose members stop early by themselves, or have all their trees."""
    found = {
        "CatBoost": Contender(fit_catboost),
        "CatBoost, all trees": Contender(fit_catboost, {"stops": False}),
        "XGBoost": Contender(fit_xgboost),
        "LightGBM": Contender(fit_lightgbm),
        "LightGBM, rate 0.1": Contender(fit_lightgbm, {"learning_rate": 0.1}),
        "8 alike, 12 leaves": Contender(fit_ours, {**SMALL, "members": 8}),
    }
    for leaves in (12, 7):
        for columns in (0.5, 0.3):
            more = {"num_leaves": leaves, "min_child_samples": 50, "colsample_bytree": columns}
            title = f"8 objectives, {leaves} leaves, {columns:.0%} of columns"
            found[title] = Contender(fit_ours, {**more, "members": EIGHT})
    for leaves in (7, 12):
        for title, members in (("8 objectives", EIGHT), ("8 alike", 8)):
            more = {**WHOLE, "num_leaves": leaves, "members": members}
            found[f"{title}, {leaves} leaves, all trees"] = Contender(fit_alone, more)
    return found


def whole_rankers() -> dict[str, Contender]:
    """All trees and no validation queries: 100 trees unless it says, 300 of a member."""
    rows = {key: value for key, value in BAGS.items() if key != "colsample_bytree"}
    slow = {"n_estimators": 200, "learning_rate": 0.05}
    seven = {**SMALL, "num_leaves": 7}
    quick = {"n_estimators": 50, "learning_rate": 0.2}
    tried: dict[str, dict[str, Any]] = {
        "defaults": {},
        "7 leaves": {"num_leaves": 7},
        "12 leaves": {"num_leaves": 12},
        "63 leaves": {"num_leaves": 63},
        "50 documents a leaf": {"min_child_samples": 50},
        "70 % of queries": rows,
        "50 % of columns": {"colsample_bytree": 0.5},
        "30 % of columns": {"colsample_bytree": 0.3},
        "both": BAGS,
        "200 trees of rate 0.05": slow,
        "gradient": {"step": "gradient"},
        "tau 30": {"tau": 30},
        "tau inf": {"tau": float("inf")},
        "both, 50 documents": {**BAGS, "min_child_samples": 50},
        "both, 12 leaves of 50": {**BAGS, **SMALL},
        "both, 7 leaves of 50": {**BAGS, **seven},
        "both, 7 leaves of 50, 255 bins": {**BAGS, **seven, "max_bin": 255},
        "70 % of queries, 7 leaves of 50": {**rows, **seven},
        "70 % of queries, 7 leaves of 50, plain": {**rows, **seven, "quantised": False},
        "both, 7 leaves of 50, 300 trees of rate 0.05": {**BAGS, **WHOLE},
        "8 objectives, 7 leaves": {**WHOLE, "members": EIGHT},
        "8 objectives, 12 leaves": {**WHOLE, "num_leaves": 12, "members": EIGHT},
        "50 trees of rate 0.2": quick,
        "50 trees of rate 0.2, 15 leaves": {**quick, "num_leaves": 15},
        "50 trees of rate 0.2, 70 % of queries": {**quick, **rows},
    }
    return {name: Contender(fit_alone, more) for name, more in tried.items()}


STUDIES = {"single": single_rankers, "whole": whole_rankers, "committees": committees}


def choose(options: argparse.Namespace) -> dict[str, Contender]:
    """The contenders of a study, or those that others change and all with one of the texts."""
    every = STUDIES[options.of]()
    if not options.only:
        return every
    always = {next(iter(every)), *BASES}
    return {
        name: one
        for name, one in every.items()
        if name in always or any(text in name for text in options.only)
    }


class Judged(NamedTuple):
    """A contender on a set, beside the first one."""

    difference: float
    p_value: float
    adjusted: float

    def __str__(self) -> str:
        mark = "**" if self.adjusted < LEVEL else "*" if self.p_value < LEVEL else ""
        return f"{1000 * self.difference:+.1f}{mark}"


def judge(values: dict[str, Any], metric: str, *, shown: str = "") -> dict[str, Judged]:
    compared = rf.compare_values(values, metric=metric, resamples=20_000)
    if shown:
        print(f"{shown}\n\n{compared}\n")
    return {
        name: Judged(compared.differences[name], p, compared.adjusted[name])
        for name, p in compared.p_values.items()
    }


def verdict(row: list[Judged]) -> str:
    """In words, where any difference that is significant by itself makes a setting worse."""
    if any(one.difference < 0 and one.p_value < LEVEL for one in row):
        return "worse somewhere"
    if any(one.difference > 0 and one.adjusted < LEVEL for one in row):
        return "not worse, better somewhere"
    return ""


def summary(metric: str, sets: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Differences in thousandths: a set each, then the queries of all of them."""
    judged = {place: judge(values, metric) for place, values in sets.items()}
    first = next(iter(sets.values()))
    pooled = {name: np.concatenate([of[name] for of in sets.values()]) for name in first}
    overall = judge(pooled, metric)
    yield f"| {metric}, thousandths | {' | '.join([*sets, 'all queries', 'verdict'])} |"
    yield "| --- " * (len(sets) + 3) + "|"
    for name in overall:
        row = [of[name] for of in judged.values()]
        cells = [*map(str, row), str(overall[name]), verdict(row)]
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", choices=STUDIES, default="single")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="contenders by parts of names")
    add_options(parser, seeds=1, threads=1)
    options = parser.parse_args()
    metrics = [rf.metric(name) for name in options.metric.split(",")]
    found = {
        set_name(place): run_all(
            place,
            choose(options),
            metrics,
            seeds=options.seeds,
            folds=options.folds,
            threads=options.threads,
            keep=options.keep,
        )
        for place in options.data
    }
    for metric in metrics:
        values = {place: one.values[metric.name] for place, one in found.items()}
        for place, of in values.items():
            judge(of, metric.name, shown=f"{place}, {options.seeds} seeds")
        print("\n".join(summary(metric.name, values)), "\n")
    for place, one in found.items():
        for name, trees in one.trees.items():
            print(f"{place:20}{name:36}{trees:6.0f} trees{one.seconds[name]:8.2f} s/fit")


if __name__ == "__main__":
    main()
