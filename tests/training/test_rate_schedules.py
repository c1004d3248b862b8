"""Learning rates that change from tree to tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")

DATA = rf.make_data("mslr", queries=12, seed=1)
RATES = [0.4, 0.2, 0.1, 0.05]
PARAMS: dict[str, Any] = {
    "n_estimators": 4,
    "num_leaves": 6,
    "min_child_samples": 5,
    "seed": 1,
    "threads": 1,
    "progress": False,
}


def halved(tree: int) -> float:
    return 0.4 * 0.5**tree


def fit(callbacks: Any = (), **given: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS | given).fit(DATA, callbacks=list(callbacks))


def rates(ranker: rf.Ranker) -> list[float]:
    return [tree.shrinkage for tree in ranker.model_.trees]


WAYS: dict[str, dict[str, Any]] = {
    "a list": {"learning_rate": RATES},
    "an array": {"eta": np.array(RATES)},
    "a longer list": {"learning_rate": [*RATES, 0.01]},
    "a function": {"learning_rate": halved},
    "LightGBM's list": {"callbacks": [lgb.reset_parameter(learning_rate=RATES)]},
    "LightGBM's function": {"callbacks": [lgb.reset_parameter(learning_rate=halved)]},
    "in place of a number": {
        "callbacks": [lgb.reset_parameter(learning_rate=RATES)],
        "learning_rate": 0.7,
    },
    "XGBoost's list": {"callbacks": [xgb.callback.LearningRateScheduler(RATES)]},
    "XGBoost's function": {"callbacks": [xgb.callback.LearningRateScheduler(halved)]},
}


@pytest.mark.parametrize("given", WAYS.values(), ids=WAYS)
def test_every_tree_has_its_rate(given: dict[str, Any], tmp_path: Path) -> None:
    ranker = fit(**given)
    assert rates(ranker) == pytest.approx(RATES)
    first = fit(n_estimators=1, learning_rate=1.0).model_.trees[0].leaf_value
    assert ranker.model_.trees[0].leaf_value == pytest.approx(RATES[0] * first)
    assert np.array_equal(ranker.booster_.predict(DATA.features), ranker.predict(DATA))
    ranker.save(tmp_path)
    again = rf.load(tmp_path)
    assert again.settings().rate(3) == pytest.approx(RATES[3])
    assert rates(again.fit(DATA)) == pytest.approx(RATES)


def test_the_same_rate_for_all() -> None:
    assert fit(learning_rate=[0.2] * 4).predict(DATA).tolist() == (
        fit(learning_rate=0.2).predict(DATA).tolist()
    )


def test_the_trees_are_lightgbms_for_the_same_rates() -> None:
    """Not only the last factor: later forces follow from earlier rates."""
    assert not np.allclose(
        fit(learning_rate=RATES).predict(DATA), fit(learning_rate=RATES[::-1]).predict(DATA)
    )


@pytest.mark.parametrize("given", [*WAYS.values()][3:6], ids=[*WAYS][3:6])
@pytest.mark.parametrize("parts", [(1, 4), (2, 3, 4)])
def test_a_run_that_goes_on(given: dict[str, Any], parts: Any, tmp_path: Path) -> None:
    for trees in parts:
        schedule = dict(given)
        if schedule.get("callbacks") and trees < 4:
            schedule["callbacks"] = [lgb.reset_parameter(learning_rate=RATES[:trees])]
        ranker = fit(**schedule, n_estimators=trees, checkpoint=tmp_path)
    assert ranker.model_.text() == fit(**given).model_.text()


def test_a_run_with_other_rates_does_not_go_on(tmp_path: Path) -> None:
    fit(learning_rate=RATES, checkpoint=tmp_path, n_estimators=2)
    with pytest.raises(ValueError, match="belongs to another run: learning_rate was"):
        fit(learning_rate=0.4, checkpoint=tmp_path)
    assert rates(fit(learning_rate=[0.4, 0.2, 1.0, 0.7], checkpoint=tmp_path))[2:] == [1.0, 0.7]


def test_trees_of_a_base_have_the_first_rate() -> None:
    ranker = fit(learning_rate=RATES, base="regressor", base_estimators=2)
    assert rates(ranker) == [0.4, 0.4, *RATES]


def test_parameters_stay_as_given() -> None:
    ranker = rf.Ranker(learning_rate=halved)
    assert ranker.get_params()["learning_rate"] is halved
    assert rf.Ranker(**ranker.get_params()).settings() == ranker.settings()


WRONG: list[tuple[Any, str]] = [
    (RATES[:3], "learning_rate has 3 entries for 4 trees"),
    ([], "learning_rate has 0 entries for 4 trees"),
    ([0.1, 0.1, 0.0, 0.1], "learning_rate is 0.0: it must be a number above 0"),
    ([0.1, "fast", 0.1, 0.1], "learning_rate is 'fast': it must be a number above 0"),
    (lambda tree: 0.1 - 0.05 * tree, "learning_rate is 0.0: it must be a number above 0"),
    (lambda tree: None, "learning_rate is None: it must be a number above 0"),
    ("fast", "learning_rate is 'fast': it must be a number above 0"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_rates(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(learning_rate=given)
