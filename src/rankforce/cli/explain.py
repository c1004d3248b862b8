"""The forces of one query: bars for its documents, and the pairs that contribute most.

To the right is up, to the left is down. False top-k documents stand in the top k though the ideal
top k has fewer of their label, missed ones below it though it has more; for an objective made with
missed = "label", though it has none, or any. Where a false one is pushed up more than a missed one,
the forces are not coherent, and words say so.

The objective, its k and its norm are the model's own unless options say otherwise; several
objectives stand side by side. Without --query it is the query with the lowest NDCG@k.
"""

from __future__ import annotations

import argparse
import json

from rankforce.cli.files import DATA, add_base, add_columns, add_option, columns_of
from rankforce.common.errors import RankforceError

EXAMPLES = """examples:
  rankforce explain --model run/ --data vali.txt
  rankforce explain --model run/ --data vali.txt --query 1030 --top 30 --pairs 5
  rankforce explain --model run/ --data vali.txt --query 1030 -k 5 \\
      --objective lambdarank-ndcg --objective "lambdamart-ex static" --objective lambdagap-x+
  rankforce explain --scores scores.txt --data vali.txt --objective ranknet --norm none
  rankforce explain --model run/ --data vali.txt --query 1030 --json
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
    parser.add_argument("-k", type=int, help="cutoff that one cares about (default: the model's)")
    parser.add_argument("--norm", help="none, lightgbm or std (default: the model's, or none)")
    add_option(parser, "--top", 20, "documents")
    add_option(parser, "--pairs", 10, "pairs")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    add_columns(parser, query="--query-column")


def run(options: argparse.Namespace) -> None:
    """Explain and print."""
    import shutil

    import rankforce as rf
    from rankforce.diagnostics.explain import explain_several, show
    from rankforce.experiments.systems import open_system

    if (options.model is None) == (options.scores is None):
        raise RankforceError("give --model or --scores, one of the two")
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
