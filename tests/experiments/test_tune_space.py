"""What is searched: the published space, a user's own, and where its values go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.experiments.search import RandomSearch, make_searcher
from rankforce.experiments.space import Range, default_space, place, read_space, start_of
from rankforce.studies.papers import printed

TABLE = printed("001", "7")  # Adalia et al. 2025
STRATEGIES = ["static", "random", "all", "all-static", "all-random"]


def chosen(parameter: str) -> list[dict[str, Any]]:
    """What tuning chose for a parameter: Tables A1 to A3."""
    return [
        one
        for table in ("A1", "A2", "A3")
        for one in printed("001", table).find(parameter=parameter)
    ]


def test_the_published_space() -> None:
    """Table 7, where upper ends of integers are left out; mu and 1,000 are of section 6.4."""
    found = default_space({"objective": "lambdaloss-ndcg++", "k": 10})
    assert found.pop("tau") == [10, 10 + 3]
    assert TABLE.value(parameter="tau", measure="low") == "k"
    assert TABLE.value(parameter="tau", measure="high") == "k+3"
    assert {*found, "tau"} == {one["parameter"] for one in TABLE.records}
    for name, one in found.items():
        assert isinstance(one, Range)
        kind, low, high = (
            TABLE.find(parameter=name, measure=measure)[0]
            for measure in ("distribution", "low", "high")
        )
        assert (one.log, one.whole) == ("log" in kind["value"], "int" in kind["value"])
        assert one.low == low["value"]
        if high["is_certain"]:
            assert one.high == high["value"] - one.whole
        else:
            assert one.high == max(setting["value"] for setting in chosen(name))


def test_only_one_end_is_uncertain() -> None:
    unsure = [one["parameter"] for one in TABLE.records if not one["is_certain"]]
    assert unsure == ["min_child_weight"]
    assert [one["value"] for one in chosen("min_child_weight")].count(0.1) == 2


@pytest.mark.parametrize(
    "name", ["num_leaves", "min_child_samples", "learning_rate", "min_child_weight", "mu"]
)
def test_chosen_settings_lie_in_the_space(name: str) -> None:
    one = default_space({"objective": "lambdaloss-ndcg++", "k": 10})[name]
    assert isinstance(one, Range)
    values = [setting["value"] for setting in chosen(name)]
    assert len(values) >= 3 * 24
    assert [value for value in values if not one.low <= value <= one.high] == []


def test_a_chosen_tau_is_one_of_the_choices() -> None:
    for one in chosen("tau"):
        space = default_space({"objective": one["algorithm"], "k": one["k"]})
        # RankNet and ARP have no tau here; which strategy of Lambda-eX was chosen is not printed.
        assert one["value"] in space.get("tau", [one["k"], one["k"] + 3])


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


@pytest.mark.parametrize("searcher", ["optuna", "flaml", "random"])
def test_infinity_is_a_choice_of_tau(searcher: str) -> None:
    space = {"tau": [5, math.inf], "num_leaves": Range(3, 9, whole=True), "mu": Range(0.0, 1.0)}
    search = make_searcher(searcher, space, {"tau": 5, "num_leaves": 3, "mu": 0.5}, 0)
    found = []
    for number in range(12):
        point = search.ask(number)
        search.tell(number, point, float(number % 3))
        found.append(point["tau"])
    assert {*found} == {5, math.inf}


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
