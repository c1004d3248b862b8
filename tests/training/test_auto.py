"""Rankers with the objective "auto": the ones of the objective that it becomes, who say so."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rankforce as rf
from rankforce.forces.auto import choices, choose_objective
from rankforce.training.settings import make_settings
from rankforce.training.watch import watched_metrics

TRAIN = rf.make_data("yahoo", queries=20, seed=1)
VALID = rf.make_data("yahoo", queries=20, seed=2)
SMALL: dict[str, Any] = {
    "n_estimators": 4,
    "num_leaves": 5,
    "min_child_samples": 5,
    "seed": 3,
    "threads": 1,
    "progress": False,
}
P5 = {"objective": "auto", "eval_metric": "p@5"}
NAMED = {"objective": "lambdagap-s++", "k": 5, "eval_metric": "p@5"}


def fit(**given: Any) -> rf.Ranker:
    return rf.Ranker(**SMALL | given).fit(TRAIN, eval_set=[VALID])


def metric_of(form: str) -> str:
    """A metric for which there are labels: CNDCG is for shares of clicks."""
    source = "(source=clicks)" if form.startswith("CNDCG") else ""
    return form.replace("@k", "@5") + source


@pytest.mark.parametrize("form", choices())
def test_it_trains_what_naming_the_objective_trains(form: str) -> None:
    metric = metric_of(form)
    choice = choose_objective(metric)
    auto = fit(objective="auto", eval_metric=metric)
    named = fit(objective=choice.objective, eval_metric=metric, **choice.parameters)
    scores = auto.predict(VALID)
    assert np.ptp(scores) > 0
    assert np.array_equal(scores, named.predict(VALID))
    assert auto.model_.parameters == named.model_.parameters
    assert auto.evals_result_ == named.evals_result_
    assert auto.objective_ == named.objective_
    assert auto.objective_.name == choice.objective


@pytest.mark.parametrize(
    ("given", "objective", "k"),
    [
        ({}, "LambdaRank-NDCG", None),
        ({"k": 3}, "LambdaRank-NDCG", 3),
        ({"eval_at": "3,5"}, "LambdaRank-NDCG", 3),
        ({"eval_metric": "mrr, p@5"}, "lambdarank(mrr)", None),
        ({"eval_metric": ["p@5", "mrr"]}, "LambdaGap-S++", 5),
        ({"metric": "map", "k": 4}, "lambdarank(map)", 4),
        ({"eval_metric": "p@5", "k": 8}, "LambdaGap-S++", 8),
        ({"eval_metric": rf.scorecard(["recall@3", "ndcg@5"])}, "LambdaGap-S++", 3),
        ({"eval_metric": "rbp(0.5)", "k": 4}, "lambdarank(rbp)", 4),
        ({"eval_metric": lambda scores, labels: 0.5}, "LambdaRank-NDCG", None),
        ({"eval_metric": lambda y_true, y_pred: ("a", 0.5, True)}, "LambdaRank-NDCG", None),
    ],
)
def test_the_first_metric_and_k_decide(
    given: dict[str, Any], objective: str, k: int | None
) -> None:
    settings = make_settings({"objective": "Auto"} | given)
    assert (settings.objective, settings.k) == (objective, k)
    assert settings.make_objective().name == objective


def test_metrics_keep_their_cutoffs() -> None:
    """The objective's k, which only follows from the first metric, is not that of the others."""
    ranker = fit(objective="auto", eval_metric="p@5, ndcg, map@3")
    assert ranker.model_.parameters["eval_metric"] == ["P@5", "NDCG", "MAP@3"]
    assert [*ranker.evals_result_["valid_0"]] == ["p@5", "ndcg", "map@3"]
    names = ranker.model_.parameters["eval_metric"]
    assert watched_metrics(names, ranker.objective_, k=5) == [rf.metric(name) for name in names]
    given = fit(objective="auto", eval_metric="p@5, ndcg", k=4)
    assert given.model_.parameters["eval_metric"] == ["P@5", "NDCG@4"]


def test_a_parameter_that_is_given_stays() -> None:
    settings = make_settings(P5 | {"tau": 7, "mu": 3.0})
    assert (settings.tau, settings.mu, settings.k) == (7, 3.0, 5)
    gain = make_settings({"objective": "auto", "eval_metric": "ndcg@3(gain=y)", "gain": "binary"})
    assert gain.gain == "binary"


def test_a_parameter_that_does_not_fit_names_auto() -> None:
    expected = r"objective 'auto' for NDCG@3: objective 'LambdaRank-NDCG' has no parameter 'mu'"
    with pytest.raises(rf.RankforceError, match=expected):
        make_settings({"objective": "auto", "eval_metric": "ndcg@3", "mu": 2.0})


