"""Compare rankers query by query: is the difference more than chance?

A system is a saved model or a file of scores (with --data), or a run of TREC (with --qrels). It is
called by its file, or as you like: new=runs/7.txt. The first one is the baseline unless --baseline
says otherwise.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import (
    DATA,
    add_base,
    add_columns,
    add_metric_options,
    add_option,
    columns_of,
    made_metrics,
    output,
)

EXAMPLES = """examples:
  rankforce compare run_a/ run_b/ --data test.txt --metric p@5 --baseline run_a
  rankforce compare old.txt new.txt --data test.txt --metric ndcg@10,mrr --test permutation
  rankforce compare bm25.run bert.run --qrels qrels.txt --metric ndcg@10 --preset trec_eval
  rankforce compare a/ b/ c/ --data test.txt --correction bh --format latex --out table.tex
  rankforce compare a/ b/ --data test.txt --moved 5
"""
# Options that go to `rf.compare` under their own names.
HOW = ("test", "alternative", "correction", "resamples", "confidence", "seed", "missing", "threads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("systems", nargs="+", metavar="SYSTEM", help="model, scores or run")
    parser.add_argument("--data", metavar="FILE", help=f"with labels: {DATA}")
    parser.add_argument("--qrels", metavar="FILE", help="judgements of runs, in the form of TREC")
    add_base(parser)
    add_metric_options(parser, default="ndcg@10")
    parser.add_argument("--baseline", metavar="SYSTEM", help="default: the first")
    add_option(
        parser, "--test", "fisher", "fisher (two-sided), permutation (one-sided), t or bootstrap"
    )
    parser.add_argument("--alternative", help="two-sided, better or worse (default: the test's)")
    add_option(parser, "--correction", "holm", "over systems: holm, bh or none")
    add_option(parser, "--resamples", 10_000)
    add_option(parser, "--confidence", 0.95)
    add_option(parser, "--seed", 0)
    add_option(parser, "--threads", 1)
    add_option(parser, "--missing", "error", "a judged query that a run lacks: error, zero or skip")
    add_option(parser, "--format", "text", "text, markdown, latex, html, csv or json")
    parser.add_argument("--percent", action="store_true", help="metrics times 100")
    add_option(parser, "--digits", 4, "of metrics")
    parser.add_argument("--moved", type=int, metavar="N", help="also the N queries that moved most")
    parser.add_argument("--out", metavar="FILE", help="where the table goes (default: print it)")
    add_columns(parser)


def run(options: argparse.Namespace) -> None:
    """Compare and print."""
    import rankforce as rf
    from rankforce.evaluation.show import show_several
    from rankforce.experiments.systems import find_baseline, name_systems, open_all

    metrics = made_metrics(options)
    named = name_systems(options.systems)
    baseline = find_baseline(options.baseline, named)
    systems, judged = open_all(
        named,
        data=options.data,
        qrels=options.qrels,
        columns=columns_of(options),
        base=options.base,
    )
    how = {key: getattr(options, key) for key in HOW}
    found = [
        rf.compare(systems, judged, metric=metric, baseline=baseline, **how) for metric in metrics
    ]
    text = show_several(
        found, options.format, digits=options.digits, percent=options.percent, moved=options.moved
    )
    with output(options.out) as file:
        file.write(text + "\n")
