"""Every objective by name, and the grammar of names."""

from __future__ import annotations

import re
from typing import NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.forces import metrics, ndcg, precision, unranked
from rankforce.forces.description import Entry
from rankforce.measures.names import by_name, plain, suggest

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


_BY_NAME = by_name(ENTRIES)


def parse_name(name: str) -> Parsed:
    """Find the objective that `name` means.

    >>> parse_name("LAMBDAGAP x+").entry.name
    'LambdaGap-X+'
    >>> parse_name("lambdarank(ndcg@10)").k
    10
    """
    if not isinstance(name, str):
        raise RankforceError(f"the objective's name must be a text, got {name!r}")
    said = plain(name)
    k: int | None = None
    p: float | None = None
    with_rate = re.fullmatch(r"lambdarank\(rbp\((?:p=)?([0-9]*\.?[0-9]+)\)\)", said)
    if with_rate:
        p = float(with_rate[1])
        said = "lambdarank(rbp)"
    with_cutoff = re.fullmatch(r"(.*[a-z+])@([0-9]+)(\)?)", said)
    if with_cutoff:
        k = int(with_cutoff[2])
        said = with_cutoff[1] + with_cutoff[3]
    elif said.startswith("lambdarank(") and said.endswith("@k)"):
        said = said.removesuffix("@k)") + ")"
    entry = _BY_NAME.get(said)
    if said == "auto":
        raise RankforceError(
            "the objective 'auto' follows from a metric, where a ranker is trained: "
            "rf.Ranker('auto', eval_metric='P@5'); here name one that `rankforce objectives` lists"
        )
    if entry is None:
        hint = suggest(plain(name), _BY_NAME)
        raise RankforceError(
            f"unknown objective {name!r}: {hint}`rankforce objectives` lists all {len(ENTRIES)}"
        )
    return Parsed(entry, k, p)


def has_cutoff(name: str) -> bool:
    """Whether k changes anything about the objective of that name, for all that is known."""
    entry = _BY_NAME.get(plain(name))
    return entry is None or entry.has_cutoff
