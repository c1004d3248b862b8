"""Fit one small ranker to the scores of a committee, or of any large model, for serving.

It learns the scores on the training set and on made-up neighbours of its documents, and needs no
labels. What was lost is printed: metrics of both where there are labels, how well their rankings
agree, trees, leaves and the time that scoring takes. The training set flatters: --valid does not.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys

from rankforce.cli.files import DATA, add_base, add_columns, add_option, columns_of

EXAMPLES = """examples:
  rankforce train --train a.txt --valid b.txt --members 8 --early-stopping 50 --out run/
  rankforce distil run/ a.txt --valid b.txt --out small/
  rankforce distil run/ a.txt --valid b.txt --trees 50 --leaves 15 --set learning_rate=0.3 \\
      --metric ndcg@10,mrr --out small/
  rankforce predict --model small/ --data test.txt > scores.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("model", metavar="MODEL", help="a saved model, or LightGBM's text")
    parser.add_argument("train", metavar="TRAIN", help=DATA)
    parser.add_argument("--valid", metavar="FILE", help="where the loss is measured as well")
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the model goes")
    parser.add_argument(
        "--overwrite", action="store_true", help="even if --out holds a model already"
    )
    add_option(parser, "--trees", 100, "of the small ranker")
    add_option(parser, "--leaves", 31, "of a tree")
    add_option(parser, "--neighbours", 1, "made-up documents for each")
    parser.add_argument("--metric", help="what is compared, with commas (default: as the model)")
    add_option(parser, "--seed", 0, "of all that is random")
    parser.add_argument("--threads", type=int, help="number of threads (default: all cores)")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="any other parameter"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_base(parser)
    add_columns(parser)


def run(options: argparse.Namespace) -> int:
    """Distil, save and print."""
    from rankforce.experiments.distil import distil_from
    from rankforce.experiments.train import read_setting

    if not options.quiet and not sys.stderr.isatty():
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    asked = ("trees", "leaves", "neighbours", "metric", "seed", "threads")
    found = distil_from(
        options.model,
        options.train,
        valid=options.valid,
        out=options.out,
        overwrite=options.overwrite,
        base=options.base,
        columns=columns_of(options),
        progress=False if options.quiet else None,
        **{name: getattr(options, name) for name in asked},
        **dict(read_setting(text) for text in options.set),
    )
    if options.json:
        print(json.dumps({"out": options.out, "lost": found.records()}, indent=2))
    else:
        print(f"{found}\n\n{options.out}: {found.ranker.model_.used} trees")
    return 0 if found.ranker.model_.finished else 130
