"""Mixed objectives: sums of forces, operators, nesting, names, tables, second derivatives."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.experiments.train import read_config
from tests import reference as ref
from tests.contract.cases import Floats, assert_close, draw_scores
from tests.reference import tiers
from tests.reference.forces import bump, logistic

NAN = float("nan")
SIZES = (1, 30, 2, 17, 60)
ROWS = sum(SIZES)
RNG = np.random.default_rng(0)
SCORES = np.concatenate([draw_scores(RNG, n, 6.0) for n in SIZES])
LABELS: dict[str, Floats] = {
    "grade": RNG.integers(0, 4, ROWS).astype(np.float64),
    "click": RNG.choice([0.0, 0.125, 0.25, 1.0, NAN], ROWS),
}
QUERIES = [slice(end - size, end) for size, end in zip(SIZES, np.cumsum(SIZES), strict=True)]

NDCG = rf.objective("lambdarank-ndcg", k=3)
RANKNET = rf.objective("ranknet")
CLICKS = rf.objective("lambdarank(cndcg)", source="click")
STD = rf.objective("lambdagap-x", k=2, norm="std")
SIGMOID = rf.objective("lambdaloss-ndcg", cost="sigmoid", center=0.3, norm="none", tau=5)
RANDOM = rf.objective("lambdamart-ex random", k=2, seed=4)
PARTS = [NDCG, RANKNET, CLICKS, STD, SIGMOID, RANDOM]


def forces(one: Any, *, norm: str = "none", iteration: int = 0, **more: Any) -> Floats:
    return np.array(
        one.gradients(SCORES, LABELS, group=SIZES, norm=norm, iteration=iteration, **more)
    )


def halfway(m: int) -> float:
    return 0.5


# Linearity


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("norm", ref.NORMS)
def test_forces_and_hessians_are_weighted_sums(norm: str, threads: int) -> None:
    """Each part keeps its own source, norm, cost, pair set and draws."""
    weights = [0.5, 2.0, 0.3, 1.0, 0.7, 1.5]
    whole = rf.mix(zip(weights, PARTS, strict=True))
    for iteration in (0, 5):
        got = forces(whole, norm=norm, iteration=iteration, threads=threads)
        each = [forces(part, norm=norm, iteration=iteration) for part in PARTS]
        expected = sum(weight * part for weight, part in zip(weights, each, strict=True))
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


def test_naive_mix() -> None:
    """NDCG with the norm of the call, clicks without one."""
    whole = 0.8 * NDCG + 0.2 * rf.objective("ranknet", source="click", norm="none", sigma=2.0)
    lam, hess = forces(whole, norm="lightgbm")
    for rows in QUERIES:
        scores = SCORES[rows].tolist()
        click = LABELS["click"][rows].tolist()
        first = ref.forces(
            ref.weights("LambdaRank-NDCG", scores, LABELS["grade"][rows].tolist(), k=3),
            scores,
            norm="lightgbm",
        )
        second = ref.forces(tiers.tier_weights("RankNet", scores, 0, [click]), scores, sigma=2.0)
        expected = 0.8 * np.array(first) + 0.2 * np.array(second)
        assert_close(lam[rows], expected[0], "lambda")
        assert_close(hess[rows], expected[1], "hess")


def test_a_part_of_weight_1_is_the_objective() -> None:
    for part in PARTS:
        assert np.array_equal(forces(rf.mix([(1.0, part)])), forces(part))
        assert np.array_equal(forces(rf.mix([(0.0, RANKNET), (1.0, part)])), forces(part))


def test_forces_balance() -> None:
    for norm in ref.NORMS:
        lam, hess = forces(sum(PARTS[1:], 0.3 * PARTS[0]), norm=norm)
        assert (hess >= 0).all()
        for rows in QUERIES:
            assert abs(lam[rows].sum()) <= 2e-6 * np.abs(lam[rows]).sum()


def test_number_of_threads_changes_no_bit() -> None:
    rng = np.random.default_rng(1)
    sizes = [*rng.integers(2, 100, 60), 600]
    labels = {"grade": rng.integers(0, 4, sum(sizes)), "click": rng.uniform(size=sum(sizes))}
    scores = rng.normal(size=sum(sizes))
    ready = rf.mix([(0.3, part) for part in PARTS]).prepare(labels, group=sizes)
    one = ready.gradients(scores, norm="lightgbm", iteration=2)
    for threads in (2, 5):
        many = ready.gradients(scores, norm="lightgbm", iteration=2, threads=threads)
        assert np.array_equal(one, many)


def test_calls_in_a_row_do_not_touch_each_other() -> None:
    """The room for parts is used again, the results are not."""
    ready = (NDCG + 0.5 * CLICKS).prepare(LABELS, group=SIZES)
    first = ready.gradients(SCORES)
    kept = [values.copy() for values in first]
    second = ready.gradients(-SCORES)
    assert np.array_equal(first, kept)
    assert not np.array_equal(first[0], second[0])
    assert np.array_equal(ready.gradients(SCORES), kept)


def test_out_is_written_into() -> None:
    whole = NDCG + 0.5 * CLICKS
    out = np.full(ROWS, 7.0), np.full(ROWS, 8.0)
    lam, hess = whole.prepare(LABELS, group=SIZES).gradients(SCORES, out=out)
    assert lam is out[0]
    assert hess is out[1]
    assert np.array_equal(out, forces(whole))
    with pytest.raises(ValueError, match="out must be two float64 arrays"):
        whole.prepare(LABELS, group=SIZES).gradients(SCORES, out=(np.empty(3), np.empty(3)))


def unwell(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return -1.0


def test_weight_0_is_skipped() -> None:
    """Its weights would be refused, were they asked for; its labels must be there all the same."""
    bad = rf.objective(unwell)
    with pytest.raises(ValueError, match="negative or not finite"):
        forces(RANKNET + bad)
    assert np.array_equal(forces(RANKNET + 0.0 * bad), forces(RANKNET))
    moving = rf.scheduled(RANKNET, bad, schedule=lambda m: float(m > 3))
    assert np.array_equal(forces(moving, iteration=3), forces(RANKNET))
    with pytest.raises(ValueError, match="negative or not finite"):
        forces(moving, iteration=4)
    with pytest.raises(ValueError, match="reads the labels 'stars'"):
        forces(RANKNET + 0.0 * rf.objective("ranknet", source="stars"))


def test_all_weights_0() -> None:
    nothing = 0.0 * RANKNET + 0.0 * NDCG
    out = np.full(ROWS, 7.0), np.full(ROWS, 8.0)
    ready = nothing.prepare(LABELS, group=SIZES)
    ready.gradients(SCORES, out=out)
    assert np.array_equal(out, np.zeros((2, ROWS)))
    assert ready.effective_pairs(SCORES).tolist() == [0] * len(SIZES)
    assert [len(part) for part in ready.pairs(SCORES, query=1)] == [0, 0, 0]


# Operators


def test_operators() -> None:
    plain = rf.mix([(1.0, NDCG), (1.0, RANKNET)])
    assert plain == NDCG + RANKNET
    assert rf.mix([(1, "lambdarank-ndcg@3"), (1, "ranknet")]) == plain
    assert 2 * NDCG == NDCG * 2 == NDCG * np.float32(2.0) == np.int64(2) * NDCG
    assert 0.5 * (2.0 * NDCG) == 1.0 * NDCG == rf.mix([(1.0, NDCG)])
    assert (NDCG + RANKNET) + CLICKS == NDCG + (RANKNET + CLICKS)
    assert 3.0 * (NDCG + RANKNET) == 3.0 * NDCG + 3.0 * RANKNET
    assert NDCG.mixed(RANKNET, weight=0.25) == 0.75 * NDCG + 0.25 * RANKNET
    assert (NDCG + RANKNET).mixed(CLICKS, weight=0.5) == 0.5 * NDCG + 0.5 * RANKNET + 0.5 * CLICKS
    assert NDCG.mixed(RANKNET, weight=0).weights(0) == [1.0, 0.0]
    assert NDCG.mixed(RANKNET, weight=1).weights(0) == [0.0, 1.0]


def test_names_and_tables_are_objectives_too() -> None:
    expected = rf.mix([(1.0, RANKNET), (2.0, NDCG)])
    assert (
        rf.mix([(1.0, {"name": "ranknet"}), (2.0, {"name": "lambdarank-ndcg", "k": 3})]) == expected
    )
    assert rf.mix(iter([(1.0, "RankNet"), (2.0, NDCG)])) == expected
    assert rf.scheduled("ranknet", {"name": "lambdarank-ndcg", "k": 3}) == rf.scheduled(
        RANKNET, NDCG
    )


@pytest.mark.parametrize(
    "what",
    [
        lambda: NDCG + 1,
        lambda: 1 + NDCG,
        lambda: NDCG + "ranknet",
        lambda: NDCG * NDCG,
        lambda: NDCG * True,
        lambda: NDCG * None,
        lambda: "2" * NDCG,
        lambda: NDCG - RANKNET,
    ],
)
def test_what_cannot_be_added_or_multiplied(what: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        what()


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_weights_are_finite_and_not_negative(weight: float) -> None:
    for make in (lambda: weight * NDCG, lambda: rf.mix([(weight, NDCG)])):
        with pytest.raises(ValueError, match=r"weight is .*: it must be a finite number from 0 up"):
            make()


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan, "half", None])
def test_shares_lie_from_0_to_1(weight: Any) -> None:
    with pytest.raises(ValueError, match="weight is "):
        NDCG.mixed(RANKNET, weight=weight)


@pytest.mark.parametrize("terms", [5, "ranknet", NDCG, {"name": "ranknet"}])
def test_a_mix_is_a_list(terms: Any) -> None:
    with pytest.raises(ValueError, match=r"mix is .*: it must be a list of objectives"):
        rf.mix(terms)


@pytest.mark.parametrize("term", ["ranknet", NDCG, (1.0,), (1.0, NDCG, 2.0), 3.0])
def test_a_part_is_a_weight_and_an_objective(term: Any) -> None:
    with pytest.raises(ValueError, match=r"a part of a mix is .*: it must be a weight and"):
        rf.mix([term])


def test_a_mix_of_nothing() -> None:
    with pytest.raises(ValueError, match="there is no objective to mix"):
        rf.mix([])


# Nesting


GRADED = rf.graded([NDCG, CLICKS], weights=[0.7, 0.3])
MOVING = rf.scheduled(RANKNET, STD, schedule="linear", start=0.1, rate=0.2)


def test_mix_of_graded_and_scheduled() -> None:
    whole = 0.5 * GRADED + 2.0 * MOVING
    for iteration, w in enumerate([0.1, 0.3, 0.5, 0.7, 0.9, 1.0]):
        weights = [0.5 * 0.7, 0.5 * 0.3, 2.0 * (1.0 - w), 2.0 * w]
        assert whole.weights(iteration) == pytest.approx(weights, abs=1e-12)
        got = forces(whole, norm="lightgbm", iteration=iteration)
        expected = 0.5 * forces(GRADED, norm="lightgbm")
        expected = expected + 2.0 * forces(MOVING, norm="lightgbm", iteration=iteration)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


def test_schedule_of_graded_objectives() -> None:
    """A tier stays a tier, whatever stands around it."""
    whole = rf.scheduled(GRADED, 2.0 * MOVING, schedule=halfway)
    assert [part.above for part in whole.parts] == [(), (None,), (), ()]
    got = forces(whole, iteration=3)
    expected = 0.5 * forces(GRADED) + forces(MOVING, iteration=3)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


def test_deep_nesting() -> None:
    deep = GRADED
    for _ in range(4):
        deep = 0.5 * (deep + deep)
    assert len(deep.parts) == 32
    np.testing.assert_allclose(forces(deep), forces(GRADED), rtol=1e-12, atol=1e-15)


# Names


@pytest.mark.parametrize(
    ("objective", "name"),
    [
        (NDCG + RANKNET, "LambdaRank-NDCG@3 + RankNet"),
        (0.7 * NDCG + 0.3 * CLICKS, "0.7 LambdaRank-NDCG@3 + 0.3 lambdarank(cndcg) on click"),
        (2 * RANKNET, "2 RankNet"),
        (1 * rf.objective("lambdarank-p@k", k=5), "LambdaRank-P@5"),
        (
            rf.graded(["ranknet", CLICKS], weights=[1, 0.25]),
            "RankNet + 0.25 lambdarank(cndcg) on click within label",
        ),
        (
            rf.graded(
                [RANKNET, CLICKS, rf.objective("ranknet", source="third")], weights=[1, 1, 1]
            ),
            "RankNet + lambdarank(cndcg) on click within label"
            " + RankNet on third within label, click",
        ),
        (MOVING, "(1 - w) RankNet + w LambdaGap-X@2"),
        (0.5 * MOVING, "0.5 (1 - w) RankNet + 0.5 w LambdaGap-X@2"),
    ],
)
def test_names(objective: rf.Mixed, name: str) -> None:
    assert objective.name == name


def test_the_first_part_speaks_for_the_mix() -> None:
    whole = RANDOM + RANKNET
    assert whole.seed == 4
    assert whole.arguments == {"k": 2, "seed": 4}


# Equality, text, files


def my_weight(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return 1.0 / rank_hi


def my_value(rank: int) -> float:
    return 1.0 / rank


MIXES: dict[str, rf.Mixed] = {
    "sum": NDCG + RANKNET,
    "one": 2.5 * NDCG,
    "weights": 0.7 * NDCG + 0.3 * CLICKS,
    "untruncated": 1.0 * rf.objective("lambdarank-ndcg", k=3, tau=math.inf),
    "costs": SIGMOID + 0.5 * rf.objective("ranknet", sigma=2.0, norm="std"),
    "gains": rf.objective("lambdarank-ndcg", gain=[0, 1, 3, 7, 20], tau=4)
    + rf.objective("lambdarank(dcg)", gain={0: 0, 1: 1, 2: 2, 3: 9}, k=2),
    "random": RANDOM + RANKNET,
    "preferences": RANKNET + 0.5 * rf.objective("preferences", sigma=2.0, norm="none"),
    "graded": rf.graded([NDCG, CLICKS], weights=[0.8, 0.2], leave_out_zeros=False),
    "usual graded": rf.graded([NDCG, CLICKS]),
    "linear": MOVING,
    "exponential": rf.scheduled(NDCG, SIGMOID, schedule="exponential", start=0.25, rate=250),
    "nested": 0.5 * GRADED + 2.0 * MOVING,
    "mix of mixes": 0.5 * (NDCG + 2.0 * RANKNET) + (0.1 * CLICKS).mixed(STD, weight=0.3),
    "scheduled mixes": rf.scheduled(GRADED, NDCG + MOVING, start=0.1),
}
OF_FUNCTIONS: dict[str, rf.Mixed] = {
    "pair weight": RANKNET + 0.5 * rf.objective(my_weight),
    "metric": rf.additive("y", my_value) + RANKNET,
    "gain": 1.0 * rf.objective("lambdarank-ndcg", gain=np.exp2),
    "schedule": rf.scheduled(RANKNET, NDCG, schedule=halfway),
    "schedule inside": 0.5 * rf.scheduled(RANKNET, NDCG, schedule=halfway) + RANKNET,
}


@pytest.mark.parametrize("objective", MIXES.values(), ids=MIXES)
def test_text_is_what_makes_it(objective: rf.Mixed) -> None:
    again = eval(repr(objective), {"rf": rf})
    assert again == objective
    assert hash(again) == hash(objective)
    assert repr(again) == repr(objective)
    assert again.name == objective.name


@pytest.mark.parametrize("objective", (MIXES | OF_FUNCTIONS).values(), ids=(MIXES | OF_FUNCTIONS))
def test_pickle(objective: rf.Mixed) -> None:
    again = pickle.loads(pickle.dumps(objective))
    assert again == objective
    assert hash(again) == hash(objective)
    assert repr(again) == repr(objective)
    if "Preferences" not in objective.name:
        assert np.array_equal(forces(again, iteration=3), forces(objective, iteration=3))


@pytest.mark.parametrize("objective", MIXES.values(), ids=MIXES)
def test_tables_through_json(objective: rf.Mixed) -> None:
    table = json.loads(json.dumps(objective.table()))
    again = rf.objective(table)
    assert again == objective
    assert again.table() == objective.table()
    if "Preferences" not in objective.name:
        assert np.array_equal(forces(again, iteration=3), forces(objective, iteration=3))


def to_toml(value: Any) -> str:
    """As one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {to_toml(entry)}' for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, str) else repr(value)


