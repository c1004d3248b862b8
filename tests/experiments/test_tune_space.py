"""What is searched: the published space, a user's own, and where its values go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.experiments.search import RandomSearch
from rankforce.experiments.space import Range, default_space, place, read_space, start_of

STRATEGIES = ["static", "random", "all", "all-static", "all-random"]


def test_the_published_space() -> None:
    """Adalia et al. 2025, Table 7 and section 6.4."""
    found = default_space({"objective": "lambdaloss-ndcg++", "k": 10})
    assert found == {
        "num_leaves": Range(2**4 - 1, 2**8 - 2, log=True, whole=True),
        "min_child_samples": Range(2, 2**7, log=True, whole=True),
        "learning_rate": Range(1 / 1024, 1.0, log=True),
        "min_child_weight": Range(0.0, 1.0),
        "tau": [10, 13],
        "mu": Range(0.1, 10.0),
    }


@pytest.mark.parametrize(
    ("objective", "has"),
    [
        ("lambdarank-ndcg", {"tau": [5, 8, 1000]}),
        ("lambdarank", {"tau": [5, 8, 1000]}),
        ("lambdaloss-bndcg", {"tau": [5, 8, 1000]}),
        ("lambdarank-p@k", {"tau": [5, 8]}),
        ("lambdagap-s", {"tau": [5, 8]}),
        ("lambdagap-s++", {"tau": [5, 8], "mu": Range(0.1, 10.0)}),
        ("preferences", {}),
        (
            {"name": "lambdagap-x+", "k": 5},
            {"objective.tau": [5, 8], "objective.mu": Range(0.1, 10.0)},
        ),
        ({"name": "lambdagap-x+", "k": 5, "mu": 2.0}, {"objective.tau": [5, 8]}),
        (
            {"mix": [{"name": "ranknet"}, {"name": "lambdarank-ndcg", "weight": 2.0}]},
            {"objective.mix.1.weight": Range(0.1, 10.0)},
        ),
        (
            {"graded": ["ranknet", {"name": "ranknet", "source": "a"}], "weights": [0.8, 0.2]},
            {"objective.weights.1": Range(0.0, 1.0)},
        ),
    ],
)
def test_conditions(objective: Any, has: dict[str, Any]) -> None:
    found = default_space({"objective": objective, "k": 5})
    assert {name: one for name, one in found.items() if name not in default_space({})} == {
        name: one for name, one in has.items() if name not in default_space({})
    }
    assert found | has == found


def test_strategies() -> None:
    found = default_space({"objective": "lambdaloss-ex++ static", "k": 5})["objective"]
    assert found == [
        f"LambdaLoss-eX++ {one}" for one in ("static", "random", "all", "all-static", "all-random")
    ]
    binary = default_space({"objective": "LambdaMART-eX all bin", "k": 5})["objective"]
    assert binary == [f"LambdaMART-eX {one} bin" for one in STRATEGIES[:3]]


def test_what_is_given_is_not_searched() -> None:
    assert "learning_rate" not in default_space({"learning_rate": 0.1})


def test_the_start_is_the_settings_as_they_are() -> None:
    aim = {"mix": [{"name": "ranknet"}, {"name": "lambdarank-ndcg", "weight": 3.0}]}
    space = default_space({"objective": aim})
    assert start_of(space, {"objective": aim}) == {
        "num_leaves": 31,
        "min_child_samples": 20,
        "learning_rate": 0.1,
        "min_child_weight": 1e-3,
        "objective.mix.1.weight": 3.0,
    }
    given = {"objective": "lambdamart-ex all-static", "k": 5}
    assert start_of(default_space(given), given)["objective"] == "LambdaMART-eX all-static"
    assert start_of({"tau": [5, 8]}, {"k": 8})["tau"] == 8
    assert start_of({"max_bin": Range(15, 255, whole=True)}, {})["max_bin"] == 135  # not known


def test_values_go_into_the_objective() -> None:
    aim = {"mix": [{"name": "ranknet"}, {"name": "lambdarank-ndcg", "weight": 3.0}]}
    found = place({"objective": aim, "k": None}, {"objective.mix.1.weight": 0.5})
    assert found["objective"]["mix"][1]["weight"] == 0.5
    assert aim["mix"][1]["weight"] == 3.0
    with pytest.raises(rf.RankforceError, match=r"mix.7.weight: the objective has"):
        place({"objective": aim}, {"objective.mix.7.weight": 1.0})


def test_mu_goes_only_where_it_is_known() -> None:
    point = {"objective": "ranknet", "mu": 2.0}
    assert "mu" not in place({}, point)
    assert place({}, point | {"objective": "lambdagap-x+"})["mu"] == 2.0


def test_draws_are_spread_as_said() -> None:
    space = read_space(
        {
            "a": {"low": 1, "high": 1000, "log": True},
            "b": {"low": 1, "high": 4, "whole": True},
            "c": ["x", "y"],
        }
    )
    search = RandomSearch(space, {}, 0)
    points = [search.ask(number) for number in range(1, 1001)]
    assert abs(np.mean([np.log10(point["a"]) for point in points]) - 1.5) < 0.1
    counts = np.bincount([point["b"] for point in points], minlength=5)
    assert counts[0] == 0
    assert counts[1:].min() > 200
    assert {point["c"] for point in points} == {"x", "y"}


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({}, "it must be a table of ranges and choices"),
        (
            {"a": []},
            "it must be a list of choices, or a table with low and high",
        ),
        ({"a": 5}, "space.a is 5"),
        ({"a": {"low": 1, "high": 2, "steps": 3}}, "space.a is "),
        ({"a": {"low": 2, "high": 1}}, "space.a goes from 2 to 1: it must go up"),
        ({"a": {"low": 0, "high": 1, "log": True}}, "with log from above 0"),
        ({"a": {"low": "x", "high": 1}}, "space.a.low is 'x': it must be a finite number"),
    ],
)
def test_mistakes(space: Any, words: str) -> None:
    with pytest.raises(rf.RankforceError, match=words):
        read_space(space)
