"""Score the documents of a file: one number a line, in the order of the file."""

from __future__ import annotations

import argparse

from rankforce.cli.files import add_model_and_data, output

EXAMPLES = """examples:
  rankforce predict --model run/ --data test.txt > scores.txt
  rankforce predict --model run/ --data test.parquet --out scores.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    add_model_and_data(parser)
    parser.add_argument("--out", metavar="FILE", help="where the scores go (default: print them)")


def run(options: argparse.Namespace) -> None:
    """Score and write."""
    import rankforce as rf

    ranker = rf.load(options.model, base=options.base)
    scores = ranker.predict(rf.read(options.data))
    with output(options.out) as file:
        file.writelines(f"{score!r}\n" for score in scores.tolist())