@pytest.mark.parametrize("objective", MIXES.values(), ids=MIXES)
def test_tables_through_toml(objective: rf.Mixed, tmp_path: Path) -> None:
    place = tmp_path / "run.toml"
    place.write_text(f"objective = {to_toml(objective.table())}\n")
    assert rf.objective(read_config(place)["objective"]) == objective


def test_a_configuration_as_one_writes_it(tmp_path: Path) -> None:
    place = tmp_path / "run.toml"
    place.write_text("""
        [objective]
        weights = [0.8, 0.2]
        leave_out_zeros = true

        [[objective.graded]]
        name = "LambdaRank-NDCG"
        k = 3

        [[objective.graded]]
        name = "lambdarank(cndcg@5)"
        source = "click"
    """)
    expected = rf.graded(
        [NDCG, rf.objective("lambdarank(cndcg)", k=5, source="click")], weights=[0.8, 0.2]
    )
    assert rf.objective(read_config(place)["objective"]) == expected


@pytest.mark.parametrize("part", [*PARTS, rf.objective("preferences", sigma=0.5)], ids=str)
def test_table_of_one_objective(part: Any) -> None:
    assert rf.objective(json.loads(json.dumps(part.table()))) == part


def test_tables_have_the_canonical_names() -> None:
    assert (0.5 * rf.objective("lambdamart", k=3)).table() == {
        "mix": [{"weight": 0.5, "name": "LambdaRank-NDCG", "k": 3}]
    }
    assert rf.graded(["rankmart", CLICKS]).table() == {
        "graded": [{"name": "RankNet"}, {"name": "lambdarank(cndcg)", "source": "click"}],
        "weights": [0.5, 0.5],
        "leave_out_zeros": True,
    }
    assert rf.scheduled("rankmart", NDCG).table() == {
        "scheduled": [{"name": "RankNet"}, {"name": "LambdaRank-NDCG", "k": 3}],
        "schedule": "linear",
        "start": 0.0,
        "rate": 0.01,
    }


