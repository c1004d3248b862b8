"""Search for the settings of a ranker that rank best, and train it with them.

What is given is not searched; what the objective and the trees have beside it is, as in Adalia et
al. 2025, or what a TOML file says under [tune.space]. Queries stay whole. The folder that results
has config.toml, for `rankforce train --config`, the ranker in model/, and every trial in
trials.jsonl: the same command goes on where it was left.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import Any

from rankforce.cli.files import DATA, add_columns, columns_of
from rankforce.common.errors import RankforceError

EXAMPLES = """examples:
  rankforce tune --train a.txt --valid b.txt --objective lambdagap-x+ -k 5 --out tuned/
  rankforce tune --train a.txt --folds 5 --metric p@5 -k 5 --time 10m --jobs 2 --out tuned/
  rankforce tune --train a.txt --valid b.txt --searcher flaml --trials 80 --plot --out tuned/
  rankforce tune --config tune.toml --out tuned/ && \\
      rankforce train --config tuned/config.toml --out run/

tune.toml:
  train = "a.txt"
  valid = "b.txt"
  k = 5
  num_leaves = 31                  # as every other setting of `rankforce train`: not searched
  objective = { mix = [{ name = "lambdarank-ndcg" }, { name = "ranknet", weight = 1.0 }] }

  [tune]
  trials = 100
  [tune.space]                     # in place of the default one
  learning_rate = { low = 0.01, high = 0.3, log = true }
  min_child_samples = { low = 5, high = 200, log = true, whole = true }
  subsample_by = ["row", "query"]
  objective.mix.1.weight = { low = 0.1, high = 10 }
"""

# Option -> (argument of `rf.tune`, kind, help)
OPTIONS: dict[str, tuple[str, type, str]] = {
    "--folds": ("folds", int, "parts of the queries, each judging once (default 5)"),
    "--metric": ("metric", str, "what is to be best (default: what the objective is for)"),
    "--searcher": ("searcher", str, "optuna (default), flaml or random"),
    "--trials": ("trials", int, "how many, those of earlier sessions too (default 40)"),
    "--time": ("time", str, "no trial begins after so long: 90s, 10m, 2h"),
    "--jobs": ("jobs", int, "trials at a time (default 1)"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--train", metavar="FILE", help=DATA)
    parser.add_argument("--valid", metavar="FILE", help="what judges, in place of folds")
    parser.add_argument("--out", metavar="FOLDER", help="where the results go")
    parser.add_argument("--config", metavar="FILE", help="settings as TOML")
    parser.add_argument("--objective", help="what to train for (default lambdarank-ndcg)")
    parser.add_argument("-k", type=int, help="cutoff that one cares about")
    for option, (key, kind, text) in OPTIONS.items():
        parser.add_argument(option, dest=key, type=kind, help=text)
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="any other parameter"
    )
    parser.add_argument("--no-prune", action="store_true", help="let every trial come to its end")
    parser.add_argument("--plot", action="store_true", help="draw what mattered: tuning.png")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_columns(parser)


def run(options: argparse.Namespace) -> None:
    """Search, save and print."""
    from rankforce.experiments.train import read_config, read_setting
    from rankforce.experiments.tune import tune_from

    config = read_config(options.config) if options.config else {}
    keys = ("train", "valid", "out", "objective", "k")
    config |= {key: getattr(options, key) for key in keys if getattr(options, key) is not None}
    config |= dict(read_setting(text) for text in options.set)
    config["columns"] = {**config.get("columns", {}), **columns_of(options)}
    if config.get("train") is None or config.get("out") is None:
        raise RankforceError("give --train FILE and --out FOLDER")
    own = [key for key, _, _ in OPTIONS.values()]
    asked = {key: getattr(options, key) for key in own if getattr(options, key) is not None}
    asked |= {"prune": False} if options.no_prune else {}
    if options.quiet:
        config["progress"] = False
    elif not sys.stderr.isatty():
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    found = tune_from(config, **asked)
    place = Path(config["out"])
    if options.plot:
        found.plot(place / "tuning.png")
    if options.json:
        record: dict[str, Any] = {"value": found.best.value, "metric": found.metric.name}
        record |= {"settings": found.settings, "trials": found.records(), "out": str(place)}
        print(json.dumps(record, default=repr))
        return
    print(found)
    print(f"\n{place}: {found.metric.name} {found.best.value:.4f}, trial {found.best.number}")
