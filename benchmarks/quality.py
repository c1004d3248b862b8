"""Does the fast setting lose quality? Ours and LightGBM's own, fold by fold, with significance.

    python benchmarks/quality.py --data FOLDER                      # S1.txt.gz .. S5.txt.gz in it
    python benchmarks/quality.py --data FOLDER --seeds 5 --levels 4,32
    python benchmarks/quality.py --data FOLDER --seeds 1 --committees --metric p@10
    python benchmarks/quality.py --data FOLDER made:mslr:600 --committees --keep SCORES

Every contender has the same trees, learning rate and truncation; the value of a query is its mean
over seeds. The p-value is that of Fisher's randomisation test on the differences of queries,
two-sided. Folds and synthetic sets are those of `benchmarks/folds.py`; with --keep the same command
goes on where it was left.
"""

from __future__ import annotations

import argparse

from contenders import (
    BAGS,
    EIGHT,
    SMALL,
    WHOLE,
    Contender,
    fit_alone,
    fit_auto,
    fit_catboost,
    fit_lightgbm,
    fit_ours,
    fit_xgboost,
)
from folds import add_options, run_sets


def make_contenders(options: argparse.Namespace) -> dict[str, Contender]:
    found = {
        "LightGBM": Contender(fit_lightgbm),
        "rankforce": Contender(fit_ours),
        "rankforce, plain": Contender(fit_ours, {"quantised": False}),
        "rankforce, LightGBM's trees": Contender(fit_ours, {"engine": "lightgbm"}),
    }
    if options.committees:
        found |= {
            "XGBoost": Contender(fit_xgboost),
            "CatBoost YetiRank": Contender(fit_catboost),
            "one, 12 leaves": Contender(fit_ours, {**SMALL, **BAGS}),
            "committee of 8": Contender(fit_ours, {**SMALL, "members": 8}),
            "committee of 8 objectives": Contender(fit_ours, {**SMALL, "members": EIGHT}),
            "8 objectives, all trees": Contender(fit_alone, {**WHOLE, "members": EIGHT}),
            "preset best": Contender(fit_alone, {"preset": "best"}),
            "8 objectives, on all queries": Contender(
                fit_alone, {**WHOLE, "members": EIGHT, "both": True}
            ),
        }
    if options.auto:
        found[f"auto, {options.auto}"] = Contender(fit_auto, {"budget": options.auto})
    tried = [("quantised_levels", "levels", int), ("max_bin", "bins", int), ("step", "", str)]
    for (setting, unit, kind), given in zip(
        tried, (options.levels, options.max_bin, options.step), strict=True
    ):
        for text in filter(None, given.split(",")):
            title = f"rankforce, {text} {unit}".strip()
            found[title] = Contender(fit_ours, {setting: kind(text)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, seeds=3, threads=2)
    parser.add_argument("--levels", default="", help="levels of quantised forces to try as well")
    parser.add_argument("--max-bin", default="", help="numbers of bins to try as well")
    parser.add_argument("--step", default="", help="steps to try as well, with commas")
    parser.add_argument("--committees", action="store_true", help="and the peers that they beat")
    parser.add_argument("--auto", metavar="BUDGET", help="rf.auto in that time as well, as 5m")
    parser.add_argument("--baseline", default="LightGBM", help="what the others are tested against")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    run_sets(options, make_contenders(options), baselines=[options.baseline], step="trees")


if __name__ == "__main__":
    main()
