"""Draw the pictures of the papers, on synthetic data.

Each ranker that they show is trained here, once. A page, index.md, goes beside the pictures: what
each one shows, what its paper says, and whether that holds here. Needs matplotlib.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import add_option, split

EXAMPLES = """examples:
  rankforce figures --out figures/
  rankforce figures --out figures/ --format pdf --only marcuzzi-3,adalia-1
  rankforce figures --out figures/ --queries 1000 --trees 300
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the pictures go")
    parser.add_argument("--queries", type=int, help="to train on (default 200)")
    parser.add_argument("--trees", type=int, help="of a ranker (default 60)")
    add_option(parser, "--format", "png", "png, pdf or svg")
    parser.add_argument("--only", metavar="NAMES", help="pictures, with commas (default: all)")
    add_option(parser, "--seed", 0)


def run(options: argparse.Namespace) -> None:
    """Draw and say what was drawn."""
    from rankforce.studies.make import QUERIES, TREES, make_figures

    make_figures(
        options.out,
        queries=QUERIES if options.queries is None else options.queries,
        trees=TREES if options.trees is None else options.trees,
        format=options.format,
        only=None if options.only is None else split(options.only),
        seed=options.seed,
    )
