"""Judge a model, or a file of scores, by any metrics."""

from __future__ import annotations

import argparse
import json

from rankforce.cli.files import add_model_and_data

EXAMPLES = """examples:
  rankforce evaluate --model run/ --data test.txt
  rankforce evaluate --model run/ --data test.txt --metric ndcg@5,ndcg@10,p@5,map,mrr
  rankforce evaluate --scores scores.txt --data test.txt --per-query
  rankforce evaluate --model run/ --data test.txt --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    add_model_and_data(parser, needs_model=False)
    parser.add_argument("--scores", metavar="FILE", help="scores, one a line, in place of a model")
    parser.add_argument(
        "--metric",
        default="ndcg@5,ndcg@10,p@5,p@10,map,mrr",
        help="metrics, with commas (default %(default)s)",
    )
    parser.add_argument("--no-relevant", help="what a query without relevant document counts")
    parser.add_argument("--per-query", action="store_true", help="a line for each query")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(options: argparse.Namespace) -> None:
    """Evaluate and print."""
    import rankforce as rf
    from rankforce.data.read import read_numbers
    from rankforce.evaluation import evaluate

    if (options.model is None) == (options.scores is None):
        raise ValueError("give --model or --scores, one of the two")
    given = options.no_relevant
    no_relevant = int(given) if given in ("0", "1") else given
    metrics = [
        rf.metric(name.strip(), no_relevant=no_relevant) for name in options.metric.split(",")
    ]
    data = rf.read(options.data)
    scores = (
        read_numbers(options.scores) if options.scores else rf.load(options.model).predict(data)
    )
    found = evaluate(data, scores, metrics)
    if options.json:
        print(json.dumps(found.record(per_query=options.per_query), indent=2))
    else:
        print(found.per_query() if options.per_query else found.table())
