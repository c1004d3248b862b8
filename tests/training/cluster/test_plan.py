"""Who gets what, against naive versions that try everything."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rankforce.training.cluster.plan import find_moves, share_out


def least_load(rows: list[int], workers: int) -> int:
    """The most rows that a worker must have, by trying all cuts."""
    count = min(workers, len(rows))
    cuts = itertools.combinations(range(1, len(rows)), count - 1)
    return min(
        max(sum(rows[a:b]) for a, b in itertools.pairwise([0, *cut, len(rows)])) for cut in cuts
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_largest_share_is_as_small_as_can_be(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.integers(1, 30, draw.integers(1, 9)).tolist()
    workers = int(draw.integers(1, 6))
    shares = share_out(rows, workers)
    assert [n for share in shares for n in share] == list(range(len(rows)))
    assert len(shares) == min(workers, len(rows))
    assert all(len(share) for share in shares)
    assert max(sum(rows[n] for n in share) for share in shares) == least_load(rows, workers)


def test_nothing_to_share_out() -> None:
    assert share_out([], 3) == []
    assert find_moves([]) == []
    assert find_moves([np.empty(0, int)]) == []


def naive_moves(pieces: list[list[Any]]) -> dict[tuple[int, int], set[Any]]:
    owner: dict[Any, int] = {}
    moves: dict[tuple[int, int], set[Any]] = {}
    for number, queries in enumerate(pieces):
        for query in queries:
            first = owner.setdefault(query, number)
            if first != number:
                moves.setdefault((number, first), set()).add(query)
    return moves


@pytest.mark.parametrize("seed", range(20))
def test_queries_move_to_the_first_piece_that_has_them(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = np.array([f"q{n}" for n in range(12)], object)
    pieces = [draw.choice(names, draw.integers(0, 8), replace=False) for _ in range(5)]
    found = {(move.source, move.target): {*move.queries} for move in find_moves(pieces)}
    assert found == naive_moves([piece.tolist() for piece in pieces])