def test_a_mix_of_mixes_is_one() -> None:
    """What a sum of several was made from, not the order in which it was typed."""
    whole = 0.5 * (NDCG + 2.0 * RANKNET) + CLICKS
    assert repr(whole) == f"rf.mix([(0.5, {NDCG!r}), (1.0, {RANKNET!r}), (1.0, {CLICKS!r})])"
    assert [part["weight"] for part in whole.table()["mix"]] == [0.5, 1.0, 1.0]


def test_tables_are_copies() -> None:
    objective = rf.graded(["ranknet", CLICKS])
    before = json.dumps(objective.table())
    table = objective.table()
    table["graded"][0]["name"] = "another"
    table["weights"][0] = 9.0
    one = rf.objective("lambdarank-ndcg", k=3).table()
    one["k"] = 5
    assert rf.objective("lambdarank-ndcg", k=3).table()["k"] == 3
    assert json.dumps(objective.table()) == before


@pytest.mark.parametrize("objective", OF_FUNCTIONS.values(), ids=OF_FUNCTIONS)
def test_functions_have_no_table(objective: rf.Mixed) -> None:
    with pytest.raises(ValueError, match="cannot be written as a table"):
        objective.table()


def test_what_differs_is_not_equal() -> None:
    others = [*MIXES.values(), *OF_FUNCTIONS.values()]
    for number, one in enumerate(others):
        assert [one == other for other in others] == [i == number for i in range(len(others))]
    assert 0.5 * NDCG != NDCG
    assert 1.0 * NDCG != NDCG
    assert NDCG + RANKNET != RANKNET + NDCG
    assert rf.graded([NDCG, CLICKS]) != 0.5 * NDCG + 0.5 * CLICKS
    assert rf.graded([NDCG, CLICKS]) != rf.graded([NDCG, CLICKS], leave_out_zeros=False)
    assert rf.scheduled(NDCG, CLICKS) != rf.scheduled(CLICKS, NDCG)
    assert rf.scheduled(NDCG, CLICKS) != rf.scheduled(NDCG, CLICKS, rate=0.02)
    assert NDCG + RANKNET != "LambdaRank-NDCG@3 + RankNet"
    assert rf.objective("ranknet", source="a") != rf.objective("ranknet", source="b")
    assert rf.objective("ranknet", norm="std") != rf.objective("ranknet")


