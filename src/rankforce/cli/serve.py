"""Serve models over HTTP: POST /rank answers with a ranking, and / is a page to try them on.

A model that is saved again into its folder is taken over within a second or two, and no request is
lost. Only programs of this machine can reach the server, unless --host says otherwise, for which a
token is needed: from --token-file, or the variable RANKFORCE_TOKEN.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rankforce.cli.files import add_base, add_option
from rankforce.common.errors import RankforceError
from rankforce.serving.limits import Limits

EXAMPLES = """examples:
  rankforce serve run/
  rankforce serve run/ --model small=run2/ --port 8080 --workers 4
  rankforce serve run/ --host 0.0.0.0 --token-file token.txt
  curl -d '{"documents": [{"id": "a", "features": {"bm25": 1.5}}], "missing": "allow"}' \\
      -H 'Content-Type: application/json' http://127.0.0.1:8000/rank
"""
LIMITS = {
    "body": "bytes of a request",
    "documents": "documents of a request",
    "explained": "documents of a request for /explain",
    "seconds": "time for an answer",
    "requests": "requests that a worker answers at once",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("folder", metavar="FOLDER", help="a saved model, or LightGBM's text")
    parser.add_argument(
        "--model",
        metavar="NAME=FOLDER",
        action="append",
        default=[],
        help="another model, by a name that requests may give; may be repeated",
    )
    add_base(parser)
    add_option(parser, "--host", "127.0.0.1", "address to listen on")
    add_option(parser, "--port", 8000, "0 takes a free one")
    add_option(parser, "--workers", 1, "processes")
    parser.add_argument("--token-file", metavar="FILE", help="what clients must know")
    group = parser.add_argument_group("limits", "A request beyond one of them is refused.")
    for name, text in LIMITS.items():
        add_option(group, f"--max-{name}", getattr(Limits(), name), text, metavar="N")


def run(options: argparse.Namespace) -> None:
    """Serve until told to stop."""
    from rankforce.serving.library import check_libraries

    check_libraries()
    from rankforce.serving.server import serve

    serve(
        _models(options),
        host=options.host,
        port=options.port,
        workers=options.workers,
        token=_token(options.token_file),
        limits=Limits(**{name: getattr(options, f"max_{name}") for name in LIMITS}),
        base=None if options.base is None else Path(options.base),
    )


def _models(options: argparse.Namespace) -> dict[str, Path]:
    first = Path(options.folder)
    found = {first.resolve().stem: first}
    for one in options.model:
        name, equals, folder = one.partition("=")
        if not equals or not folder:
            raise RankforceError(f"--model is {one!r}: expected NAME=FOLDER")
        if name in found:
            raise RankforceError(f"two models are called {name!r}: give --model another name")
        found[name] = Path(folder)
    return found


def _token(file: str | None) -> str | None:
    if file is None:
        return os.environ.get("RANKFORCE_TOKEN") or None
    try:
        token = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RankforceError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    if not token:
        raise RankforceError(f"{file} is empty: expected a token")
    return token
