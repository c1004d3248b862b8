"""Every objective by name, and the grammar of names."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.forces import metrics, ndcg, precision, unranked
from rankforce.forces.description import Entry

ENTRIES: list[Entry] = [
    precision.ENTRIES[0],
    *unranked.PAIRWISE,
    *ndcg.ENTRIES,
    *precision.ENTRIES[1:],
    *metrics.ENTRIES,
    *unranked.LISTWISE,
]


class Parsed(NamedTuple):
    """What a name says: the objective, and parameters written into the name."""

    entry: Entry
    k: int | None = None
    p: float | None = None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.lower())


def _names() -> dict[str, Entry]:
    names = {}
    for entry in ENTRIES:
        for name in (entry.name, *entry.aliases):
            names[_plain(name)] = entry
    return names


_BY_NAME = _names()


def parse_name(name: str) -> Parsed:
    """Find the objective that `name` means.

    >>> parse_name("LAMBDAGAP x+").entry.name
    'LambdaGap-X+'
    >>> parse_name("lambdarank(ndcg@10)").k
    10
    """
    if not isinstance(name, str):
        raise RankforceError(f"the objective's name must be a text, got {name!r}")
    plain = _plain(name)
    k: int | None = None
    p: float | None = None
    with_rate = re.fullmatch(r"lambdarank\(rbp\((?:p=)?([0-9]*\.?[0-9]+)\)\)", plain)
    if with_rate:
        p = float(with_rate[1])
        plain = "lambdarank(rbp)"
    with_cutoff = re.fullmatch(r"(.*[a-z+])@([0-9]+)(\)?)", plain)
    if with_cutoff:
        k = int(with_cutoff[2])
        plain = with_cutoff[1] + with_cutoff[3]
    elif plain.startswith("lambdarank(") and plain.endswith("@k)"):
        plain = plain.removesuffix("@k)") + ")"
    entry = _BY_NAME.get(plain)
    if entry is None:
        raise RankforceError(_unknown(name))
    return Parsed(entry, k, p)


def has_cutoff(name: str) -> bool:
    """Whether k changes anything about the objective of that name, for all that is known."""
    entry = _BY_NAME.get(_plain(name))
    return entry is None or entry.has_cutoff


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(_plain(name), _BY_NAME, n=3, cutoff=0.5)
    names = list(dict.fromkeys(_BY_NAME[match].name for match in close))
    hint = f"did you mean {' or '.join(repr(n) for n in names)}? " if names else ""
    return f"unknown objective {name!r}: {hint}`rankforce objectives` lists all {len(ENTRIES)}"
