"""The objective "auto": every metric gets one that is for it, with the metric's own parameters."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankforce as rf
from rankforce.forces.auto import BUILT, TABLE, Choice, choices, choose_objective, is_auto
from rankforce.forces.named import at_cutoff

METRICS = {entry.name: entry for entry in rf.metrics()}
FORMS = choices()
# Which other metric an objective may be for: those that count the same, or that it bounds.
NEIGHBOURS = {"Recall": "P", "ARPb": "P"}


def made(choice: Choice) -> Any:
    """The objective that a choice describes."""
    return rf.objective(choice.objective, **choice.parameters)


def test_every_metric_has_a_choice_for_each_of_its_forms() -> None:
    for name, entry in METRICS.items():
        assert (name in FORMS) == (entry.cutoff != "needed")
        assert (f"{name}@k" in FORMS) == (entry.cutoff != "none")
    assert {*TABLE} <= {*FORMS}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_chosen_is_for_the_metric(form: str) -> None:
    choice = choose_objective(form.replace("@k", "@4"))
    assert (choice.objective, choice.reason) == FORMS[form][:2]
    name = form.removesuffix("@k")
    k = 4 if "@" in form else None
    fits = made(choice).metric(4)
    aim = NEIGHBOURS.get(name, name)
    assert fits == rf.metric(aim, k=None if METRICS[aim].cutoff == "none" else 4)
    assert choice.parameters.get("k") == k
    assert choice.metric == rf.metric(name, k=k).name


@pytest.mark.parametrize("form", [form for form in FORMS if form not in TABLE])
def test_all_others_are_lambdarank_for_the_metric(form: str) -> None:
    metric = form.removesuffix("@k").lower()
    built = rf.objective(BUILT.objective.format(metric=metric), k=2 if "@" in form else None)
    assert FORMS[form].objective == built.name


@pytest.mark.parametrize(
    ("metric", "objective", "parameters"),
    [
        ("NDCG@10", "LambdaRank-NDCG", {"k": 10, "tau": math.inf}),
        ("ndcg", "LambdaRank-NDCG", {}),
        ("ndcg_cut_7", "LambdaRank-NDCG", {"k": 7, "tau": math.inf}),
        ("ndcg@3(gain=y)", "LambdaRank-NDCG", {"k": 3, "tau": math.inf, "gain": "y"}),
        ("ndcg@3(trec_eval)", "LambdaRank-NDCG", {"k": 3, "tau": math.inf, "gain": "y"}),
        ("p@5", "LambdaGap-S++", {"k": 5}),
        ("recall@5", "LambdaGap-S++", {"k": 5}),
        ("p@5(source=clicks)", "LambdaGap-S++", {"k": 5, "source": "clicks"}),
        ("rbp", "lambdarank(rbp)", {"p": 0.8}),
        ("rbp(0.5)", "lambdarank(rbp)", {"p": 0.5}),
        ("err@3(max_label=5)", "lambdarank(err)", {"k": 3, "max_label": 5.0}),
        ("cg@3(gain=2^y-1)", "lambdarank(cg)", {"k": 3, "gain": "2^y-1"}),
        ("arp(gain=y)", "lambdarank(arp)", {"gain": "y"}),
        ("cndcg@3(source=clicks)", "lambdarank(cndcg)", {"k": 3, "source": "clicks"}),
        (
            "ndcg@3(source=clicks)",
            "LambdaRank-NDCG",
            {"k": 3, "source": "clicks", "tau": math.inf},
        ),
        ("ndcg(source=clicks)", "LambdaRank-NDCG", {"source": "clicks"}),
        (
            rf.metric("ndcg@2", gain=[0, 1, 3]),
            "LambdaRank-NDCG",
            {"k": 2, "tau": math.inf, "gain": (0, 1, 3)},
        ),
        (rf.metric("map@2"), "lambdarank(map)", {"k": 2}),
    ],
)
def test_parameters_of_the_metric_are_those_of_the_objective(
    metric: Any, objective: str, parameters: dict[str, Any]
) -> None:
    choice = choose_objective(metric)
    assert (choice.objective, choice.parameters) == (objective, parameters)
    assert made(choice).arguments.items() >= parameters.items()


@given(metric=st.sampled_from([*FORMS]), at=st.integers(1, 50), k=st.integers(1, 50) | st.none())
def test_the_cutoff_is_the_one_given_or_the_metrics_own(
    metric: str, at: int, k: int | None
) -> None:
    name = metric.replace("@k", f"@{at}")
    choice = choose_objective(name, k)
    is_endless = METRICS[metric.removesuffix("@k")].cutoff == "none"
    own = at if "@" in metric else None
    assert choice.parameters.get("k") == (None if is_endless else k or own)
    has_cutoff = f"{metric}@k" in FORMS and k is not None
    assert choice.objective == FORMS[f"{metric}@k" if has_cutoff else metric].objective
    assert made(choice).name == choice.objective


def test_nothing_but_k_is_known() -> None:
    assert choose_objective() == choose_objective("NDCG")
    assert choose_objective(k=5) == choose_objective("NDCG@5")
    assert choose_objective("p", k=3) == choose_objective("p@3")


def test_a_choice_is_one_line_with_its_reason() -> None:
    line = str(choose_objective("p@5"))
    assert line.startswith("auto: LambdaGap-S++@5 for P@5, as ")
    assert line.endswith(TABLE["P@k"].reason)
    assert "\n" not in line
    assert str(choose_objective("mrr(source=clicks)")).startswith("auto: lambdarank(mrr) on clicks")


def test_where_relevant_means_something_else_is_said() -> None:
    assert choose_objective("p@5(rel=2)").reason.endswith("all labels above 0 for relevant")
    assert choose_objective("p@5(rel=2)").objective == choose_objective("p@5").objective


@pytest.mark.parametrize("k", [None, 4])
def test_a_function_gets_what_ndcg_gets_and_hears_why(k: int | None) -> None:
    def ndcg(scores: Any, labels: Any) -> float:  # a name of its own says nothing about it
        return 0.5

    choice, usual = choose_objective(ndcg, k), choose_objective("NDCG", k)
    assert (choice.objective, choice.parameters) == (usual.objective, usual.parameters)
    assert choice.reason == (
        "nothing is known of a function but its values, and NDCG is the nearest: " + usual.reason
    )
    of_clicks = choose_objective(rf.metric(ndcg, source="clicks"), k)
    assert of_clicks.parameters["source"] == "clicks"


def test_a_sum_of_ones_own_is_its_own_objective() -> None:
    top = rf.additive("y", lambda rank: 1.0 if rank <= 2 else 0.0, name="top two", cutoff=2)
    for given_as in (top, rf.metric(top)):
        choice = choose_objective(given_as)
        assert choice.objective is top
        assert str(choice) == "auto: top two for top two, as it is LambdaRank for this very metric"


def test_an_objective_that_is_no_metric_is_refused() -> None:
    with pytest.raises(rf.RankforceError, match="RankNet is an objective and no metric"):
        choose_objective(rf.objective("ranknet"))


@pytest.mark.parametrize("name", ["auto", "AUTO", " Auto "])
def test_auto_is_no_objective_by_itself(name: str) -> None:
    assert is_auto(name)
    for make in (rf.objective, lambda one: at_cutoff(one, 5), lambda one: rf.mix([(1.0, one)])):
        with pytest.raises(rf.RankforceError, match=r"'auto' follows from a metric.*eval_metric="):
            make(name)


@pytest.mark.parametrize("other", ["automatic", "ranknet", None, 3, {"name": "auto"}])
def test_nothing_else_is_auto(other: Any) -> None:
    assert not is_auto(other)
