"""The grammar of metrics' names, with the spellings of other tools."""

from __future__ import annotations

import difflib
import re
from typing import Any, NamedTuple

from rankforce._metrics.definition import Entry
from rankforce._metrics.registry import ENTRIES

_NUMBER = r"[0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?"
# "@10" here; "_cut_10", "_cut.10", "_5" and ".5" in trec_eval.
_CUTOFF = re.compile(r"(.*?[a-z])(?:@|[_.]cut[_.]|[_.])([0-9]+)")
_PERSISTENCE = re.compile(rf"(.*[a-z])\((?:p=)?({_NUMBER})\)")


class Parsed(NamedTuple):
    """What a name says: the metric, and the parameters written into the name."""

    entry: Entry
    parameters: dict[str, Any]


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.lower())


def _names() -> dict[str, Entry]:
    return {_plain(name): entry for entry in ENTRIES for name in (entry.name, *entry.aliases)}


_BY_NAME = _names()


def parse_name(name: str) -> Parsed:
    """Find the metric that `name` means.

    >>> parse_name("ndcg_cut_10").parameters
    {'k': 10}
    >>> parse_name("recip_rank").entry.name
    'MRR'
    """
    rest = re.sub(r"\s", "", name.lower())
    parameters: dict[str, Any] = {}
    if rest.endswith("-"):  # XGBoost: a query without relevant document counts 0
        rest = rest[:-1]
        parameters["no_relevant"] = 0
    if found := _CUTOFF.fullmatch(rest):
        rest, parameters["k"] = found[1], int(found[2])
    elif found := _PERSISTENCE.fullmatch(rest):
        rest, parameters["p"] = found[1], float(found[2])
    rest = rest.removesuffix("@k")
    entry = _BY_NAME.get(_plain(rest))
    if entry is None:
        raise ValueError(_unknown(name, _plain(rest)))
    if "k" in parameters and entry.cutoff == "none":
        k = parameters["k"]
        raise ValueError(f"{name!r}: {entry.name} has no cutoff, so @{k} means nothing")
    return Parsed(entry, parameters)


def _unknown(name: str, plain: str) -> str:
    close = difflib.get_close_matches(re.sub(r"[^a-z]", "", plain), _BY_NAME, n=3, cutoff=0.5)
    names = list(dict.fromkeys(_BY_NAME[match].name for match in close))
    hint = f"did you mean {' or '.join(repr(n) for n in names)}? " if names else ""
    choices = ", ".join(entry.name for entry in ENTRIES)
    return (
        f"unknown metric {name!r}: {hint}Choose one of {choices}, with a cutoff as in 'NDCG@10' "
        "and a persistence as in 'RBP(0.8)'"
    )
