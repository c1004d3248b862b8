"""Write a model in the form of another program: a search engine, a runtime, or a source file.

Scores there are those of `rankforce predict`, as far as the numbers of that program go; what its
form cannot say is refused, with the node where it is. --list shows the forms.

With --features, a search engine's names of features come from a file of JSON, {"our name": "its
name"} or {"our name": {its definition}}; without it, names are used as they are.
"""

from __future__ import annotations

import argparse

from rankforce.cli.files import add_base
from rankforce.models.export.registry import EXPORTERS

EXAMPLES = """examples:
  rankforce export --list
  rankforce export run/ --to onnx --out ranker.onnx
  rankforce export run/ --to c --out ranker.c
  rankforce export run/ --to elasticsearch-ltr --features map.json --out model.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="a saved model, or LightGBM's text"
    )
    parser.add_argument("--to", choices=list(EXPORTERS), metavar="FORM", help="one of --list")
    parser.add_argument("--out", metavar="FILE", help="the file to write")
    parser.add_argument("--features", metavar="FILE", help="what a search engine calls features")
    parser.add_argument("--list", action="store_true", help="list the forms and stop")
    add_base(parser)


def run(options: argparse.Namespace) -> None:
    """List, or export and say what to do next."""
    from rankforce.common.errors import RankforceError

    if options.list:
        width = max(map(len, EXPORTERS))
        for one in EXPORTERS.values():
            print(f"{one.name:{width}}  {one.title} ({one.ending})")
        return
    for name in ("model", "to", "out"):
        if getattr(options, name) is None:
            shown = "MODEL" if name == "model" else f"--{name}"
            raise RankforceError(f"{shown} is missing: rankforce export run/ --to c --out ranker.c")
    import rankforce as rf

    ranker = rf.load(options.model, base=options.base)
    for line in ranker.export(options.out, to=options.to, features=options.features):
        print(line)
