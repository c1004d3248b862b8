"""What several verbs share: options for models and data, and where output goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rankforce.files import whole_file


def add_model_and_data(parser: argparse.ArgumentParser, *, needs_model: bool = True) -> None:
    """--model and --data."""
    parser.add_argument(
        "--model", metavar="FOLDER", required=needs_model, help="a saved model, or LightGBM's text"
    )
    parser.add_argument("--data", metavar="FILE", required=True, help="text, Parquet or CSV")


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that is whole or not there."""
    if path is None or path == "-":
        yield sys.stdout
        return
    with whole_file(Path(path)) as name, open(name, "w", encoding="utf-8", newline="\n") as file:
        yield file
