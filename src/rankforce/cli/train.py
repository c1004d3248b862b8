"""Train a ranker on a file, or a folder of files, and save it.

Every setting can stand in a TOML file too (--config), under the same names; the command line wins.
Parameters of LightGBM and XGBoost go by their own names with --set.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
from typing import Any

from rankforce.cli.files import DATA, add_columns, columns_of
from rankforce.common.errors import RankforceError
from rankforce.training.settings_table import RUN_KEYS, TABLE, Range

EXAMPLES = """examples:
  rankforce train --train train.txt --out run/
  rankforce train --train shards/ --valid b.parquet --out run/
  rankforce train --train a.txt --valid b.txt --objective lambdagap-x+ -k 10 --out run/
  rankforce train --train a.parquet --valid b.parquet --metric p@5,ndcg@10 --early-stopping 50 \\
      --trees 2000 --learning-rate 0.05 --set min_child_samples=50 --out run/
  rankforce train --config run.toml --checkpoint run.part/ --out run/
  rankforce train --train new.txt --base run/ --trees 50 --out more/
  rankforce train --train a.txt --valid b.txt --members 8 --early-stopping 50 --out run/
  rankforce train --train a.txt --valid b.txt --preset best --out run/
  rankforce train --train a.txt --valid b.txt --model mlp --epochs 40 --early-stopping 5 --out run/
  rankforce train --train a.txt --valid b.txt --diagnose 10 --out run/ && \\
      rankforce report run/ --out report.html
  rankforce train --train a.txt --valid b.txt --diagnose 10 --log-to tensorboard:logs/ --out run/
  rankforce train --train parts/ --valid b.parquet --dask tcp://host:8786 --out run/

run.toml:
  train = "a.txt"
  valid = "b.txt"
  objective = "lambdarank-ndcg"
  k = 10
  n_estimators = 500
  early_stopping_rounds = 50
  members = ["ranknet", "xendcg", { num_leaves = 12 }]    # a committee: each one's own settings

  columns = { query = "search_id", ignore = ["title"], categorical = ["shop"] }
  labels = ["grade", "click"]      # an objective reads the first unless it has a source
  [objective]                      # in place of a name: `rankforce objectives` explains
  graded = [{ name = "lambdarank-ndcg", k = 3 }, { name = "lambdarank(cndcg)", source = "click" }]
  weights = [0.8, 0.2]
"""

# Options that do not just take a number or a text.
_ACTIONS: dict[str, dict[str, Any]] = {
    "train": {"help": DATA},
    "valid": {"action": "append"},
    "overwrite": {"action": "store_true", "default": None},
    "diagnose": {"type": int},
    "members": {"type": int},
}
_SHOWN = [one for one in (*RUN_KEYS.values(), *TABLE.values()) if one.option]


def integer(text: str) -> float:
    """An integer, or infinity."""
    return math.inf if text == "inf" else int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--config", metavar="FILE", help="settings as TOML")
    for one in _SHOWN:
        how: dict[str, Any] = {"dest": one.name, "help": one.help}
        if isinstance(one.may, Range):
            how["type"] = integer if one.may.whole else float
        if one.metavar:
            how["metavar"] = one.metavar
        parser.add_argument(one.option, **how | _ACTIONS.get(one.name, {}))
    rest = ", ".join(name for name, one in TABLE.items() if not one.option)
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"any other parameter: {rest}, or one of LightGBM or XGBoost",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_columns(parser)


def run(options: argparse.Namespace) -> int:
    """Train and report."""
    from rankforce.experiments.train import read_config, read_setting, train

    config = read_config(options.config) if options.config else {}
    given = {one.name: getattr(options, one.name) for one in _SHOWN}
    config |= {name: value for name, value in given.items() if value is not None}
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
    steps = f"{model.scorer.step}s"
    if options.json:
        record = {"out": str(config["out"]), steps: model.steps, "used": model.used}
        record |= {"best_iteration": model.best_iteration, "metrics": last}
        print(json.dumps(record | {"finished": model.finished}, indent=2))
    else:
        whose = f", {len(model.members)} members" if model.members else ""
        print(f"{config['out']}: {model.used} of {model.steps} {steps}{whose}")
        for name, metrics in last.items():
            for metric, value in metrics.items():
                print(f"{name}  {metric}  {value:.4f}")
    return 0 if model.finished else 130
