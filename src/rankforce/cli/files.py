"""What several verbs share: options for models and data, and where output goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rankforce.files import whole_file


def add_model_and_data(parser: argparse.ArgumentParser, *, needs_model: bool = True) -> None:
    """--model and --data."""
    parser.add_argument(
        "--model", metavar="FOLDER", required=needs_model, help="a saved model, or LightGBM's text"
    )
    parser.add_argument("--data", metavar="FILE", required=True, help="text, Parquet or CSV")
    add_base(parser)


def add_base(parser: argparse.ArgumentParser) -> None:
    """--base, for models that stand on another one."""
    parser.add_argument(
        "--base", metavar="FOLDER", help="the model that --model stands on, if it needs another"
    )


def add_metric_options(parser: argparse.ArgumentParser, *, default: str) -> None:
    """--metric, --preset and --no-relevant."""
    parser.add_argument(
        "--metric", default=default, help="metrics, with commas (default %(default)s)"
    )
    parser.add_argument(
        "--preset", help="conventions of lightgbm, xgboost, sklearn or trec_eval (default: our own)"
    )
    parser.add_argument(
        "--no-relevant", help="what a query without relevant document counts: 0, 1 or skip"
    )


def made_metrics(options: argparse.Namespace) -> list[Any]:
    """The metrics that these options ask for."""
    import rankforce as rf
    from rankforce._metrics.names import split_names

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
        raise ValueError(f"{path}: expected the name of a file in a folder that exists")
    with whole_file(target) as name, open(name, "w", encoding="utf-8", newline="") as file:
        yield file
