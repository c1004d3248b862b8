"""Constraints on features: the forms of LightGBM and XGBoost, their effect, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankforce as rf
from rankforce.training.settings import make_settings

NAMES = ["price", "age", "clicks", "length"]
RNG = np.random.default_rng(4)
X = RNG.normal(size=(600, 4)).astype(np.float32)
QID = np.repeat(np.arange(30), 20)
# The label falls and rises with the first feature, so a direction must change the model.
RAW = X[:, 0] ** 2 + X[:, 1] * X[:, 2] + 0.8 * X[:, 2] + 0.8 * X[:, 3]
Y = np.clip(np.round(RAW + RNG.normal(size=600) * 0.2), 0, 4)
FRAME = pd.DataFrame(X, columns=NAMES)
PARAMS: dict[str, Any] = {
    "n_estimators": 20,
    "num_leaves": 8,
    "min_child_samples": 5,
    "threads": 1,
    "progress": False,
}


def fit(**given: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS | given).fit(FRAME, Y, qid=QID)


def slopes(ranker: rf.Ranker, column: int) -> Any:
    """Differences of scores where one feature grows and the others stay."""
    grid = np.repeat(X[:50, None, :], 40, axis=1)
    grid[:, :, column] = np.linspace(-3, 3, 40)
    return np.diff(ranker.predict(grid.reshape(-1, 4)).reshape(50, 40), axis=1)


UP: dict[str, Any] = {
    "XGBoost's text": {"monotone_constraints": "(1,0,0,0)"},
    "LightGBM's text": {"monotone_constraints": "1,0,0,0"},
    "text of a list": {"monotone_constraints": "[1, 0, 0, 0]"},
    "list": {"monotone_constraints": [1, 0, 0, 0]},
    "tuple": {"monotone_constraints": (1, 0, 0, 0)},
    "array": {"monotone_constraints": np.array([1, 0, 0, 0])},
    "by name": {"monotone_constraints": {"price": 1}},
    "by number": {"monotone_constraints": {0: 1}},
    "text of a dictionary": {"monotone_constraints": '{"price": 1}'},
    "another name": {"monotonic_cst": {"price": 1, "age": 0}},
    "LightGBM's short name": {"mc": [1, 0, 0, 0]},
}


@pytest.fixture(scope="module")
def free() -> rf.Ranker:
    return fit()


@pytest.mark.parametrize("given", UP.values(), ids=UP)
def test_scores_go_up_with_the_feature(given: dict[str, Any], free: rf.Ranker) -> None:
    assert slopes(free, 0).min() < 0 < slopes(free, 0).max()
    ranker = fit(**given)
    assert slopes(ranker, 0).min() >= 0
    assert slopes(ranker, 0).max() > 0
    assert ranker.model_.text() == fit(monotone_constraints=[1, 0, 0, 0]).model_.text()


def test_scores_go_down_with_the_feature() -> None:
    assert slopes(fit(monotone_constraints={"price": -1}), 0).max() <= 0


@pytest.mark.parametrize("given", [None, [0, 0, 0, 0], {}, {"age": 0}])
def test_no_direction(given: Any) -> None:
    assert slopes(fit(monotone_constraints=given), 0).min() < 0


def branches(ranker: rf.Ranker) -> set[frozenset[str]]:
    """The features of every way from a root to a leaf."""
    found: set[frozenset[str]] = set()

    def walk(node: Any, seen: frozenset[str]) -> None:
        if "split_feature" not in node:
            found.add(seen)
            return
        name = NAMES[node["split_feature"]]
        for side in ("left_child", "right_child"):
            walk(node[side], seen | {name})

    for tree in ranker.booster_.dump_model()["tree_info"]:
        walk(tree["tree_structure"], frozenset())
    return found


GROUPS: dict[str, Any] = {
    "XGBoost's names": '[["price", "age"], ["clicks"]]',
    "XGBoost's numbers": "[[0, 1], [2]]",
    "LightGBM's text": "[0,1],[2]",
    "numbers": [[0, 1], [2]],
    "names": [["price", "age"], ["clicks"]],
    "tuples and sets": [("age", "price"), {"clicks"}],
    "mixed": [["price", 1], [2]],
}


@pytest.mark.parametrize("given", GROUPS.values(), ids=GROUPS)
def test_features_of_a_branch(given: Any, free: rf.Ranker) -> None:
    """Those in no group may stand by themselves, as in XGBoost."""
    allowed = [{"price", "age"}, {"clicks"}, {"length"}]
    assert not all(any(one <= group for group in allowed) for one in branches(free))
    ranker = fit(interaction_constraints=given)
    assert all(any(one <= group for group in allowed) for one in branches(ranker))
    assert {*ranker.feature_importances_.nonzero()[0]} == {0, 1, 2, 3}


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"monotone_constraints": {"prize": 1}}, "names 'prize', which is none of the 4 features"),
    ({"monotone_constraints": {7: 1}}, "names 7, which is none of the 4 features: 'price', 'age'"),
    ({"monotone_constraints": [1, 0]}, "has 2 entries for 4 features"),
    ({"monotone_constraints": "(1,0,0)"}, "has 3 entries for 4 features"),
    ({"monotone_constraints": "1"}, "has 1 entries for 4 features"),
    ({"monotone_constraints": [2, 0, 0, 0]}, "2 is none of -1, 0 and 1"),
    ({"monotone_constraints": {"age": "up"}}, "'up' is none of -1, 0 and 1"),
    ({"monotone_constraints": {"age": True}}, "True is none of -1, 0 and 1"),
    ({"monotone_constraints": "increasing"}, "is 'increasing': it must be a list of -1, 0 and 1"),
    ({"monotone_constraints": {1.5: 1}}, "it must be a list of -1, 0 and 1"),
    ({"monotone_constraints": 2.5}, "is 2.5: it must be a list"),
    ({"interaction_constraints": [["price", "prize"]]}, "names 'prize', which is none of the 4"),
    ({"interaction_constraints": [[0, 4]]}, "names 4, which is none of the 4 features"),
    ({"interaction_constraints": [[0, -1]]}, "names -1, which is none of the 4 features"),
    ({"interaction_constraints": "price"}, "it must be a list of lists of features"),
    ({"interaction_constraints": {"price": 1}}, "it must be a list of lists of features"),
    ({"interaction_constraints": [[0], 1]}, "it must be a list of lists of features"),
    ({"interaction_constraints": [[0.5, 1]]}, "it must be a list of lists of features"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES, ids=[str(given) for given, _ in MISTAKES])
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        fit(**given)
    assert str(caught.value).startswith(next(iter(given)))
    assert "\n" not in str(caught.value)


def test_forms_are_checked_before_any_data() -> None:
    with pytest.raises(ValueError, match="3 is none of -1, 0 and 1"):
        make_settings({"monotone_constraints": "(3,0)"})


def test_categories_have_no_direction() -> None:
    """LightGBM would end the process."""
    frame = FRAME.assign(age=pd.Categorical(np.where(X[:, 1] > 0, "old", "new")))
    ranker = rf.Ranker(**PARAMS, monotone_constraints={"age": 1})
    with pytest.raises(ValueError, match="gives 'age' the direction 1, but it is categorical"):
        ranker.fit(frame, Y, qid=QID)
    ranker.set_params(monotone_constraints={"price": 1}).fit(frame, Y, qid=QID)


def test_constraints_are_saved_and_taken_up(tmp_path: Any) -> None:
    given: dict[str, Any] = {"monotone_constraints": {"price": 1}, "checkpoint": tmp_path}
    whole = fit(**given)
    assert rf.load(tmp_path).get_params()["monotone_constraints"] == {"price": 1}
    again = fit(**given | {"n_estimators": 22})
    assert again.model_.text(20) == whole.model_.text()
    with pytest.raises(ValueError, match="belongs to another run: monotone_constraints"):
        fit(monotone_constraints={"price": -1}, checkpoint=tmp_path)
