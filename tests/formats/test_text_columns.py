"""A column is a feature, a category, or is left out loudly."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.notes import Note

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 600
RNG = np.random.default_rng(3)
QID = np.repeat(np.arange(ROWS // 10), 10)
SHOP = RNG.choice(["a", "b", "c", "d"], ROWS)
NOISE = RNG.normal(size=ROWS).round(3)
LABEL = np.isin(SHOP, ["b", "d"]).astype(int)  # only the shop tells
BASE = pd.DataFrame({"qid": QID, "label": LABEL, "noise": NOISE})


def save(frame: Any, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def open_as(kind: str, frame: Any, folder: Path, **options: Any) -> rf.RankingData:
    """The same columns as CSV, as Parquet, or as the frame itself."""
    if kind == "frame":
        return rf.RankingData.from_frame(frame, **options)
    return rf.read(save(frame, folder / f"d.{kind}"), **options)


KINDS = ["csv", "parquet", "frame"]


@pytest.mark.parametrize("kind", KINDS)
class TestText:
    def test_few_values_become_categories(self, tmp_path: Path, kind: str) -> None:
        frame = BASE.assign(shop=SHOP)
        with pytest.warns(Note, match=r"'shop' \(4 values\): text, which becomes categories"):
            data = open_as(kind, frame, tmp_path)
        assert data.categories == {1: ["a", "b", "c", "d"]}
        assert [data.categories[1][int(code)] for code in data.features[:, 1]] == SHOP.tolist()
        ranker = rf.Ranker(n_estimators=20, min_child_samples=5, progress=False).fit(data)
        assert ranker.score(data, metric="ndcg@5") > 0.99

    def test_many_values_are_left_out(self, tmp_path: Path, kind: str) -> None:
        frame = BASE.assign(title=[f"title {row}" for row in range(ROWS)])
        message = r"'title' is text with 600 different values: left out"
        with pytest.warns(Note, match=message) as said:
            data = open_as(kind, frame, tmp_path)
        assert len(said) == 1
        assert data.feature_names == ["noise"]

    def test_on_request(self, tmp_path: Path, kind: str) -> None:
        frame = BASE.assign(title=[f"title {row}" for row in range(ROWS)], shop=SHOP)
        data = open_as(kind, frame, tmp_path, categorical=["title"], ignore=["shop"])
        assert data.feature_names == ["noise", "title"]
        assert len(data.categories[1]) == ROWS
        with pytest.raises(ValueError, match=r"no column 'tilte' \(ignore\): it has"):
            open_as(kind, frame, tmp_path, ignore=["tilte"])

    def test_text_that_is_asked_for_as_a_feature(self, tmp_path: Path, kind: str) -> None:
        frame = BASE.assign(shop=SHOP, word=[f"w{row:03}" for row in range(ROWS)][::-1])
        data = open_as(kind, frame, tmp_path, features=["word", "noise"])
        assert data.categories == {0: [f"w{row:03}" for row in range(ROWS)]}

    def test_a_feature_called_weight_is_no_weight(self, tmp_path: Path, kind: str) -> None:
        """A shop may sell by weight: the model says that the column is a feature."""
        X = BASE[["noise"]].assign(weight=NOISE**2)
        ranker = rf.Ranker(n_estimators=2, progress=False).fit(X, LABEL, qid=QID)
        data = open_as(kind, BASE.assign(weight=NOISE**2), tmp_path, like=ranker)
        assert data.weight is None
        assert np.array_equal(ranker.predict(data), ranker.predict(X))

    def test_numbers_in_a_dress_are_an_error(self, tmp_path: Path, kind: str) -> None:
        for values in (["5%", "10%"], ["1,000", "2,500"], ["$3", "$12"], ["2,5", "3,5"]):
            frame = BASE.assign(price=np.resize(values, ROWS))
            with pytest.raises(ValueError, match="'price' holds numbers such as"):
                open_as(kind, frame, tmp_path)
            data = open_as(kind, frame, tmp_path, categorical=["price"])
            assert data.categories == {1: sorted(values)}

    def test_missing_text_is_missing(self, tmp_path: Path, kind: str) -> None:
        shop = pd.Series(SHOP).mask(SHOP == "a")
        with pytest.warns(Note, match="'shop'"):
            data = open_as(kind, BASE.assign(shop=shop), tmp_path)
        assert np.array_equal(np.isnan(data.features[:, 1]), SHOP == "a")

    def test_another_file_gets_the_codes_of_the_first(self, tmp_path: Path, kind: str) -> None:
        with pytest.warns(Note, match="'shop'"):
            data = open_as(kind, BASE.assign(shop=SHOP), tmp_path)
        ranker = rf.Ranker(n_estimators=5, min_child_samples=5, progress=False).fit(data)
        # Only some of the values, a new one, fewer rows: it would be left out by itself.
        some = BASE[:20].assign(shop=["d", "b", "new", None] * 5)
        other = open_as(kind, some, tmp_path, like=ranker)
        codes = other.features[:4, 1]
        np.testing.assert_array_equal(codes, [3, 1, np.nan, np.nan])
        same = open_as(kind, BASE[:20].assign(shop=SHOP[:20]), tmp_path, like=ranker)
        assert np.array_equal(ranker.predict(same), ranker.predict(data)[:20])

    def test_values_that_a_model_does_not_know(self, tmp_path: Path, kind: str) -> None:
        with pytest.warns(Note, match="'shop'"):
            data = open_as(kind, BASE.assign(shop=SHOP), tmp_path)
        ranker = rf.Ranker(n_estimators=3, progress=False).fit(data)
        with pytest.warns(Note, match="'shop': none of its values is known from training, .*'a'"):
            open_as(kind, BASE.assign(shop="other"), tmp_path, like=ranker)

    def test_codes_that_float32_does_not_hold(self, tmp_path: Path, kind: str) -> None:
        ids = 10**15 + np.unique(SHOP, return_inverse=True)[1]
        data = open_as(kind, BASE.assign(shop=ids), tmp_path, categorical=["shop"])
        assert data.categories == {1: [10**15 + one for one in range(4)]}
        ranker = rf.Ranker(n_estimators=20, min_child_samples=5, progress=False).fit(data)
        assert ranker.score(data, metric="ndcg@5") > 0.99
        # Numbers of an array are those numbers, not codes.
        array = np.column_stack([NOISE, ids.astype(float)])
        np.testing.assert_array_equal(ranker.predict(array), ranker.predict(data))

    def test_small_codes_stay_what_they_are(self, tmp_path: Path, kind: str) -> None:
        ids = 7 + np.unique(SHOP, return_inverse=True)[1]
        data = open_as(kind, BASE.assign(shop=ids), tmp_path, categorical=["shop"])
        assert (data.categorical, data.categories) == ([1], {})
        assert np.array_equal(data.features[:, 1], ids)


@pytest.mark.parametrize("kind", ["parquet", "frame"])
def test_dates_and_lists_are_left_out_with_a_remedy(tmp_path: Path, kind: str) -> None:
    days = [datetime.date(2024, 1, 1 + row % 28) for row in range(ROWS)]
    frame = BASE.assign(day=days, tags=[[1, 2]] * ROWS)
    with pytest.warns(Note, match="'day' holds dates: left out .make it a number") as said:
        data = open_as(kind, frame, tmp_path)
    assert "'tags' holds lists: left out" in str(said[0].message)
    assert data.feature_names == ["noise"]


def test_dates_of_a_csv(tmp_path: Path) -> None:
    frame = BASE.assign(day=[f"2024-01-{1 + row % 28:02}" for row in range(ROWS)])
    with pytest.warns(Note, match="'day' holds dates: left out"):
        assert open_as("csv", frame, tmp_path).feature_names == ["noise"]


def test_nothing_is_said_where_nothing_is_left_out(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in KINDS:
            open_as(kind, BASE, tmp_path)


class TestFrames:
    def test_roles_by_name(self) -> None:
        frame = BASE.rename(columns={"qid": "search", "label": "stars"}).assign(w=2.0, u="x")
        data = rf.RankingData.from_frame(
            frame, label="stars", query="search", weight="w", document="u"
        )
        assert data.feature_names == ["noise"]
        assert data.labels.tolist() == LABEL.tolist()
        assert data.weight is not None
        assert set(data.weight) == {2.0}
        assert data.doc_ids is not None
        with pytest.raises(ValueError, match=r"the frame: no column for the qid \(one of qid"):
            rf.RankingData.from_frame(frame, label="stars")
        with pytest.raises(ValueError, match="unknown role of a column 'lable'"):
            rf.RankingData.from_frame(frame, lable="stars")
        with pytest.raises(ValueError, match="the frame is a list"):
            rf.RankingData.from_frame([1])

    def test_without_labels(self) -> None:
        data = rf.RankingData.from_frame(BASE.drop(columns="label"), label=None)
        assert not data.has_labels

    def test_a_text_column_of_features_on_request(self) -> None:
        X = BASE[["noise"]].assign(shop=SHOP)
        with pytest.raises(ValueError, match=r"'shop' holds .* values: .* make it categorical"):
            rf.RankingData(X, LABEL, qid=QID)
        data = rf.RankingData(X, LABEL, qid=QID, categorical=["shop"])
        assert data.categories == {1: ["a", "b", "c", "d"]}
        ranker = rf.Ranker(n_estimators=10, min_child_samples=5, progress=False)
        ranker.fit(X, LABEL, qid=QID, categorical_feature=["shop"])
        assert ranker.score(X, LABEL, qid=QID, metric="ndcg@5") > 0.99

    def test_categories_that_no_file_can_hold(self) -> None:
        X = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"]))})
        with pytest.raises(ValueError, match=r"column 'day' has categories such as Timestamp"):
            rf.RankingData(X, [0, 1], group=[2])

    def test_categories_where_the_model_has_numbers(self) -> None:
        ranker = rf.Ranker(n_estimators=2, progress=False).fit(BASE[["noise"]], LABEL, qid=QID)
        text = pd.DataFrame({"noise": pd.Categorical(SHOP)})
        with pytest.raises(ValueError, match="'noise' holds categories, the model was trained on"):
            ranker.predict(text)


class TestQuotes:
    HEAD = "qid,label,url,f\n"

    def rows(self, count: int = 1000) -> list[str]:
        return [f"{row // 10},{row % 2},u{row},{row}\n" for row in range(count)]

    def check(self, tmp_path: Path, rows: list[str], message: str) -> None:
        path = tmp_path / "d.csv"
        path.write_text(self.HEAD + "".join(rows))
        with pytest.raises(ValueError, match=message):
            rf.read(path)

    def test_an_unclosed_quote(self, tmp_path: Path) -> None:
        rows = self.rows()
        rows[500] = '50,0,"u500,500\n'
        self.check(tmp_path, rows, r"d\.csv, line 502: an unclosed quote")

    def test_two_quotes_that_swallow_what_is_between(self, tmp_path: Path) -> None:
        rows = self.rows()
        rows[500] = '50,0,"u500,500\n'
        rows[700] = '70,0,u700",700\n'
        self.check(tmp_path, rows, r"line 502: a cell of 201 lines that look like rows")

    def test_lines_inside_of_quotes_are_fine(self, tmp_path: Path) -> None:
        rows = self.rows()
        rows[500] = '50,0,"u\n""500""",500\n'
        path = tmp_path / "d.csv"
        path.write_text(self.HEAD + "".join(rows))
        data = rf.read(path)
        assert data.rows == 1000
        assert data.doc_ids is not None
        assert data.doc_ids[500] == 'u\n"500"'
