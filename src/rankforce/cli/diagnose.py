"""Show what the forces of a model do, tree by tree, on any data; of a network, at its end.

Incoherent queries, effective pairs, where forces come from, what stands at the top and how much of
it moves, norm factors, metrics. `rankforce report` draws the same.
"""

from __future__ import annotations

import argparse
import json

from rankforce.cli.files import add_model_and_data, add_option, columns_of, output, split

EXAMPLES = """examples:
  rankforce diagnose --model run/ --data vali.txt
  rankforce diagnose --model run/ --data vali.txt --objective "lambdamart-ex static" -k 5
  rankforce diagnose --model run/ --data vali.txt --what incoherence,pairs --every 5
  rankforce diagnose --model run/ --data vali.txt --against ranknet --json --out curves.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    add_model_and_data(parser)
    parser.add_argument("--objective", metavar="NAME", help="forces of this one (default: its own)")
    parser.add_argument("-k", type=int, help="cutoff of coherence (default: the objective's)")
    parser.add_argument(
        "--what", metavar="NAMES", help="some of the diagnostics, with commas (default all)"
    )
    parser.add_argument("--every", type=int, metavar="N", help="trees (default: about 25 points)")
    add_option(parser, "--top", 3, "positions at the top", metavar="N")
    parser.add_argument(
        "--high", type=float, metavar="LABEL", help="highly relevant from this label on"
    )
    parser.add_argument(
        "--missed",
        metavar="HOW",
        help="what a top k misses, by deficit or by label (default: the objective's)",
    )
    parser.add_argument("--metric", help="metrics, with commas (default: those of the run)")
    parser.add_argument("--against", metavar="NAME", help="an objective to compare forces with")
    parser.add_argument(
        "--queries", type=int, metavar="N", help="look at so many queries (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--out", metavar="FILE", help="where to (default: standard output)")


def run(options: argparse.Namespace) -> None:
    """Diagnose and print."""
    from pathlib import Path

    import rankforce as rf
    from rankforce.diagnostics.recorder import MEANINGS
    from rankforce.measures.names import split_names

    ranker = rf.load(options.model, base=options.base)
    data = rf.read(options.data, like=ranker, needs=("label", "qid"), **columns_of(options))
    curves = rf.diagnose(
        ranker,
        data,
        objective=options.objective,
        every=options.every,
        name=Path(options.data).name,
        what=split(options.what) if options.what else None,
        k=options.k,
        top=options.top,
        high=options.high,
        missed=options.missed,
        metrics=None if options.metric is None else split_names(options.metric),
        against=options.against,
        queries=options.queries,
    )
    with output(options.out) as file:
        if options.json:
            print(json.dumps(curves.record(), indent=1), file=file)
            return
        about = curves.about.items()
        told = ", ".join(f"{key} {value}" for key, value in about if key not in ("data", "step"))
        print(f"{curves.about['data']}: {told}\n\n{curves.table()}\n", file=file)
        for name in curves.series:
            print(f"{name}: {MEANINGS[name]}", file=file)
