"""Values of categories in a model's text: plain LightGBM numbers them as the ranker does."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankforce as rf

lgb = pytest.importorskip("lightgbm")

RNG = np.random.default_rng(5)
ROWS, QUERIES = 600, 20
GROUP = np.full(QUERIES, ROWS // QUERIES)
CODE = RNG.integers(0, 6, ROWS)
NOISE = RNG.normal(size=(ROWS, 3))
LABELS = np.clip(np.round(NOISE[:, 0]) + 2 * (CODE % 3 == 1), 0, 4)
PARAMS: dict[str, Any] = {
    "n_estimators": 8,
    "num_leaves": 7,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "min_data_per_group": 5,
    "cat_smooth": 1.0,
    "threads": 1,
    "progress": False,
}
VALUES: dict[str, list[Any]] = {
    "text": ["red", "blue", 'gr"een', "ä b", "", "[1]"],
    "integers": [10, 20, 5, 7, -1, 0],
    "numbers": [0.5, 1.25, -3.0, 1e300, 2.0, 0.1],
    "truth": [True, False],
}


def frame(values: list[Any], *, order: list[Any] | None = None) -> pd.DataFrame:
    """A column of categories between columns of numbers; the last one is another such column."""
    made = pd.DataFrame(NOISE, columns=["a", "b", "c"])
    chosen = [values[code % len(values)] for code in CODE]
    made.insert(1, "kind", pd.Categorical(chosen, categories=order or values))
    made["other"] = pd.Categorical(np.array(["x", "y"])[CODE % 2])
    return made


def fit(features: Any, **more: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS | more).fit(features, LABELS, group=GROUP)


@pytest.mark.parametrize("kind", VALUES)
def test_plain_lightgbm_scores_a_frame_the_same(kind: str, tmp_path: Path) -> None:
    values = VALUES[kind]
    ranker = fit(frame(values))
    assert "cat_threshold" in ranker.model_.text()
    ranker.save(tmp_path)
    booster = lgb.Booster(model_file=tmp_path / "model.txt")
    assert booster.pandas_categorical == [values, ["x", "y"]]
    # Another order, and values that training did not see.
    again = frame(values, order=[*values[::-1], *(["new"] if kind == "text" else [])])
    for given in (frame(values), again):
        expected = ranker.predict(given)
        assert booster.predict(given) == pytest.approx(expected, rel=1e-12)
        assert ranker.booster_.predict(given) == pytest.approx(expected, rel=1e-12)
    assert np.array_equal(ranker.predict(frame(values)), ranker.predict(again))
    assert np.array_equal(rf.load(tmp_path / "model.txt").predict(again), ranker.predict(again))


def test_the_line_is_the_one_that_lightgbm_writes(tmp_path: Path) -> None:
    given = frame(VALUES["text"])
    fit(given).save(tmp_path)
    ours = (tmp_path / "model.txt").read_text().splitlines()[-1]
    params = {"verbosity": -1, "min_data_per_group": 5}
    data = lgb.Dataset(given, LABELS, params=params)
    theirs = lgb.train(params, data, 2).model_to_string().splitlines()[-1]
    assert ours == theirs
    fit(NOISE).save(tmp_path)
    assert (tmp_path / "model.txt").read_text().endswith("\npandas_categorical:null\n")


def test_codes_without_values_have_none(tmp_path: Path) -> None:
    features = np.column_stack([CODE, NOISE])
    ranker = rf.Ranker(**PARAMS).fit(features, LABELS, group=GROUP, categorical_feature=[0])
    assert ranker.model_.text().endswith("\npandas_categorical:null\n")
    assert ranker.booster_.predict(features) == pytest.approx(ranker.predict(features), rel=1e-12)


def test_saving_again_keeps_the_line(tmp_path: Path) -> None:
    fit(frame(VALUES["text"])).save(tmp_path / "a")
    rf.load(tmp_path / "a").save(tmp_path / "b")
    rf.load(tmp_path / "a" / "model.txt").save(tmp_path / "c")
    line = (tmp_path / "a" / "model.txt").read_text().splitlines()[-1]
    assert json.loads(line.partition(":")[2])[0] == VALUES["text"]
    for name in "bc":
        assert (tmp_path / name / "model.txt").read_text().splitlines()[-1] == line


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([pd.Timestamp(2020, 1, day) for day in range(1, 7)], "Timestamp"),
        ([pd.Interval(low, low + 1) for low in range(6)], "Interval"),
        ([datetime.date(2020, 1, day) for day in range(1, 7)], "date"),
        ([(code, "a") for code in range(6)], "tuple"),
    ],
)
def test_values_that_no_file_holds_are_refused_before_training(
    values: list[Any], kind: str, tmp_path: Path
) -> None:
    seen: list[int] = []
    made = pd.DataFrame(NOISE, columns=["a", "b", "c"])
    made["when"] = pd.Categorical.from_codes(CODE, categories=pd.Index(values, tupleize_cols=False))
    ranker = rf.Ranker(**PARAMS, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match=f"column 'when' has categories .* with a {kind}, make"):
        ranker.fit(made, LABELS, group=GROUP, callbacks=[lambda m: seen.append(m.iteration)])
    assert seen == []
    assert not (tmp_path / "run").exists()
