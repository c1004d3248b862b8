"""Run the study of a paper again, on its data or on yours.

Trains what the paper trained, with its settings where the data set is the paper's, fills its
tables, draws its pictures, and checks its claims. STUDY is 000 (Marcuzzi et al. 2023: Lambda-eX),
001 (Adalia et al. 2025: LambdaGap) or 002 (Svore et al. 2011: several measures). A folder of
--data holds MSLR-WEB30K or 10K, Istella-S, F or X, Yahoo set 1 or LETOR 4.0 as distributed, or
files train.*, valid.* and test.* of your own; made:SHAPE is synthetic. Every ranker is kept when
it is done: the same command goes on where it was left, and two commands may fill one folder.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from rankforce.cli.files import add_option, split

EXAMPLES = """examples:
  rankforce reproduce 001 --data MSLR-WEB30K/ --out results/ --queries 500 --trees 100
  rankforce reproduce 001 --data MQ2008/ MQ2007/ --out results/ --only table-4 --trees 500
  rankforce reproduce 000 --data made:istella-x --queries 100 -k 5 --out results/
  rankforce reproduce 001 --data mine/ --out results/ --only table-8 --algorithms 'lambdagap*'

parts:
  000  table-5, table-5-label (Lambda-eX as printed against as coded), table-6, figure-3, figure-4
  001  table-4, table-4-ndcg (by NDCG@k instead), table-5, table-6,
       table-8 and table-a1 to table-a3 (tuned), figure-3 to figure-6, figure-a1
  002  table-1 and figure-2 (with a column of clicks), table-2, figure-3a to figure-7
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("study", metavar="STUDY", help="000, 001 or 002")
    parser.add_argument("--data", metavar="PLACE", nargs="+", required=True, help="see above")
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the results go")
    parser.add_argument("--only", metavar="PARTS", help="with commas (default: all)")
    parser.add_argument("--algorithms", metavar="NAMES", help="patterns with commas (default: all)")
    parser.add_argument("-k", type=int, nargs="+", help="cutoffs (default 5 10 15)")
    parser.add_argument("--queries", type=int, help="of each part of the data (default: all)")
    parser.add_argument(
        "--folds", type=int, help="default: all, of MSLR the first as in the papers"
    )
    add_option(parser, "--trees", 1000)
    add_option(parser, "--trials", 40, "of tuning")
    add_option(parser, "--searcher", "flaml", "of tuning: flaml, optuna or random")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="a setting of rankers"
    )
    add_option(parser, "--seed", 0)
    parser.add_argument("--threads", type=int, help="default: all cores")


def run(options: argparse.Namespace) -> None:
    """Run the study and say where its report is."""
    from rankforce.experiments.train import read_setting
    from rankforce.studies.reproduce import CUTOFFS, reproduce

    reproduce(
        options.study,
        options.data,
        options.out,
        only=None if options.only is None else split(options.only),
        algorithms=["*"] if options.algorithms is None else split(options.algorithms),
        cutoffs=CUTOFFS if options.k is None else options.k,
        queries=options.queries,
        folds=options.folds,
        trees=options.trees,
        trials=options.trials,
        searcher=options.searcher,
        settings=dict(read_setting(text) for text in options.set),
        seed=options.seed,
        threads=options.threads,
        command=shlex.join(["rankforce", *sys.argv[1:]]),
    )
