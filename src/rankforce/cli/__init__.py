"""The command line. Verbs are thin: they parse, call the library, and print."""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from typing import Any, NoReturn

from rankforce.common.errors import RankforceError
from rankforce.common.notes import Note

# Each verb is a module of this package with HELP, EXAMPLES, `add_arguments` and `run`.
VERBS = {
    "demo": "train several objectives on a synthetic set, and see what changes",
    "train": "train a ranker on a file",
    "tune": "search for the settings that rank best",
    "auto": "choose objective, parameters and committee in a given time",
    "distil": "fit one small ranker to a committee, for serving",
    "predict": "score the documents of a file",
    "rank": "rank the documents of every query",
    "serve": "answer requests for rankings over HTTP",
    "evaluate": "judge a model or scores by any metrics",
    "compare": "say which of several rankers is better, with statistics",
    "diagnose": "show what a model's forces do, tree by tree",
    "explain": "show the forces of one query as bars",
    "report": "write a page about one or several runs",
    "figures": "draw the pictures of the papers from synthetic data",
    "reproduce": "run the study of a paper again, on its data or on yours",
    "convert": "turn a data file into another format",
    "export": "write a model in the form of another program",
    "objectives": "list the objectives, or explain one",
}


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Stop with exit code 2."""
        self.exit(2, f"{self.prog}: {message} (--help explains)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of `rankforce`, all verbs included; none of them loads more than argparse."""
    parser = Parser(
        prog="rankforce",
        description="Learning to rank: train rankers for any ranking metric.",
        epilog="rankforce VERB --help explains a verb, with examples.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, short in VERBS.items():
        module = importlib.import_module(f"rankforce.cli.{name}")
        verb = verbs.add_parser(
            name,
            help=short,
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(verb)
        verb.set_defaults(run=module.run)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake is one line on standard error and exit code 2."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.version:
        import rankforce

        print(f"rankforce {rankforce.__version__}")
        return 0
    if options.verb is None:
        parser.print_help()
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", Note)
            warnings.showwarning = _one_line(options.verb)
            return options.run(options) or 0
    except RankforceError as error:
        print(f"rankforce {options.verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"rankforce {options.verb}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        sys.stderr.close()
    return 0


def _one_line(verb: str) -> Any:
    """How a note is shown: one line on standard error, without a place in our code."""
    usual = warnings.showwarning

    def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
        if not issubclass(category, Note):
            usual(message, category, *rest, **named)
            return
        print(f"rankforce {verb}: {message}", file=sys.stderr)

    return show
