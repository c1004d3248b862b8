"""What several verbs share: options for models and data, and where output goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file
from rankforce.formats.registry import FORMATS, all_titles

DATA = f"{all_titles()}; a folder of such files, or - for standard input"
# Option -> (name for `rf.read`, whether it takes several, help)
COLUMNS: dict[str, tuple[str, bool, str]] = {
    "--label": ("label", False, "the label (default: label, grade, relevance, y or target)"),
    "--query": ("query", False, "the query (default: qid, query_id, query or group_id)"),
    "--document": ("document", False, "ids of documents (default: doc_id, docid, url, ...)"),
    "--weight": ("weight", False, "weights of rows (default: weight)"),
    "--categorical": ("categorical", True, "categories, beside columns of text with few values"),
    "--ignore": ("ignore", True, "no features"),
}


def add_option(
    parser: argparse._ActionsContainer, name: str, default: Any, text: str = "", **more: Any
) -> None:
    """An option of its default's type, which its help says."""
    told = f"{text} (default %(default)s)".strip()
    parser.add_argument(name, type=type(default), default=default, help=told, **more)


def add_columns(
    parser: argparse.ArgumentParser, *, query: str = "--query", format: str = "--data-format"
) -> None:
    """Which column is what; `query` and `format` name the options where those are taken."""
    group = parser.add_argument_group(
        "columns",
        "Names of columns of Parquet and CSV files, with commas where there are several;\n"
        "features of text go by their numbers. A model remembers what it was trained with.",
    )
    for option, (name, several, text) in COLUMNS.items():
        shown = query if name == "query" else option
        metavar = "NAMES" if several else "NAME"
        group.add_argument(shown, dest=f"column_{name}", metavar=metavar, help=text)
    group.add_argument(
        "--features",
        dest="column_n_features",
        type=int,
        metavar="N",
        help="how many features text has, if the last do not occur (default: as the model)",
    )
    group.add_argument(
        format,
        dest="column_format",
        choices=list(FORMATS),
        help="of the data (default: as its name says)",
    )


def columns_of(options: argparse.Namespace) -> dict[str, Any]:
    """What these options say about columns, for `rf.read`."""
    said = {
        key.removeprefix("column_"): value
        for key, value in vars(options).items()
        if key.startswith("column_") and value is not None
    }
    for name, several, _ in COLUMNS.values():
        if several and name in said:
            said[name] = split(said[name])
    return said


def split(text: str) -> list[str]:
    """What stands between commas."""
    return [one.strip() for one in text.split(",")]


def add_model_and_data(parser: argparse.ArgumentParser, *, needs_model: bool = True) -> None:
    """--model and --data."""
    parser.add_argument(
        "--model", metavar="FOLDER", required=needs_model, help="a saved model, or LightGBM's text"
    )
    parser.add_argument("--data", metavar="FILE", required=True, help=DATA)
    add_base(parser)
    add_columns(parser)


def add_base(parser: argparse.ArgumentParser) -> None:
    """--base, for models that stand on another one."""
    parser.add_argument(
        "--base", metavar="FOLDER", help="the model that --model stands on, if it needs another"
    )


def add_metric_options(parser: argparse.ArgumentParser, *, default: str) -> None:
    """--metric, --preset and --no-relevant."""
    add_option(parser, "--metric", default, "metrics, with commas")
    parser.add_argument(
        "--preset", help="conventions of lightgbm, xgboost, sklearn or trec_eval (default: our own)"
    )
    parser.add_argument(
        "--no-relevant", help="what a query without relevant document counts: 0, 1 or skip"
    )


def made_metrics(options: argparse.Namespace) -> list[Any]:
    """The metrics that these options ask for."""
    import rankforce as rf
    from rankforce.measures.names import split_names

    given = options.no_relevant
    no_relevant = int(given) if given in ("0", "1") else given
    names = split_names(options.metric)
    return [rf.metric(name, no_relevant=no_relevant, preset=options.preset) for name in names]


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is whole or not there."""
    if path is None or path == "-":
        yield sys.stdout
        return
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise RankforceError(f"{path}: expected the name of a file in a folder that exists")
    with whole_file(target) as name, open(name, "w", encoding="utf-8", newline="") as file:
        yield file
