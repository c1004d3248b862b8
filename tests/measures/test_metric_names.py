"""Names of metrics: the grammar, other tools' spellings, parameters and presets in a name."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rankforce.measures.make import metric, metrics
from rankforce.measures.names import PRESETS, split_names

SPELLINGS = [
    ("nDCG@10", "NDCG@10"),
    ("ndcg", "NDCG"),
    ("NDCG @ 10", "NDCG@10"),
    ("ndcg_cut_10", "NDCG@10"),
    ("ndcg_cut.10", "NDCG@10"),
    ("dcg@5", "DCG@5"),
    ("BNDCG@5", "BNDCG@5"),
    ("cndcg@5", "CNDCG@5"),
    ("P@5", "P@5"),
    ("P_5", "P@5"),
    ("P.5", "P@5"),
    ("pre@5", "P@5"),
    ("prec@5", "P@5"),
    ("precision@5", "P@5"),
    ("map", "MAP"),
    ("AP", "MAP"),
    ("MAP@10", "MAP@10"),
    ("AP@10", "MAP@10"),
    ("map_cut_10", "MAP@10"),
    ("map_cut.10", "MAP@10"),
    ("mean_average_precision", "MAP"),
    ("recip_rank", "MRR"),
    ("RR", "MRR"),
    ("RR@10", "MRR@10"),
    ("MRR", "MRR"),
    ("Recall@5", "Recall@5"),
    ("recall_5", "Recall@5"),
    ("R@100", "Recall@100"),
    ("recall_100", "Recall@100"),
    ("recall.100", "Recall@100"),
    ("ERR@20", "ERR@20"),
    ("err@20", "ERR@20"),
    ("rbp", "RBP(0.8)"),
    ("RBP(0.95)", "RBP(0.95)"),
    ("rbp(p=0.5)", "RBP(0.5)"),
    ("rbp(.5)", "RBP(0.5)"),
    ("RBP(p=0.8)", "RBP(0.8)"),
    ("RBP(p=0.8,rel=1)", "RBP(0.8, rel=1)"),
    ("RBP(rel=2, 0.9)", "RBP(0.9, rel=2)"),
    ("arp", "ARP"),
    ("arpb@3", "ARPb@3"),
    ("ARPbk@3", "ARPb@3"),
    ("P(rel=2)@5", "P@5(rel=2)"),
    ("P@5(rel=2.0)", "P@5(rel=2)"),
    ("p@5 ( REL = 0.5 , Over = K )", "P@5(rel=0.5, over=k)"),
    ("P@5(over=k, rel=2)", "P@5(rel=2, over=k)"),
    ("P_5(rel=2)", "P@5(rel=2)"),
    ("P(k=5, rel=2)", "P@5(rel=2)"),
    ("P@5(over=size)", "P@5"),
    ("P@5(ties=row, score_type=float64)", "P@5"),
    ("AP(rel=2)@10", "MAP@10(rel=2)"),
    ("map(ties=last)", "MAP(ties=last)"),
    ("map_cut_10(over=relevant)", "MAP@10(over=relevant)"),
    ("RR(rel=2)@10", "MRR@10(rel=2)"),
    ("R(rel=2)@100", "Recall@100(rel=2)"),
    ("ndcg@5-", "NDCG@5(no_relevant=0)"),
    ("ndcg@5(no_relevant=0)", "NDCG@5(no_relevant=0)"),
    ("map@5-", "MAP@5"),  # 0 is what it counts anyway
    ("ndcg@5(no_relevant=SKIP)", "NDCG@5(no_relevant=skip)"),
    ("ndcg@5(gain=y)", "NDCG@5(gain=y)"),
    ("ndcg@5(gain=linear, ties=average)", "NDCG@5(gain=y, ties=average)"),
    ("ndcg@5(gain=2^y-1)", "NDCG@5"),
    ("ERR(max_label=4)@20", "ERR@20(max_label=4)"),
    ("NDCG@10(trec_eval)", "NDCG@10(trec_eval)"),
    ("ndcg_cut_10(trec)", "NDCG@10(trec_eval)"),
    ("ndcg@10(preset=Trec_Eval)", "NDCG@10(trec_eval)"),
    ("nDCG(scikit-learn)", "NDCG(sklearn)"),
    ("ndcg@5(lgb)", "NDCG@5(lightgbm)"),
    ("ndcg(xgb)@5-", "NDCG@5(xgboost, no_relevant=0)"),
    ("map@5(xgboost, rel=2)", "MAP@5(xgboost, rel=2)"),
    ("ndcg@10(trec_eval, gain=y, no_relevant=0)", "NDCG@10(trec_eval)"),
    ("ndcg@10(gain=2^y-1, trec_eval)", "NDCG@10(trec_eval, gain=2^y-1)"),
]


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS)
def test_spellings_of_other_tools(spelling: str, name: str) -> None:
    made = metric(spelling)
    assert made.name == name
    assert repr(made) == f"rf.metric('{name}')"
    assert made == metric(name)


def test_parameters_may_stand_beside_the_name() -> None:
    assert metric("ndcg", k=10) == metric("ndcg@10") == metric("ndcg@10", k=10)
    assert metric("arpb@k", k=3) == metric("arpb@3")
    assert metric("rbp", p=0.5) == metric("rbp(0.5)")
    assert metric("ndcg", gain="exp2") == metric("ndcg")
    assert metric("arp", gain="b") == metric("arp")
    assert metric("ndcg", gain="linear") == metric("ndcg", gain="y") != metric("ndcg")
    assert repr(metric("ndcg@3", gain=[0, 1, 3])) == "rf.metric('NDCG@3', gain=(0.0, 1.0, 3.0))"
    assert metric("rbp", p=1e-7) == metric("rbp(1e-07)")
    assert metric("p@5", over="k", rel=2) == metric("P(rel=2)@5", over="K")
    assert metric("P@5(rel=2)", rel=2.0) == metric("P@5(rel=2)", over="size")
    assert metric("ndcg@10", preset="trec") == metric("NDCG@10(trec_eval)")
    assert metric("NDCG@10(trec_eval)", preset="trec_eval") == metric("NDCG@10(trec_eval)")
    assert metric("map", rel=2) != metric("map")
    own = metric("ndcg@3(ties=average)", gain=[0, 1, 3])
    assert repr(own) == "rf.metric('NDCG@3(ties=average)', gain=(0.0, 1.0, 3.0))"


@pytest.mark.parametrize("name", ["ndcg-", "ndcg@10-", "NDCG@10 -", "map-", "ndcg_cut_10-"])
def test_the_minus_of_xgboost(name: str) -> None:
    made = metric(name)
    assert made.no_relevant == 0
    assert made == metric(made.name) == metric(name, no_relevant=0)
    assert made([1.0, 2.0], [0, 0]).tolist() == [0.0]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("nccg@10", {}, r"unknown metric 'nccg@10': did you mean 'NDCG'.*Choose one of NDCG, DCG,"),
    ("ndgc", {}, "did you mean 'NDCG'"),
    ("presicion@5", {}, "did you mean 'P'"),
    ("Rprec", {}, "unknown metric 'Rprec'"),
    ("", {}, "unknown metric ''"),
    ("@5", {}, "unknown metric '@5'"),
    ("ndcg@", {}, "unknown metric 'ndcg@'"),
    ("ndcg@-1", {}, "unknown metric 'ndcg@-1'"),
    ("ndcg@1,3", {}, "unknown metric 'ndcg@1,3'"),
    ("ndcg@5-(xgboost)", {}, "unknown metric 'ndcg@5-"),
    ("ndcg@2.5", {}, "unknown metric 'ndcg@2.5'"),
    ("rbp@3", {}, "RBP has no cutoff, so @3 means nothing"),
    ("RBP(p=0.8)@10", {}, "RBP has no cutoff, so @10 means nothing"),
    ("rbp@0.8", {}, r"unknown metric 'rbp@0.8'.*'RBP\(0.8\)'"),
    ("arp@3", {}, "ARP has no cutoff, so @3 means nothing"),
    ("arp", {"k": 3}, "'ARP' has no parameter 'k': it has no_relevant, gain"),
    ("p", {}, "'P' needs k"),
    ("recall@k", {}, "'Recall' needs k"),
    ("arpb", {}, "'ARPb' needs k"),
    ("ndcg@0", {}, "k is 0: it must be an integer from 1 up"),
    ("ndcg", {"k": -1}, "k is -1"),
    ("ndcg", {"k": 2.5}, "k is 2.5"),
    ("ndcg", {"k": True}, "k is True"),
    ("ndcg@5", {"k": 10}, "'ndcg@5' says k=5, but k=10 was given"),
    ("rbp(0.5)", {"p": 0.8}, "says p=0.5, but p=0.8 was given"),
    ("ndcg-", {"no_relevant": 1}, "says no_relevant=0, but no_relevant=1 was given"),
    ("ndcg", {"p": 0.5}, "'NDCG' has no parameter 'p': it has k, no_relevant, gain"),
    ("ndcg(0.5)", {}, "'NDCG' has no parameter 'p'"),
    ("map", {"gain": "y"}, "'MAP' has no parameter 'gain'"),
    ("bndcg", {"gain": "y"}, "'BNDCG' has no parameter 'gain'"),
    ("ndcg", {"max_label": 4}, "'NDCG' has no parameter 'max_label'"),
    ("ndcg", {"gain": "cubic"}, "unknown gain 'cubic': choose"),
    ("ndcg", {"no_relevant": 2}, "no_relevant is 2: choose 1, 0 or 'skip'"),
    ("ndcg", {"no_relevant": True}, "no_relevant is True"),
    ("ndcg", {"no_relevant": "nan"}, "no_relevant is 'nan'"),
    ("rbp", {"p": 1.0}, "p is 1.0: it must lie between 0 and 1"),
    ("rbp(0)", {}, "p is 0.0: it must lie between 0 and 1"),
    ("err", {"max_label": -1}, "max_label is -1: it must be a finite number from 0 up"),
    ("err", {"max_label": math.inf}, "max_label is inf"),
    ("ndcg", {"name": "mine"}, "name is for a function of one's own: 'ndcg' has its own"),
    ("ndcg", {"higher_is_better": True}, "higher_is_better is for a function"),
    # Parentheses.
    ("P@5(rel=2", {}, r"'P@5\(rel=2': parentheses open and close once, as in 'P@5\(rel=2, over=k"),
    ("P(rel=2@5", {}, "parentheses open and close once"),
    ("P@5 rel=2)", {}, "parentheses open and close once"),
    ("P@5)rel=2(", {}, "parentheses open and close once"),
    ("P@5((rel=2))", {}, "parentheses open and close once"),
    ("P(rel=2)(over=k)@5", {}, "parentheses open and close once"),
    ("P@5()", {}, r"'P@5\(\)': a parameter is missing in the parentheses"),
    ("P@5(rel=2,)", {}, "a parameter is missing in the parentheses"),
    ("P@5(,)", {}, "a parameter is missing in the parentheses"),
    ("P@5(rel=2, rel=3)", {}, r"^'P@5\(rel=2, rel=3\)' says rel twice$"),
    ("P@5(rel=2, rel=2)", {}, "says rel twice"),
    ("P@5(k=3)", {}, "says k twice"),
    ("rbp(0.5, p=0.6)", {}, "says p twice"),
    ("ndcg(no_relevant=1)-", {}, "says no_relevant twice"),
    ("ndcg(trec_eval, lightgbm)", {}, "says preset twice"),
    ("P@5(depth=2)", {}, "'P' has no parameter 'depth': it has k, no_relevant, rel, over, ties"),
    ("AP(judged_only=True)", {}, "'MAP' has no parameter 'judged_only'"),
    ("P@5(=2)", {}, "'P' has no parameter ''"),
    ("P@5(gain=y)", {}, "'P' has no parameter 'gain'"),
    (
        "NDCG(over=k)",
        {},
        "'NDCG' has no parameter 'over': it has k, no_relevant, gain, ties, score",
    ),
    ("NDCG(rel=2)", {}, "'NDCG' has no parameter 'rel'"),
    ("P@5(rel=two)", {}, r"'P@5\(rel=two\)': rel is 'two', which is no number"),
    ("P@5(rel=)", {}, "rel is '', which is no number"),
    ("P@5(no_relevant=none)", {}, "no_relevant is 'none', which is no number"),
    ("P@5(no_relevant=2)", {}, "no_relevant is 2.0: choose 1, 0 or 'skip'"),
    ("P@5(rel=-1)", {}, "rel is -1.0: it must be a finite number from 0 up"),
    ("P@5(rel=nan)", {}, "rel is nan: it must be a finite number from 0 up"),
    ("P(k=2.5)", {}, "k is 2.5: it must be an integer from 1 up"),
    ("P@5(rel=2)", {"rel": 3}, "says rel=2.0, but rel=3 was given"),
    ("P@5(ties=row)", {"ties": "average"}, "says ties=row, but ties='average' was given"),
    # Choices.
    ("NDCG(ties=last)", {}, "ties is 'last': choose 'row' or 'average'"),
    ("mrr", {"ties": "last"}, "ties is 'last': choose 'row' or 'average'"),
    ("map", {"ties": "first"}, "ties is 'first': choose 'row', 'average' or 'last'"),
    ("map", {"ties": 1}, "ties is 1: choose"),
    ("MAP@10(over=k)", {}, "over is 'k': choose 'reachable' or 'relevant'"),
    ("P@10(over=relevant)", {}, "over is 'relevant': choose 'size' or 'k'"),
    ("P@10", {"score_type": "float16"}, "score_type is 'float16': choose 'float64' or 'float32'"),
    # Presets.
    ("NDCG@5(mine)", {}, "preset is 'mine': choose 'lightgbm', 'xgboost', 'sklearn' or 'trec"),
    ("NDCG@5(preset=)", {}, "preset is '': choose"),
    ("ndcg", {"preset": 3}, "preset is 3: choose"),
    ("P@5(sklearn)", {}, "^scikit-learn has no P: its preset is for NDCG, DCG, MAP$"),
    ("map@5", {"preset": "sklearn"}, "^scikit-learn has MAP for whole lists only, not @5$"),
    ("err@5", {"preset": "trec_eval"}, "trec_eval has no ERR: its preset is for NDCG, MAP, P"),
    ("mrr", {"preset": "xgboost"}, "XGBoost has no MRR: its preset is for NDCG, MAP, P"),
    ("P@5", {"preset": "lightgbm"}, "LightGBM has no P: its preset is for NDCG, MAP"),
    ("P(trec_eval)", {}, "'P' needs k"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), WRONG)
def test_wrong_names_and_parameters(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        metric(name, **parameters)
    assert "\n" not in str(caught.value)


PRESET_METRICS = [(preset, name) for preset in PRESETS for name in PRESETS[preset].metrics]


@pytest.mark.parametrize(("preset", "name"), PRESET_METRICS)
def test_a_preset_is_its_parameters(preset: str, name: str) -> None:
    k = None if name in PRESETS[preset].without_cutoff else 3
    made = metric(name, k=k, preset=preset)
    assert made == metric(made.name) == metric(made.name.upper())
    spelled_out = metric(name, k=k, **PRESETS[preset].metrics[name])
    assert made.conventions == spelled_out.conventions
    scores, labels = [1.0, 2.0, 1.0, 1.0, 0.0, 0.0], [1, 0, 2, 0, 0, 0]
    for group in ([6], [3, 3]):
        assert made(scores, labels, group=group).tolist() == pytest.approx(
            spelled_out(scores, labels, group=group).tolist(), rel=1e-15
        )


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_the_metrics_of_its_tool_only(preset: str) -> None:
    for entry in metrics():
        if entry.name not in PRESETS[preset].metrics:
            with pytest.raises(ValueError, match=f"{PRESETS[preset].tool} has no {entry.name}: "):
                metric(entry.name, k=None if entry.cutoff == "none" else 3, preset=preset)


def test_what_is_said_beside_a_preset_wins() -> None:
    made = metric("ndcg@2", preset="sklearn", no_relevant="skip")
    assert made.name == "NDCG@2(sklearn, no_relevant=skip)"
    assert math.isnan(made([1.0, 2.0], [0, 0])[0])
    graded = metric("NDCG@1(trec_eval, gain=2^y-1)")
    assert graded([2.0, 1.0], [1, 2])[0] == 1 / 3
    assert metric("NDCG@1(trec_eval)")([2.0, 1.0], [1, 2])[0] == 1 / 2


def test_names_with_commas_between_them() -> None:
    names = ["ndcg@5", "P@5(rel=2, over=k)", "RBP(0.8, rel=2)", "map"]
    assert split_names(",".join(names)) == split_names(" , ".join(names)) == names
    assert split_names("ndcg") == ["ndcg"]
