"""Write one page that shows trained models: curves, diagnostics, comparison, queries, forces.

The page is one file that opens from disk and asks nothing of the outside. Without --data it shows
the first validation set that the models were trained with, if its file is still the same.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import DATA, add_base, add_columns, add_option, columns_of

EXAMPLES = """examples:
  rankforce report run/ --out report.html
  rankforce report old/ new/ --data test.txt --metric ndcg@10 --out report.html
  rankforce report base=runs/7/ new=runs/8/ --data test.txt --queries 30 --out report.html
  rankforce report run/ --data test.txt --objective lambdarank-ndcg --objective ranknet \\
      --out report.html --open yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a saved model, or LightGBM's text")
    parser.add_argument("--out", metavar="FILE", required=True, help="the page, as in report.html")
    parser.add_argument("--data", metavar="FILE", help=f"with labels: {DATA}")
    add_base(parser)
    parser.add_argument(
        "--metric", help="what runs are judged by (default: what the first watched)"
    )
    parser.add_argument("--baseline", metavar="RUN", help="default: the first")
    parser.add_argument(
        "--objective",
        action="append",
        metavar="NAME",
        help="whose forces to show beside the runs' own; may be repeated (default: all)",
    )
    add_option(parser, "--queries", 12, "that are shown in full")
    parser.add_argument("--title", help="default: the names of the runs")
    add_option(parser, "--seed", 0, "of the test")
    add_option(parser, "--open", "no", "in a browser", choices=("yes", "no"))
    add_columns(parser)


def run(options: argparse.Namespace) -> None:
    """Write the page, and say where."""
    import webbrowser

    from rankforce.experiments.systems import find_baseline, name_systems
    from rankforce.show.report.write import write_report

    named = name_systems(options.runs)
    place = write_report(
        named,
        options.data,
        columns=columns_of(options),
        out=options.out,
        base=options.base,
        metric=options.metric,
        baseline=find_baseline(options.baseline, named),
        queries=options.queries,
        objectives=options.objective,
        title=options.title,
        seed=options.seed,
    )
    print(f"{place}: {place.stat().st_size / 1000:,.0f} kB; open it in any browser")
    if options.open == "yes":
        webbrowser.open(place.resolve().as_uri())
