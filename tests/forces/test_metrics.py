"""Objectives and metrics meet: each knows the other, and one definition serves both."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from rankforce.training.watch import default_metric, make_metrics

# What the rest is for, by the papers; all others are for NDCG.
PRECISION = {"LambdaRank-P@k", "LambdaRank-ARPbk", "BinRankNet"} | {
    f"LambdaGap-{letter}{plus}" for letter in "SX" for plus in ("", "+", "++")
}
BINARY = {f"{name}BNDCG{plus}" for name, plus in (("LambdaRank-", ""), ("LambdaLoss-", ""))} | {
    "LambdaLoss-BNDCG++"
}
ENTRIES = {entry.name: entry for entry in rf.objectives()}
SUMS = [entry for entry in rf.metrics() if entry.name not in ("MAP", "MRR", "ERR")]


def metric_for(name: str, k: int) -> rf.Metric:
    if name.startswith("lambdarank("):
        wanted = name.removeprefix("lambdarank(").removesuffix(")")
        return rf.metric(wanted) if wanted in ("rbp", "arp") else rf.metric(wanted, k=k)
    if name in PRECISION:
        return rf.metric("p", k=k)
    return rf.metric("bndcg" if name in BINARY or name.endswith(" bin") else "ndcg", k=k)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_objective_knows_its_metric(name: str) -> None:
    objective = rf.objective(name, k=4) if ENTRIES[name].has_cutoff else rf.objective(name)
    assert objective.metric(7) == metric_for(name, 7)
    assert objective.metric() == metric_for(name, 4 if ENTRIES[name].has_cutoff else 10)
    assert default_metric(objective, 7) == metric_for(name, 7).key
    assert make_metrics(None, objective, k=7) == [metric_for(name, 7)]


@pytest.mark.parametrize(
    ("name", "parameters", "metric"),
    [
        ("lambdarank(rbp)", {"p": 0.5}, "RBP(0.5)"),
        ("lambdarank(rbp(0.6))", {}, "RBP(0.6)"),
        ("lambdarank(arp)", {"gain": "y"}, "ARP(gain=y)"),
        ("lambdarank(err@5)", {"max_label": 4}, "ERR@5(max_label=4)"),
        ("lambdarank(ndcg@3)", {"gain": "y"}, "NDCG@3(gain=y)"),
        ("lambdarank-ndcg", {"gain": "y", "k": 3, "tau": 9}, "NDCG@3(gain=y)"),
        ("lambdarank(p@2)", {}, "P@2"),
    ],
)
def test_a_metric_has_the_parameters_of_its_objective(
    name: str, parameters: dict[str, object], metric: str
) -> None:
    objective = rf.objective(name, **parameters)
    assert objective.metric().name == metric
    assert make_metrics(None, objective, k=None)[0].name == metric


def test_gains_of_ones_own() -> None:
    metric = rf.objective("lambdarank(dcg)", gain=[0, 2, 9]).metric(1)
    assert metric([2.0, 1.0], [2, 0]).tolist() == [9.0]


def test_a_mix_is_for_the_metric_of_its_first_part() -> None:
    first, second = rf.objective("lambdarank(rbp)", p=0.5), rf.objective("lambdagap-s", k=3)
    assert (first + second).metric() == rf.metric("rbp(0.5)")
    assert (second + first).metric() == rf.metric("p@3")
    assert rf.scheduled(second, first).metric(6) == rf.metric("p@6")
    assert rf.graded([second, rf.objective("ranknet", source="click")]).metric() == rf.metric("p@3")


def test_what_is_ones_own_is_watched_by_ndcg() -> None:
    """Whatever its name begins with."""

    def lambdagap(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
        return 1.0

    own = rf.additive("y", lambda rank: 1.0 / rank, name="LambdaRank-Penalty")
    for objective in (own, rf.objective(lambdagap), rf.objective("preferences")):
        assert objective.metric() == rf.metric("ndcg@10")


@pytest.mark.parametrize("entry", SUMS, ids=lambda entry: entry.name)
def test_weights_are_made_of_the_metrics_definition(entry: object) -> None:
    """|value(rank_hi) - value(rank_lo)| and the gain, of what `rf.metric` measures with."""
    k = None if entry.cutoff == "none" else 3
    parameters = {"p": 0.7} if "p" in entry.uses else {}
    definition = rf.metric(entry.name, k=k, **parameters).definition
    objective = rf.objective(f"lambdarank({entry.name})", k=k, **parameters)
    ranks = np.arange(1.0, 9.0)
    value = np.where(ranks <= definition.end, definition.position(ranks), 0.0)
    assert objective.rank_weights(8) == pytest.approx(np.abs(np.subtract.outer(value, value)))
    assert objective.description.gain == definition.gain


def test_every_metric_has_its_objective() -> None:
    for entry in rf.metrics():
        assert rf.objective(f"lambdarank({entry.name})", k=3 if entry.cutoff == "needed" else None)