# Wrong tables


ONE, TWO = {"name": "ranknet"}, {"name": "ranknet", "source": "click"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({}, "says neither name, mix, graded nor scheduled"),
    "no name": ({"k": 3}, "says neither name, mix, graded nor scheduled"),
    "an unknown name": ({"name": "rank net 2"}, "unknown objective 'rank net 2'"),
    "a name that is no text": ({"name": 5}, "name must be a text, got 5"),
    "an unknown parameter": ({"name": "ranknet", "kk": 3}, "'kk'"),
    "a parameter of others": (
        {"name": "ranknet", "tau": 3},
        "has no parameter 'tau': it has k, sigma, seed, cost, center, source, norm",
    ),
    "a wrong norm": ({"name": "ranknet", "norm": "l2"}, "norm is 'l2': choose 'none'"),
    "a wrong source": ({"name": "ranknet", "source": 5}, "source is 5: it must be the name"),
    "an empty source": ({"name": "ranknet", "source": ""}, "source is ''"),
    "no list": ({"mix": ONE}, r"mix is \{'name': 'ranknet'\}: it must be a list"),
    "a text": ({"graded": "ranknet"}, "graded is 'ranknet': it must be a list"),
    "no parts": ({"mix": []}, "there is no objective to mix"),
    "a part without a table": ({"mix": ["ranknet"]}, "a part of a mix is 'ranknet': .* table"),
    "a wrong weight": ({"mix": [ONE | {"weight": "a"}]}, "weight is 'a': it must be a finite"),
    "a negative weight": ({"mix": [ONE | {"weight": -1}]}, "weight is -1: it must be a finite"),
    "weights of a mix": ({"mix": [ONE], "weights": [1]}, "with 'mix' has no weights"),
    "one tier": ({"graded": [ONE]}, "two tiers or more, got 1"),
    "a tier twice": ({"graded": [ONE, ONE]}, "two tiers read the labels 'label'"),
    "few weights": ({"graded": [ONE, TWO], "weights": [1]}, "1 weights for 2 tiers"),
    "one weight": ({"graded": [ONE, TWO], "weights": 1}, "weights is 1: it must be a list of"),
    "zeros": ({"graded": [ONE, TWO], "leave_out_zeros": "no"}, "leave_out_zeros is 'no'"),
    "a tier that is a mix": ({"graded": [ONE, {"mix": [TWO]}]}, "a tier is one objective"),
    "a weight of a tier": ({"graded": [ONE, TWO | {"weight": 1}]}, "'weight'"),
    "one of two": ({"scheduled": [ONE]}, "scheduled has 1 objectives"),
    "three of two": ({"scheduled": [ONE] * 3}, "scheduled has 3 objectives"),
    "an unknown schedule": (
        {"scheduled": [ONE, TWO], "schedule": "cubic"},
        "schedule is 'cubic': choose 'linear' or 'exponential'",
    ),
    "a wrong start": ({"scheduled": [ONE, TWO], "start": 2}, "start is 2: .* from 0 to 1"),
    "a wrong rate": ({"scheduled": [ONE, TWO], "rate": "a"}, "rate is 'a': it must be"),
    "another option": (
        {"scheduled": [ONE, TWO], "schedule": "linear", "rat": 1},
        "an objective with 'scheduled' has no rat$",
    ),
    "two at once": ({"mix": [ONE], "graded": [ONE, TWO]}, "with 'mix' has no graded"),
    "a name too": ({"mix": [ONE], "name": "ranknet"}, "with 'mix' has no name"),
}


