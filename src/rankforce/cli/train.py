"""Train a ranker on a file, and save it.

Every setting can stand in a TOML file too (--config), under the same names; the command line wins.
Parameters of LightGBM and XGBoost go by their own names with --set.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from typing import Any

from rankforce.cli.files import DATA, add_columns, columns_of
from rankforce.common.errors import RankforceError

EXAMPLES = """examples:
  rankforce train --train train.txt --out run/
  rankforce train --train a.txt --valid b.txt --objective lambdagap-x+ -k 10 --out run/
  rankforce train --train a.parquet --valid b.parquet --metric p@5,ndcg@10 --early-stopping 50 \\
      --trees 2000 --learning-rate 0.05 --set min_child_samples=50 --out run/
  rankforce train --config run.toml --checkpoint run.part/ --out run/
  rankforce train --train new.txt --base run/ --trees 50 --out more/
  rankforce train --train a.txt --valid b.txt --diagnose 10 --out run/ && \\
      rankforce report run/ --out report.html
  rankforce train --train a.txt --valid b.txt --diagnose 10 --log-to tensorboard:logs/ --out run/

run.toml:
  train = "a.txt"
  valid = "b.txt"
  objective = "lambdarank-ndcg"
  k = 10
  n_estimators = 500
  early_stopping_rounds = 50

  columns = { query = "search_id", ignore = ["title"], categorical = ["shop"] }
  labels = ["grade", "click"]      # an objective reads the first unless it has a source
  [objective]                      # in place of a name: `rankforce objectives` explains
  graded = [{ name = "lambdarank-ndcg", k = 3 }, { name = "lambdarank(cndcg)", source = "click" }]
  weights = [0.8, 0.2]
"""

# Option on the command line -> (key of the settings, kind, help)
OPTIONS: dict[str, tuple[str, Any, str]] = {
    "--objective": ("objective", str, "what to train for (default lambdarank-ndcg)"),
    "--tau": ("tau", float, "truncation level of the pairs (default k)"),
    "--trees": ("n_estimators", int, "number of trees (default 100)"),
    "--learning-rate": ("learning_rate", float, "how much a tree counts (default 0.1)"),
    "--num-leaves": ("num_leaves", int, "leaves of a tree (default 31)"),
    "--step": ("step", str, "newton, gradient or exact-newton (default newton)"),
    "--base": ("base", str, "go on from a saved model, or start from 'regressor'"),
    "--metric": ("eval_metric", str, "metrics to watch, with commas; the first one decides"),
    "--early-stopping": ("early_stopping_rounds", int, "stop after so many trees without gain"),
    "--seed": ("seed", int, "seed of all that is random (default 0)"),
    "--threads": ("threads", int, "number of threads (default: all cores)"),
    "--diagnose": ("diagnose", int, "record diagnostics every so many trees, for the report"),
    "--log-to": ("log_to", str, "tensorboard:FOLDER, mlflow or mlflow:EXPERIMENT"),
    "--checkpoint": ("checkpoint", str, "folder to write to while training, and to resume from"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--train", metavar="FILE", help=DATA)
    parser.add_argument(
        "--valid", metavar="FILE", action="append", help="to watch; may be repeated"
    )
    parser.add_argument(
        "--labels", metavar="NAMES", help="label columns, with commas, the main one first"
    )
    parser.add_argument("--preferences", metavar="FILE", help="explicit pairs of documents")
    parser.add_argument("--out", metavar="FOLDER", help="where the model goes")
    parser.add_argument(
        "--overwrite", action="store_true", default=None, help="even if --out holds a model already"
    )
    parser.add_argument("--config", metavar="FILE", help="settings as TOML")
    parser.add_argument("-k", type=int, help="cutoff that one cares about")
    for option, (key, kind, text) in OPTIONS.items():
        parser.add_argument(option, dest=key, type=kind, help=text)
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="any other parameter"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_columns(parser)


def run(options: argparse.Namespace) -> int:
    """Train and report."""
    from rankforce.experiments.config import read_config, read_setting
    from rankforce.experiments.train import train

    config = read_config(options.config) if options.config else {}
    keys = (
        "train",
        "valid",
        "out",
        "overwrite",
        "labels",
        "preferences",
        "k",
        *(key for key, _, _ in OPTIONS.values()),
    )
    config |= {key: getattr(options, key) for key in keys if getattr(options, key) is not None}
    config |= dict(read_setting(text) for text in options.set)
    config["columns"] = {**config.get("columns", {}), **columns_of(options)}
    if not config.get("out"):
        raise RankforceError("nowhere to put the model: give --out FOLDER")
    if options.quiet:
        config["progress"] = False
    elif not sys.stderr.isatty():
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    ranker = train(config)
    model = ranker.model_
    last = {
        name: {metric: values[model.used - 1] for metric, values in metrics.items() if values}
        for name, metrics in model.history.items()
    }
    if options.json:
        record = {"out": str(config["out"]), "trees": len(model.trees), "used": model.used}
        record |= {"best_iteration": model.best_iteration, "metrics": last}
        print(json.dumps(record | {"finished": model.finished}, indent=2))
    else:
        print(f"{config['out']}: {model.used} of {len(model.trees)} trees")
        for name, metrics in last.items():
            for metric, value in metrics.items():
                print(f"{name}  {metric}  {value:.4f}")
    return 0 if model.finished else 130
