"""Data sets shared out among workers: whole queries, about as many rows for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.training.cluster.blocks import InBlocks
from rankforce.training.cluster.crew import Crew
from rankforce.training.cluster.given import Blocks, Folder, Given
from rankforce.training.cluster.memory import InMemory
from rankforce.training.cluster.messages import Part
from rankforce.training.cluster.plan import share_out
from rankforce.training.cluster.storage import InFolder


class Pile(Protocol):
    """A data set in pieces that are not cut any more."""

    rows: list[int]  # of each piece, about

    def send(self, crew: Crew, shares: Sequence[range], folder: str) -> list[Part]:
        """What each worker has, once it is there: the pieces with these numbers."""
        ...


def deal(
    crew: Crew, sets: Sequence[Given], folder: str, voice: Voice
) -> tuple[Crew, list[list[Part]]]:
    """Who trains, and what of each data set each of them has; `folder` is where workers keep it.

    Workers that there is nothing of the training set for are left out.
    """
    first, *others = sets
    pile = _pile(crew, first, voice)
    shares = share_out(pile.rows, len(crew))
    if not shares:
        raise RankforceError(f"there is nothing to train on: {first.name} has no rows")
    if len(shares) < len(crew):
        what = "queries" if isinstance(pile, InMemory) else "pieces"
        voice.say(
            f"{len(crew) - len(shares)} of {len(crew)} workers are left out: the training set has "
            f"{len(shares)} {what}"
        )
    crew = crew.first(len(shares))
    rows = [sum(pile.rows[number] for number in share) for share in shares]
    voice.say(f"{len(crew)} workers, with about {min(rows):,} to {max(rows):,} rows each")
    parts = [pile.send(crew, shares, folder)]
    for one in others:
        if one.is_training:
            parts.append([Part(one.name, [], {}, is_training=True) for _ in shares])
            continue
        pile = _pile(crew, one, voice)
        own = share_out(pile.rows, len(crew))
        own += [range(0)] * (len(crew) - len(own))
        parts.append(pile.send(crew, own, folder))
    return crew, [list(each) for each in zip(*parts, strict=True)]


def _pile(crew: Crew, given: Given, voice: Voice) -> Pile:
    if isinstance(given.what, Folder):
        return InFolder(crew, given)
    if isinstance(given.what, Blocks):
        return InBlocks(crew, given, voice)
    return InMemory(given)
