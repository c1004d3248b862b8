"""The forces of one query, why one document stands above another, or what would move one up.

Without --pair and --enter: bars for the documents, and the pairs that contribute most.

To the right is up, to the left is down. False top-k documents stand in the top k though the ideal
top k has fewer of their label, missed ones below it though it has more; for an objective made with
missed = "label", though it has none, or any. Where a false one is pushed up more than a missed one,
the forces are not coherent, and words say so.

The objective, its k and its norm are the model's own unless options say otherwise; several
objectives stand side by side. Without --query it is the query with the lowest NDCG@k.

--pair says which features put one document above another: contributions of a model of trees, or of
a linear one, which add up to the difference of the scores. --enter says which values of features
would bring a document into the top k, by the thresholds of the trees: of one feature the nearest
that is enough, else some pairs. Documents go by id, as #RANK, or by row where they have no ids.
"""

from __future__ import annotations

import argparse
import json
import shutil
from typing import Any

from rankforce.cli.files import DATA, add_base, add_columns, add_option, columns_of, split
from rankforce.common.errors import RankforceError

EXAMPLES = """examples:
  rankforce explain --model run/ --data vali.txt
  rankforce explain --model run/ --data vali.txt --query 1030 --top 30 --pairs 5
  rankforce explain --model run/ --data vali.txt --query 1030 -k 5 \\
      --objective lambdarank-ndcg --objective "lambdamart-ex static" --objective lambdagap-x+
  rankforce explain --scores scores.txt --data vali.txt --objective ranknet --norm none
  rankforce explain --model run/ --data vali.txt --query 1030 --json
  rankforce explain --model run/ --data vali.txt --query 1030 --pair GX05-42 "#3"
  rankforce explain --model run/ --data vali.txt --query 1030 --enter -k 10
  rankforce explain --model run/ --data vali.txt --query 1030 --enter "#17" --fixed age,price
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--model", metavar="FOLDER", help="a saved model, or LightGBM's text")
    parser.add_argument("--scores", metavar="FILE", help="scores, one a line, in place of a model")
    parser.add_argument("--data", metavar="FILE", required=True, help=DATA)
    add_base(parser)
    parser.add_argument("--query", metavar="ID", help="default: the one with the lowest NDCG@k")
    parser.add_argument(
        "--objective", metavar="NAME", action="append", help="default: the model's; may be repeated"
    )
    parser.add_argument(
        "-k", type=int, help="cutoff that one cares about (default: the model's; of --enter 10)"
    )
    parser.add_argument("--norm", help="none, lightgbm or std (default: the model's, or none)")
    parser.add_argument("--pair", nargs=2, metavar="DOC", help="why the first is above the second")
    parser.add_argument(
        "--enter",
        nargs="?",
        const="",
        metavar="DOC",
        help="what would bring it into the top k (without DOC: a line for each of the next few)",
    )
    parser.add_argument("--fixed", metavar="NAMES", help="features that --enter leaves as they are")
    add_option(parser, "--top", 20, "documents; of --pair and --enter, features")
    add_option(parser, "--pairs", 10, "pairs")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    add_columns(parser, query="--query-column")


def run(options: argparse.Namespace) -> None:
    """Explain and print."""
    if options.pair is not None or options.enter is not None:
        _why(options)
    else:
        _forces(options)


def _forces(options: argparse.Namespace) -> None:
    import rankforce as rf
    from rankforce.diagnostics.explain import explain_several, show
    from rankforce.experiments.systems import open_system

    if (options.model is None) == (options.scores is None):
        raise RankforceError("give --model or --scores, one of the two")
    if options.fixed is not None:
        raise RankforceError("--fixed is for --enter")
    ranker = rf.load(options.model, base=options.base) if options.model else None
    needs = ("label", "qid", "doc_id")
    data = rf.read(options.data, like=ranker, needs=needs, **columns_of(options))
    system = open_system(options.scores, data) if ranker is None else ranker
    found = explain_several(
        options.objective or [None],
        system,
        data,
        query=options.query,
        norm=options.norm,
        k=options.k,
    )
    if options.json:
        records = [one.record(pairs=options.pairs) for one in found]
        print(json.dumps(records[0] if len(records) == 1 else records, indent=2))
        return
    width = shutil.get_terminal_size().columns
    print(show(found, width=width, top=options.top, pairs=options.pairs))


def _why(options: argparse.Namespace) -> None:
    import rankforce as rf
    from rankforce.diagnostics.why import enter_several, show_entries

    if options.pair is not None and options.enter is not None:
        raise RankforceError("give --pair or --enter, one of the two")
    if options.model is None or options.scores is not None:
        raise RankforceError("--pair and --enter need --model: scores do not say what made them")
    if options.fixed is not None and options.enter is None:
        raise RankforceError("--fixed is for --enter")
    if options.objective or options.norm:
        raise RankforceError("--objective and --norm are for forces: --pair and --enter have none")
    ranker = rf.load(options.model, base=options.base)
    data = rf.read(options.data, like=ranker, needs=("qid", "doc_id"), **columns_of(options))
    width = shutil.get_terminal_size().columns
    if options.pair is not None:
        found = rf.why(ranker, data, query=options.query, pair=options.pair)
        _print(found.record(), found.table(width, top=options.top), options)
        return
    several = enter_several(
        ranker,
        data,
        query=options.query,
        documents=[options.enter] if options.enter else None,
        k=10 if options.k is None else options.k,
        fixed=split(options.fixed) if options.fixed else (),
    )
    if options.enter:
        _print(several[0].record(), several[0].table(width, top=options.top), options)
    else:
        text = show_entries(several, width=width)
        _print([one.record() for one in several], text, options)


def _print(record: Any, text: str, options: argparse.Namespace) -> None:
    print(json.dumps(record, indent=2) if options.json else text)
