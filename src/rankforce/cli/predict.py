"""Score the documents of a file or a folder: one number a line, in the order of the rows.

The file needs neither labels nor queries, unless the model scores a document in the context of its
list. Columns with names go by name. No more than a block of rows is in memory at once.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import add_model_and_data, columns_of, output

EXAMPLES = """examples:
  rankforce predict --model run/ --data test.txt > scores.txt
  rankforce predict --model run/ --data test.parquet --out scores.txt
  rankforce predict --model run/ --data shards/ --out scores.txt
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
    data = rf.read(options.data, like=ranker, needs=needs, keep="disk", **columns_of(options))
    with output(options.out) as file:
        for block in data.blocks(whole_queries=ranker.needs_lists):
            file.writelines(f"{score!r}\n" for score in ranker.predict(block).tolist())
