"""Choose objective, parameters and committee for a metric, in a given time.

Queries of the training file judge in folds; a validation file has no say, and is told beside. The
folder that results has the ranker in model/, from the first seconds on, and a page about what was
tried, what was chosen and what is to be expected: auto.html, auto.md and auto.json. Ctrl-C ends the
search and trains what was found; once more, it leaves that at what is there.
"""

from __future__ import annotations

import argparse
import json
import sys
from time import monotonic
from typing import Any

from rankforce.cli.files import DATA, add_columns, columns_of

EXAMPLES = """examples:
  rankforce auto train.txt --out found/
  rankforce auto train.txt --metric p@5 --budget 1h --valid test.txt --out found/
  rankforce auto train.parquet --trials 20 --set max_bin=63 --out found/ --json
  rankforce rank --model found/model --data new.txt --top 10
"""

# Option -> (argument of `rf.auto`, kind, help)
OPTIONS: dict[str, tuple[str, type, str]] = {
    "--metric": ("metric", str, "what is to be best (default ndcg@10)"),
    "--budget": ("budget", str, "time, reading included: 90s, 10m, 1h (default 10m)"),
    "--trials": ("trials", int, "candidates, instead of a time: the same every time"),
    "--folds": ("folds", int, "parts of the queries, each judging once (default 5)"),
    "--seed": ("seed", int, "of folds, draws and rankers (default 0)"),
    "--threads": ("threads", int, "how many (default: one per core)"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("train", metavar="TRAIN", help=DATA)
    parser.add_argument("--valid", metavar="FILE", help="what the ranker is judged by at the end")
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the results go")
    parser.add_argument("--overwrite", action="store_true", help="replace a model in --out")
    for option, (key, kind, text) in OPTIONS.items():
        parser.add_argument(option, dest=key, type=kind, help=text)
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="any other parameter"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_columns(parser)


def run(options: argparse.Namespace) -> None:
    """Search, save and print; the budget counts from here, before anything is loaded."""
    begun = monotonic()
    from rankforce.common.types import plain
    from rankforce.experiments.auto import auto_from
    from rankforce.experiments.train import read_setting

    config: dict[str, Any] = {"train": options.train, "valid": options.valid}
    config["columns"] = columns_of(options)
    keys = [key for key, _, _ in OPTIONS.values()]
    asked = {key: getattr(options, key) for key in keys if getattr(options, key) is not None}
    asked |= dict(read_setting(text) for text in options.set)
    asked["progress"] = False if options.quiet else None if sys.stderr.isatty() else True
    asked |= {"out": options.out, "overwrite": options.overwrite, "begun": begun}
    found = auto_from(config, **asked)
    if options.json:
        print(json.dumps(found.record(), default=plain))
        return
    print(found)
    print(f"\n{options.out}: model/, auto.html, auto.md and auto.json")
