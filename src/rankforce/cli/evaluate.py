"""Judge a model, or a file of scores, by any metrics."""

from __future__ import annotations

import argparse
import json

from rankforce.cli.files import (
    DATA,
    add_base,
    add_columns,
    add_metric_options,
    add_option,
    columns_of,
    made_metrics,
)
from rankforce.common.errors import RankforceError

EXAMPLES = """examples:
  rankforce evaluate --model run/ --data test.txt
  rankforce evaluate --model run/ --data test.txt --metric ndcg@5,ndcg@10,p@5,map,mrr
  rankforce evaluate --scores scores.txt --data test.txt --per-query
  rankforce evaluate --run bm25.run --qrels qrels.txt --metric ndcg@10,map --preset trec_eval
  rankforce evaluate --model run/ --data test.txt --json
  rankforce evaluate --model run/ --data shards/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--model", metavar="FOLDER", help="a saved model, or LightGBM's text")
    parser.add_argument("--scores", metavar="FILE", help="scores, one a line, in place of a model")
    parser.add_argument("--run", dest="ranked", metavar="FILE", help="a run of TREC, with --qrels")
    parser.add_argument("--data", metavar="FILE", help=f"with labels: {DATA}")
    parser.add_argument("--qrels", metavar="FILE", help="judgements of a run, in the form of TREC")
    add_base(parser)
    add_metric_options(parser, default="ndcg@5,ndcg@10,p@5,p@10,map,mrr")
    add_option(
        parser, "--missing", "error", "a judged query that the run lacks: error, zero or skip"
    )
    parser.add_argument("--per-query", action="store_true", help="a line for each query")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    add_columns(parser)


def run(options: argparse.Namespace) -> None:
    """Evaluate and print."""
    import rankforce as rf
    from rankforce.experiments.systems import open_all

    given = [path for path in (options.model, options.scores, options.ranked) if path is not None]
    if len(given) != 1:
        raise RankforceError(
            "give --model or --scores (with --data) or --run (with --qrels), one of them"
        )
    if (options.ranked is None) != (options.qrels is None):
        raise RankforceError("--run goes with --qrels, --model and --scores with --data")
    metrics = made_metrics(options)
    systems, judged = open_all(
        {"system": given[0]},
        data=options.data,
        qrels=options.qrels,
        columns=columns_of(options),
        base=options.base,
        keep="disk",
    )
    found = rf.evaluate(systems["system"], judged, metrics, missing=options.missing)
    if options.json:
        print(json.dumps(found.record(per_query=options.per_query), indent=2))
    else:
        print(found.per_query() if options.per_query else found.table())
