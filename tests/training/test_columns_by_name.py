"""Features go by name wherever both sides have names: a model never scores the wrong column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.notes import Note

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = 400
RNG = np.random.default_rng(7)
X = RNG.normal(size=(ROWS, 4))
Y = np.clip(np.round(2 * X[:, 0] + 0.5 * RNG.normal(size=ROWS)), 0, 3)
QID = np.repeat(np.arange(ROWS // 10), 10)
NAMES = ["bm25", "age", "clicks", "size"]
FRAME = pd.DataFrame(X, columns=NAMES)
PERMUTED = FRAME[["size", "clicks", "age", "bm25"]]


def fit(data: Any = FRAME, **more: Any) -> rf.Ranker:
    ranker = rf.Ranker(n_estimators=8, num_leaves=6, progress=False)
    return ranker.fit(data, Y, qid=QID, **more)


RANKER = fit()
SCORES = RANKER.predict(FRAME)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, lambda f: f.astype("f4")])
def test_a_frame_in_another_order(make: Any) -> None:
    assert np.array_equal(RANKER.predict(make(PERMUTED)), RANKER.predict(make(FRAME)))
    ranked = RANKER.rank(make(PERMUTED), qid=QID)
    assert np.array_equal(ranked.row, RANKER.rank(make(FRAME), qid=QID).row)
    value = RANKER.score(FRAME, Y, qid=QID)
    assert RANKER.score(PERMUTED, Y, qid=QID) == value


def test_data_in_another_order() -> None:
    data = rf.RankingData(PERMUTED, Y, qid=QID)
    same = rf.RankingData(FRAME, Y, qid=QID)
    assert np.array_equal(RANKER.predict(data), SCORES)
    assert rf.evaluate(RANKER, data, "ndcg@5").means == rf.evaluate(RANKER, same, "ndcg@5").means
    curves = [rf.diagnose(RANKER, one, every=4).series for one in (data, same)]
    assert curves[0] == curves[1]
    shown = [rf.explain("ranknet", RANKER, one, query=3).record() for one in (data, same)]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("is_data", [True, False])
def test_validation_in_another_order(is_data: bool) -> None:
    pair = rf.RankingData(PERMUTED, Y, qid=QID) if is_data else (PERMUTED, Y)
    beside = {} if is_data else {"eval_qid": [QID]}
    found = fit(eval_set=[pair], **beside).evals_result_
    same = fit(eval_set=[(FRAME, Y)], eval_qid=[QID]).evals_result_
    assert [*found.values()] == [*same.values()]


def test_more_columns_are_said_and_left_out() -> None:
    more = FRAME.assign(url="a", grade=Y)
    with pytest.warns(Note, match=r"'url', 'grade' are no features of the model: left out"):
        assert np.array_equal(RANKER.predict(more), SCORES)


def test_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"lacks the feature 'age', which the model .* has 'bm25'"):
        RANKER.predict(FRAME.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match=r"lacks the features 'age', 'size'"):
        RANKER.predict(rf.RankingData(FRAME[["clicks", "bm25"]], Y, qid=QID))


def test_a_name_that_occurs_twice() -> None:
    twice = pd.concat([FRAME, FRAME[["age"]]], axis=1)
    with pytest.raises(ValueError, match="'age' occurs twice"):
        RANKER.predict(twice)


def test_arrays_go_by_place() -> None:
    assert np.array_equal(RANKER.predict(X), SCORES)
    assert np.array_equal(fit(X).predict(PERMUTED[NAMES]), SCORES)
    counted = pd.DataFrame(X)  # pandas calls the columns 0, 1, 2, 3
    assert np.array_equal(fit(counted).predict(X), SCORES)
    with pytest.raises(ValueError, match="has 3 features, the model was trained on 4"):
        fit(counted).predict(counted[[0, 1, 2]])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_with_another_header(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"test.{ending}"
    table = PERMUTED.assign(qid=QID, label=Y, note="some text")
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.warns(Note, match="'note': no feature of the model, left out"):
        data = rf.read(path, like=RANKER)
    np.testing.assert_allclose(RANKER.predict(data), SCORES, atol=1e-6)
    assert data.feature_names == NAMES
    table.drop(columns="age").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(ValueError, match=r"less\.csv lacks the feature 'age'"):
        rf.read(tmp_path / "less.csv", like=RANKER)


def test_a_saved_model_keeps_names(tmp_path: Path) -> None:
    RANKER.save(tmp_path / "run")
    assert np.array_equal(rf.load(tmp_path / "run").predict(PERMUTED), SCORES)
    text = rf.load(tmp_path / "run" / "model.txt")  # LightGBM's text alone
    assert np.array_equal(text.predict(PERMUTED), SCORES)


class TestText:
    """Features of text go by their numbers, and what is not written is 0."""

    @staticmethod
    def lines(columns: int, first: int = 1) -> str:
        rows = []
        for row, values in enumerate(X):
            cells = [f"{first + c}:{values[c]:.6g}" for c in range(columns)]
            rows.append(f"{Y[row]:g} qid:{QID[row]} {' '.join(cells)}\n")
        return "".join(rows)

    @pytest.fixture
    def ranker(self, tmp_path: Path) -> rf.Ranker:
        (tmp_path / "train.txt").write_text(self.lines(4))
        data = rf.read(tmp_path / "train.txt")
        assert data.feature_names == ["1", "2", "3", "4"]
        return rf.Ranker(n_estimators=5, num_leaves=6, progress=False).fit(data)

    def test_last_features_do_not_occur(self, tmp_path: Path, ranker: rf.Ranker) -> None:
        (tmp_path / "test.txt").write_text(self.lines(3))
        dense = X.astype("f4") * np.array([1, 1, 1, 0], "f4")
        narrow = rf.read(tmp_path / "test.txt")
        assert narrow.features.shape[1] == 3
        expected = ranker.predict(narrow.like(ranker.model_.schema))
        assert np.array_equal(ranker.predict(narrow), expected)
        np.testing.assert_allclose(expected, ranker.predict(dense), atol=1e-5)
        assert rf.read(tmp_path / "test.txt", n_features=4).features.shape[1] == 4
        assert rf.read(tmp_path / "test.txt", like=ranker).features.shape[1] == 4
        with pytest.raises(ValueError, match="has 3 features, but n_features is 2"):
            rf.read(tmp_path / "test.txt", n_features=2)

    def test_a_feature_that_was_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "train.txt").write_text(self.lines(4))
        whole = rf.read(tmp_path / "train.txt")
        some = rf.read(tmp_path / "train.txt", ignore=["1"])
        assert some.feature_names == ["2", "3", "4"]
        ranker = rf.Ranker(n_estimators=5, num_leaves=6, progress=False).fit(some)
        with pytest.warns(Note, match="'1' is no feature of the model: left out"):
            scores = ranker.predict(whole)
        assert np.array_equal(scores, ranker.predict(some))

    def test_more_features_than_the_model(self, tmp_path: Path, ranker: rf.Ranker) -> None:
        wide = self.lines(4).replace("\n", " 7:1\n")
        (tmp_path / "test.txt").write_text(wide)
        with pytest.warns(Note, match="'5', '6', '7' are no features of the model: left out"):
            scores = ranker.predict(rf.read(tmp_path / "test.txt"))
        assert np.array_equal(scores, ranker.predict(rf.read(tmp_path / "train.txt")))

    def test_numbers_from_0_on(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(self.lines(4, first=0))
        data = rf.read(tmp_path / "a.txt")
        assert data.feature_names == ["0", "1", "2", "3"]
        ranker = rf.Ranker(n_estimators=5, num_leaves=6, progress=False).fit(data)
        # The first feature does not occur: the second is still number 1.
        (tmp_path / "b.txt").write_text(self.lines(4, first=0).replace(" 0:", " # "))
        bare = "\n".join(
            f"{Y[row]:g} qid:{QID[row]} " + " ".join(f"{c}:{X[row, c]:.6g}" for c in (1, 2, 3))
            for row in range(ROWS)
        )
        (tmp_path / "b.txt").write_text(bare + "\n")
        zeros = data.features.copy()
        zeros[:, 0] = 0
        assert np.array_equal(ranker.predict(rf.read(tmp_path / "b.txt")), ranker.predict(zeros))

    def test_validation_may_be_narrower(self, tmp_path: Path, ranker: rf.Ranker) -> None:
        (tmp_path / "valid.txt").write_text(self.lines(3))
        train = rf.read(tmp_path / "train.txt")
        valid = rf.read(tmp_path / "valid.txt")
        ranker = rf.Ranker(n_estimators=3, progress=False).fit(train, eval_set=[valid])
        assert len(ranker.evals_result_["valid_0"]["ndcg@10"]) == 3

    def test_models_of_earlier_versions_go_by_place(
        self, tmp_path: Path, ranker: rf.Ranker
    ) -> None:
        ranker.model_.names = [f"Column_{column}" for column in range(4)]
        (tmp_path / "test.txt").write_text(self.lines(3))
        narrow = rf.read(tmp_path / "test.txt")
        expected = np.pad(narrow.features, ((0, 0), (0, 1)))
        assert np.array_equal(ranker.predict(narrow), ranker.predict(expected))