def test_labels_of_a_source() -> None:
    """The metric reads clicks, and so does the objective, be it told by a setting or made whole."""
    auto = fit(objective="auto", eval_metric="cndcg@5(source=clicks)")
    whole = rf.objective("lambdarank(cndcg)", k=5, source="clicks", seed=SMALL["seed"])
    assert auto.objective_ == whole
    made = fit(objective=whole, eval_metric="cndcg@5(source=clicks)")
    assert np.array_equal(auto.predict(VALID), made.predict(VALID))
    assert not np.array_equal(auto.predict(VALID), fit(eval_metric="ndcg@5").predict(VALID))


def test_some_labels_of_a_source_may_be_missing() -> None:
    assert np.isnan(TRAIN.sources["clicks"]).any()
    for metric in ("ndcg@5", "bndcg@5", "p@5", "recall@5", "dcg@5"):
        ranker = fit(objective="auto", eval_metric=f"{metric}(source=clicks)")
        assert ranker.objective_.arguments["source"] == "clicks"


def test_the_metric_may_come_with_the_data() -> None:
    """What `fit` is asked for wins, and what was trained is known afterwards."""
    ranker = rf.Ranker("auto", mu=2.0, eval_metric="recall@3", **SMALL)
    ranker.fit(TRAIN, eval_set=[VALID], eval_metric="p@5")
    expected = rf.objective("lambdagap-s++", k=5, mu=2.0, seed=SMALL["seed"])
    assert ranker.objective_ == expected
    assert ranker.get_params()["objective"] == clone(ranker).get_params()["objective"] == "auto"
    assert rf.diagnose(ranker, VALID, every=2).trees
    own, other = (rf.explain(one, ranker, VALID) for one in (None, expected))
    assert str(own) == str(other)
    assert pickle.loads(pickle.dumps(ranker)).objective_ == expected
    again = ranker.fit(TRAIN, eval_metric="recall@3")
    assert again.objective_.arguments["k"] == 3
    assert again.set_params(objective="ranknet", mu=None).fit(TRAIN).objective_.name == "RankNet"


def test_a_sum_of_ones_own_trains_itself() -> None:
    top = rf.additive("y", lambda rank: 1.0 if rank <= 2 else 0.0, cutoff=2)
    auto = rf.Ranker("auto", **SMALL).fit(TRAIN, eval_metric=top)
    assert auto.objective_ is top
    assert np.array_equal(auto.predict(VALID), fit(objective=top).predict(VALID))


def test_a_run_says_the_choice_and_the_reason(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    line = str(choose_objective("p@5"))
    with caplog.at_level(logging.INFO, logger="rankforce"):
        fit(**P5, progress=None)
        assert caplog.messages[:1] == [line]
        assert caplog.messages[1].startswith("LambdaGap-S++ on RankingData")
        caplog.clear()
        fit(**NAMED, progress=None)
        assert not any(message.startswith("auto") for message in caplog.messages)
    fit(**P5, progress=True)
    assert capsys.readouterr().err.splitlines().count(line) == 1
    fit(**P5)
    assert capsys.readouterr().err == ""


def test_a_saved_model_knows_what_it_became_and_that_it_was_auto(tmp_path: Path) -> None:
    ranker = fit(**P5)
    ranker.save(tmp_path / "auto")
    manifest = json.loads((tmp_path / "auto/manifest.json").read_text())
    assert manifest["parameters"]["objective"] == "LambdaGap-S++"
    assert manifest["parameters"]["k"] == 5
    assert manifest["auto"] == str(choose_objective("p@5"))
    loaded = rf.load(tmp_path / "auto")
    assert np.array_equal(loaded.predict(VALID), ranker.predict(VALID))
    assert loaded.objective_ == ranker.objective_
    assert loaded.model_.auto == manifest["auto"]
    assert loaded.settings().objective == "LambdaGap-S++"
    again = loaded.set_params(progress=False).fit(TRAIN)
    assert np.array_equal(again.predict(VALID), ranker.predict(VALID))
    fit(**NAMED).save(tmp_path / "named")
    assert "auto" not in json.loads((tmp_path / "named/manifest.json").read_text())


@pytest.mark.parametrize("second", [P5, NAMED], ids=["auto", "named"])
def test_a_run_goes_on_where_it_was_left(second: dict[str, Any], tmp_path: Path) -> None:
    whole = fit(**P5 | {"n_estimators": 8})
    fit(**P5, checkpoint=tmp_path)
    resumed = fit(**second, n_estimators=8, checkpoint=tmp_path)
    assert resumed.model_.text() == whole.model_.text()
    assert resumed.evals_result_ == whole.evals_result_


def test_another_metric_is_another_run(tmp_path: Path) -> None:
    fit(**P5, checkpoint=tmp_path)
    expected = r"belongs to another run: k was 5, now None"
    with pytest.raises(rf.RankforceError, match=expected):
        fit(objective="auto", eval_metric="mrr", checkpoint=tmp_path)


def test_a_config_may_say_it() -> None:
    config = SMALL | P5 | {"train": TRAIN, "valid": VALID}
    assert np.array_equal(rf.train(config).predict(VALID), fit(**NAMED).predict(VALID))
