"""Which rows a bag has: the smallest draws, wherever rows stand and whoever has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.draws import hash_keys, hash_numbers
from rankforce.common.team import ALONE
from rankforce.training.bags import Bags
from rankforce.training.settings import make_settings
from tests.training.teams import in_threads


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("share", [1e-6, 0.3, 0.99999])
@pytest.mark.parametrize("by", ["row", "query"])
def test_bags_are_the_smallest_draws_of_all_workers(by: str, share: float, threads: int) -> None:
    """At any number of threads and workers, of rows that stand anywhere."""
    given = {"subsample": share, "subsample_by": by, "subsample_freq": 1, "threads": threads}
    settings, key = make_settings(given), hash_numbers(0, 7)
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 400, 1000)
    index = rf.RankingData(np.zeros((sizes.sum(), 1)), np.zeros(sizes.sum()), group=sizes).index
    keys = rng.integers(2**64, size=sizes.sum(), dtype=np.uint64)
    draws = hash_keys((keys if by == "row" else index.key) ^ key)
    expected = np.zeros(len(draws))
    expected[np.argsort(draws)[: max(round(share * len(draws)), 1)]] = 1.0
    if by == "query":
        expected = np.repeat(expected, sizes)
    row = rng.permutation(len(keys))
    in_any_order = index._replace(row=row)
    whole = {"plain": (index, expected), "moved": (in_any_order, np.empty(len(keys)))}
    whole["moved"][1][row if by == "query" else slice(None)] = expected
    for own, weight in whole.values():
        bag = Bags(own, keys, settings, ALONE).at(7)
        assert bag is not None
        np.testing.assert_array_equal(bag.weight, weight)
        np.testing.assert_array_equal(bag.rows, np.flatnonzero(weight))
        np.testing.assert_array_equal(bag.rest, np.flatnonzero(weight == 0.0))
    cuts = [0, 300, 300, 1000]  # one has no rows

    def part(team: Any) -> Any:
        first, last = cuts[team.rank : team.rank + 2]
        begin, end = index.pointer[[first, last]]
        pointer = index.pointer[first : last + 1] - begin
        own = index._replace(key=index.key[first:last], pointer=pointer)
        bag = Bags(own, keys[begin:end], settings, team).at(7)
        assert bag is not None
        return bag.weight

    np.testing.assert_array_equal(np.concatenate(in_threads(3, part)), expected)
