"""Turn a data file, or a folder of them, into one of another format, compressed or not.

The format of each file is that of its name (.gz and .zst may stand behind it), or what --from and
--to say. The file is worked off in blocks, so that it may be larger than the memory.

A target .bins has the features in bins of a byte a value, found from all rows: training on it
starts at once. A set to validate on gets the same bins by --like.

A target .qrels has the labels alone, in the form of TREC; documents without ids are called by their
rows, as in `rankforce rank --format trec`.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import add_columns, columns_of
from rankforce.formats.registry import FORMATS, all_titles

EXAMPLES = """examples:
  rankforce convert train.txt train.parquet
  rankforce convert train.csv.gz train.txt.zst
  rankforce convert S1.dat S1.parquet --from letor
  zcat train.txt.gz | rankforce convert - train.parquet
  rankforce convert test.txt test.qrels
  rankforce convert train/ train.bins
  rankforce convert valid/ valid.bins --like train.bins
  rankforce convert shards/ train.parquet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    endings = ", ".join(one.endings[0] for one in FORMATS.values())
    parser.add_argument(
        "source", metavar="FROM", help=f"the file, or folder of files, to read: {all_titles()}"
    )
    parser.add_argument("target", metavar="TO", help=f"the file to write: {endings} or .qrels")
    parser.add_argument(
        "--to", dest="target_format", choices=[*FORMATS, "qrels"], help="format of TO"
    )
    parser.add_argument(
        "--like", metavar="FILE", help="a file of bins, whose bins TO is to have: of a training set"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    add_columns(parser, format="--from")


def run(options: argparse.Namespace) -> None:
    """Convert."""
    from rankforce.formats.convert import convert

    columns = columns_of(options)
    rows = convert(
        options.source,
        options.target,
        source_format=columns.pop("format", None),
        target_format=options.target_format,
        progress=not options.quiet,
        like=options.like,
        **columns,
    )
    print(f"{options.target}: {rows} rows")
