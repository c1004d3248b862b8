"""Parameters that are wrong: a ValueError that names the value and the choices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rankforce as rf

WRONG: list[tuple[str, dict[str, Any], str]] = [
    # A parameter that the objective does not have.
    ("ranknet", {"mu": 1.0}, r"'RankNet' has no parameter 'mu'.* k, sigma, seed, cost, center"),
    ("ranknet", {"gain": "y"}, "has no parameter 'gain'"),
    ("ranknet", {"tau": 5}, "has no parameter 'tau'"),
    ("lambdarank-ndcg", {"mu": 1.0}, "has no parameter 'mu'.*gain, tau"),
    ("lambdarank-ndcg", {"delta_offset": 1}, "has no parameter 'delta_offset'"),
    ("lambdarank-bndcg", {"gain": "y"}, "has no parameter 'gain'"),
    ("lambdagap-x", {"k": 3, "mu": 1.0}, "'LambdaGap-X' has no parameter 'mu'"),
    ("lambdagap-x+", {"k": 3, "tau": math.inf}, "tau is inf: for precision it must be an integer"),
    ("lambdagap-x+", {"tau": 3}, "needs k"),
    ("lambdamart-ex all", {"k": 3, "tau": 5}, "has no parameter 'tau'"),
    ("lambdarank-ndcg", {"missed": "label"}, "has no parameter 'missed'"),
    ("lambdarank(ndcg)", {"p": 0.5}, "has no parameter 'p'"),
    ("lambdarank(map)", {"max_label": 4}, "has no parameter 'max_label'"),
    # k and tau.
    ("lambdagap-x", {}, "'LambdaGap-X' needs k"),
    ("lambdarank(p)", {}, "'LambdaRank-P@k' needs k"),
    ("lambdarank(recall)", {}, "needs k"),
    ("lambdarank-ndcg", {"k": 0}, "k is 0: it must be an integer from 1 up"),
    ("lambdarank-ndcg", {"k": -3}, "k is -3"),
    ("lambdarank-ndcg", {"k": 2.5}, "k is 2.5: it must be an integer"),
    ("lambdarank-ndcg", {"k": "5"}, "k is '5'"),
    ("lambdarank-ndcg", {"k": True}, "k is True"),
    ("lambdarank(ndcg@0)", {}, "k is 0"),
    ("lambdarank-ndcg", {"tau": 0}, "tau is 0: it must be an integer from 1 up"),
    ("lambdarank-ndcg", {"tau": 1.5}, "tau is 1.5"),
    ("lambdarank-ndcg", {"tau": math.nan}, "tau is nan"),
    ("lambdarank-ndcg", {"tau": -math.inf}, "tau is -inf"),
    # Numbers.
    ("lambdaloss-ndcg", {"delta_offset": 2}, "delta_offset is 2: it must be 0 or 1"),
    ("lambdaloss-ndcg", {"delta_offset": -1}, "delta_offset is -1"),
    ("lambdaloss-ndcg++", {"mu": -0.5}, "mu is -0.5: it must be a finite number from 0 up"),
    ("lambdaloss-ndcg++", {"mu": math.inf}, "mu is inf"),
    ("lambdaloss-ndcg++", {"mu": "1"}, "mu is '1'"),
    ("ranknet", {"sigma": 0}, "sigma is 0: it must lie between 0.001 and 1000"),
    ("ranknet", {"sigma": 1e200}, "sigma is 1e\\+200: it must lie between"),
    ("ranknet@5", {}, "RankNet has no cutoff, so @5 means nothing"),
    ("lambdarank(rbp@3)", {}, "has no cutoff, so @3 means nothing"),
    ("lambdarank(arp@1)", {}, "has no cutoff, so @1 means nothing"),
    ("ranknet", {"sigma": -1.0}, "sigma is -1.0"),
    ("ranknet", {"sigma": math.nan}, "sigma is nan: it must be a finite number"),
    ("ranknet", {"sigma": math.inf}, "sigma is inf"),
    ("ranknet", {"sigma": "1"}, "sigma is '1'"),
    ("ranknet", {"seed": 1.5}, "seed is 1.5: it must be an integer"),
    ("lambdarank(rbp)", {"p": 0.0}, "p is 0.0: it must lie between 0 and 1"),
    ("lambdarank(rbp)", {"p": 1.0}, "p is 1.0: it must lie between 0 and 1"),
    ("lambdarank(rbp)", {"p": 1.5}, "p is 1.5"),
    ("lambdarank(rbp(1))", {}, "p is 1"),
    ("lambdarank(err)", {"max_label": -1}, "max_label is -1"),
    # Choices.
    ("ranknet", {"cost": "hinge"}, "unknown cost 'hinge': choose 'logistic' or 'sigmoid'"),
    ("ranknet", {"center": 0.5}, "center is 0.5, but only cost='sigmoid' has a center"),
    ("ranknet", {"cost": "sigmoid", "center": math.nan}, "center is nan"),
    ("lambdarank-ndcg", {"gain": "cubic"}, r"unknown gain 'cubic': choose '2\^y-1', 'y', 'binary'"),
    ("lambdamart-ex all@3", {"missed": "both"}, "missed is 'both': choose 'deficit' or 'label'"),
    ("lambdarank-ndcg", {"gain": 5}, r"gain is 5: choose '2\^y-1', 'y', 'binary'"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), WRONG)
def test_wrong_parameter(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.objective(name, **parameters)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    expected = rf.objective("lambdagap-x+", k=3, mu=0.5, seed=2)
    got = rf.objective("lambdagap-x+", k=np.int64(3), mu=np.float32(0.5), seed=np.int32(2))
    assert got == expected
    assert hash(got) == hash(expected)


CALLS: list[tuple[dict[str, Any], str]] = [
    ({"norm": "l2"}, "unknown norm 'l2': choose 'none', 'lightgbm' or 'std'"),
    ({"norm": None}, "unknown norm None"),
    ({"iteration": 1.5}, "iteration is 1.5: it must be an integer"),
    ({"iteration": True}, "iteration is True"),
    ({"threads": 0}, "threads is 0: it must be an integer from 1 up"),
    ({"threads": -1}, "threads is -1"),
    ({"threads": 1.0}, "threads is 1.0"),
]


@pytest.mark.parametrize(("how", "message"), CALLS)
def test_wrong_argument_of_gradients(how: dict[str, Any], message: str) -> None:
    objective = rf.objective("lambdarank-ndcg", k=2)
    with pytest.raises(ValueError, match=message):
        objective.gradients([0.1, 0.2], [1, 0], **how)
    with pytest.raises(ValueError, match=message):
        objective.prepare([1, 0]).gradients([0.1, 0.2], **how)


@pytest.mark.parametrize(
    "out",
    [
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2, np.float32), np.zeros(2)),
        (np.zeros(2), np.zeros(2, np.int64)),
        (np.zeros(4)[::2], np.zeros(2)),
        ([0.0, 0.0], [0.0, 0.0]),
    ],
)
def test_out_that_cannot_be_written_into(out: Any) -> None:
    with pytest.raises(ValueError, match="out must be two float64 arrays of 2 numbers"):
        rf.objective("ranknet").prepare([1, 0]).gradients([0.1, 0.2], out=out)


@pytest.mark.parametrize("query", [-1, 2])
def test_query_that_is_not_there(query: int) -> None:
    ready = rf.objective("ranknet").prepare([1, 0, 1, 0], group=[2, 2])
    with pytest.raises(ValueError, match=f"query is {query}: there are 2 queries"):
        ready.pairs([1, 2, 3, 4], query=query)


def test_weights_that_are_no_function_of_ranks() -> None:
    for name in ("lambdarank(map)", "lambdarank(mrr)", "lambdarank(err)"):
        with pytest.raises(ValueError, match="no function of the two ranks"):
            rf.objective(name).rank_weights(5)


def test_objectives_are_equal_if_made_alike() -> None:
    first = rf.objective("lambdaloss-ndcg++", k=5, mu=0.5)
    assert first == rf.objective("LambdaLoss NDCG++", mu=0.5, k=5)
    for other in ({"k": 5}, {"k": 6, "mu": 0.5}, {"k": 5, "mu": 0.5, "sigma": 2.0}):
        assert first != rf.objective("lambdaloss-ndcg++", **other)
    assert first != rf.objective("lambdaloss-bndcg++", k=5, mu=0.5)
    assert first != rf.objective("lambdaloss-ndcg++", k=5, mu=0.5, seed=1)
    assert len({first, rf.objective("lambdaloss-ndcg++", k=5, mu=0.5)}) == 1


def test_tables_of_gains_are_compared() -> None:
    def make(gain: Any) -> rf.Objective:
        return rf.objective("lambdarank-ndcg", gain=gain)

    assert make([0, 1, 3]) == make([0, 1, 3])
    assert make([0, 1, 3]) != make([0, 1, 4])
    assert make({0: 0, 1: 5}) == make({0: 0, 1: 5})
    assert make(np.array([0.0, 1.0, 3.0])) == make(np.array([0.0, 1.0, 3.0]))


def test_no_truncation_prints_back() -> None:
    objective = rf.objective("lambdarank-ndcg", k=5, tau=math.inf)
    assert eval(repr(objective), {"rf": rf}) == objective
