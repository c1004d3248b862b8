"""Score the documents of a file: one number a line, in the order of the file.

The file needs neither labels nor queries, unless the model scores a document in the context of its
list. Columns with names go by name.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import add_model_and_data, columns_of, output

EXAMPLES = """examples:
  rankforce predict --model run/ --data test.txt > scores.txt
  rankforce predict --model run/ --data test.parquet --out scores.txt
  zcat test.txt.gz | rankforce predict --model run/ --data - > scores.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    add_model_and_data(parser)
    parser.add_argument("--out", metavar="FILE", help="where the scores go (default: print them)")


def run(options: argparse.Namespace) -> None:
    """Score and write."""
    import rankforce as rf

    ranker = rf.load(options.model, base=options.base)
    needs = ("qid",) if ranker.needs_lists else ()
    scores = ranker.predict(rf.read(options.data, like=ranker, needs=needs, **columns_of(options)))
    with output(options.out) as file:
        file.writelines(f"{score!r}\n" for score in scores.tolist())