@pytest.mark.parametrize(("table", "message"), WRONG.values(), ids=WRONG)
def test_wrong_tables(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        rf.objective(table)
    assert "\n" not in str(caught.value)


def test_tables_stay_as_they_were() -> None:
    table = {"mix": [{"name": "ranknet", "weight": 2.0}, {"graded": [ONE, TWO], "weights": [1, 2]}]}
    before = json.dumps(table)
    rf.objective(table)
    assert json.dumps(table) == before


@pytest.mark.parametrize(
    "given", [{"k": 3}, {"sigma": 2.0}, {"norm": "std"}, {"source": "a"}, {"seed": 3}]
)
def test_parameters_beside_a_table(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"the objective is a table: {next(iter(given))} belongs"):
        rf.objective(ONE, **given)


def test_norms_in_any_case() -> None:
    assert rf.objective("ranknet", norm="STD") == rf.objective("ranknet", norm="std")
    shouted = rf.additive("y", my_value, norm="LightGBM")
    expected = rf.additive("y", my_value).gradients([1, 2, 3], [0, 1, 2], norm="lightgbm")
    assert np.array_equal(shouted.gradients([1, 2, 3], [0, 1, 2]), expected)


# Labels of all kinds


def test_arrays_dictionaries_and_data_are_the_same() -> None:
    qid = np.random.default_rng(3).permutation(np.repeat(range(len(SIZES)), SIZES))
    data = rf.RankingData(
        np.zeros((ROWS, 1)), LABELS["grade"], qid=qid, sources={"click": LABELS["click"]}
    )
    whole = 0.7 * NDCG + 0.3 * CLICKS
    expected = whole.gradients(SCORES, LABELS, qid=qid)
    assert np.array_equal(whole.gradients(SCORES, data), expected)
    assert np.array_equal(whole.prepare(data).gradients(SCORES), expected)
    graded = GRADED.gradients(SCORES, LABELS, qid=qid, norm="lightgbm")
    assert np.array_equal(GRADED.gradients(SCORES, data, norm="lightgbm"), graded)
    plain = NDCG.gradients(SCORES, LABELS["grade"], qid=qid)
    assert np.array_equal(NDCG.gradients(SCORES, data), plain)
    assert np.array_equal(NDCG.gradients(SCORES, LABELS, qid=qid), plain)
    counts = whole.effective_pairs(SCORES, LABELS, qid=qid)
    assert np.array_equal(whole.effective_pairs(SCORES, data), counts)
    for how in ({"group": SIZES}, {"qid": qid}):
        with pytest.raises(ValueError, match="the data knows its queries"):
            whole.gradients(SCORES, data, **how)


def test_a_source_that_the_data_does_not_have() -> None:
    data = rf.RankingData(np.zeros((3, 1)), [0, 1, 2], group=[3], sources={"click": [0, 0, 1]})
    with pytest.raises(ValueError, match="'stars'"):
        rf.objective("ranknet", source="stars").gradients([1, 2, 3], data)


def test_the_first_of_a_dictionary_is_the_usual_source() -> None:
    labels = {"b": [0, 1], "a": [1, 0]}
    assert rf.objective("ranknet").gradients([0, 0], labels)[0].tolist() == [-0.5, 0.5]
    named = rf.objective("ranknet", source="a").gradients([0, 0], labels)[0]
    assert named.tolist() == [0.5, -0.5]


def test_scores_are_checked() -> None:
    whole = NDCG + 0.5 * CLICKS
    with pytest.raises(ValueError, match="scores have shape"):
        whole.gradients(SCORES[1:], LABELS, group=SIZES)
    with pytest.raises(ValueError, match="score of row 3 is nan"):
        whole.gradients(np.where(np.arange(ROWS) == 3, NAN, SCORES), LABELS, group=SIZES)
    with pytest.raises(ValueError, match="unknown norm 'l2'"):
        forces(whole, norm="l2")


# Pairs and counts


@pytest.mark.parametrize("iteration", [0, 2, 9])
def test_pairs_are_those_of_the_parts(iteration: int) -> None:
    """One after the other, weights multiplied; a part of weight 0 has none."""
    whole = 0.5 * GRADED + 2.0 * MOVING
    ready = whole.prepare(LABELS, group=SIZES)
    counts = ready.effective_pairs(SCORES, iteration=iteration)
    for query in range(len(SIZES)):
        hi, lo, weight = ready.pairs(SCORES, query=query, iteration=iteration)
        assert counts[query] == len(hi) == len(lo) == len(weight)
        assert (weight > 0).all()
        parts = [rf.graded([NDCG, CLICKS], weights=one) for one in ([1, 0], [0, 1])]
        expected = [
            (share, part.prepare(LABELS, group=SIZES).pairs(SCORES, query=query))
            for share, part in zip(whole.weights(iteration), [*parts, RANKNET, STD], strict=True)
            if share > 0
        ]
        assert np.array_equal(hi, np.concatenate([pairs.hi for _, pairs in expected]))
        assert np.array_equal(lo, np.concatenate([pairs.lo for _, pairs in expected]))
        weights = np.concatenate([share * pairs.weight for share, pairs in expected])
        np.testing.assert_allclose(weight, weights, rtol=1e-14)


def test_pairs_of_one_query() -> None:
    hi, lo, weight = (2.0 * RANKNET + rf.objective("ranknet", source="b")).pairs(
        [1, 2], {"a": [1, 0], "b": [0, 1]}
    )
    assert (hi.tolist(), lo.tolist(), weight.tolist()) == ([0, 1], [1, 0], [2.0, 1.0])
    with pytest.raises(ValueError, match="query is 5: there are 1 queries"):
        (RANKNET + NDCG).prepare([1, 0]).pairs([1, 2], query=5)


# Second derivatives within leaves


def shared(
    W: Any, scores: list[float], leaf: list[int], norm: str, sigma: float, weight: list[float]
) -> Floats:
    """For each leaf, hessians of pairs with both documents in it, twice, once for each document."""
    n, total = len(scores), 0.0
    found = np.zeros(max(leaf) + 1)
    for hi in range(n):
        for lo in range(n):
            x = scores[hi] - scores[lo]
            pair = W[hi][lo]
            if norm == "lightgbm" and max(scores) != min(scores):
                pair = pair / (0.01 + abs(x))
            total += 2.0 * sigma * logistic(sigma * x) * pair
            if leaf[hi] == leaf[lo]:
                found[leaf[hi]] += sigma**2 * bump(sigma * x) * pair * (weight[hi] + weight[lo])
    if norm == "lightgbm" and total > 0:
        found *= math.log2(1.0 + total) / total
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["none", "lightgbm"])
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_shared_hessians_are_naive_sums(norm: str, weighted: bool, spread: float) -> None:
    """A graded and a scheduled part, with a norm of its own and another sigma."""
    rng = np.random.default_rng(5)
    steep = rf.objective("ranknet", sigma=2.0, norm="none")
    whole = 0.5 * GRADED + rf.scheduled(RANKNET, steep, start=0.3)
    leaf = rng.integers(0, 3, ROWS).astype(np.int32)
    weight = rng.uniform(size=ROWS) if weighted else np.ones(ROWS)
    scores = spread * SCORES
    expected = np.zeros(3)
    for rows in QUERIES:
        some = scores[rows].tolist()
        two = [LABELS["grade"][rows].tolist(), LABELS["click"][rows].tolist()]
        leaves = [*leaf[rows].tolist(), 2]  # so that there is a third
        rest = (leaves[:-1], norm)
        own = weight[rows].tolist()
        naive = ref.weights("RankNet", some, two[0])
        parts = [
            (0.35, tiers.tier_weights("LambdaRank-NDCG", some, 0, two, k=3), norm, 1.0),
            (0.15, tiers.tier_weights("lambdarank(cndcg)", some, 1, two), norm, 1.0),
            (0.7, naive, norm, 1.0),
            (0.3, naive, "none", 2.0),
        ]
        for share, W, how, sigma in parts:
            got = shared(W, some, rest[0], how, sigma, own)
            expected[: len(got)] += share * got
    how = {"norm": norm, "iteration": 0, "row_weight": weight if weighted else None}
    ready = whole.prepare(LABELS, group=SIZES)
    found = [
        ready.shared_hessians(scores, leaf, 3, threads=threads, **how) for threads in (1, 2, 5)
    ]
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_shared_hessians_of_one_leaf_are_all() -> None:
    """Every pair stays inside: what is shared is the sum of all hessians."""
    whole = 0.5 * GRADED + 2.0 * RANKNET
    ready = whole.prepare(LABELS, group=SIZES)
    leaf = np.zeros(ROWS, np.int32)
    for norm in ("none", "lightgbm"):
        _, hess = ready.gradients(SCORES, norm=norm)
        found = ready.shared_hessians(
            SCORES, leaf, 1, norm=norm, iteration=0, row_weight=None, threads=1
        )
        assert found == pytest.approx([hess.sum()], rel=1e-5)
