"""What would bring a document into the top k: real values, and none that is nearer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankforce as rf
from rankforce.diagnostics.why import Change, Entry, enter_several, show_entries
from rankforce.show.tables.text import width as text_width
from tests.diagnostics.test_why import DATA, FRAME, LABELS, MIXED, PARAMS, QID

LARGEST = np.finfo(np.float32).max


def small_data(*, zeros: bool = False) -> rf.RankingData:
    """Four features with ties, few enough to try everything."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4)).round(1).astype(np.float32)
    if zeros:
        X[rng.uniform(size=X.shape) < 0.4] = 0.0
    raw = X[:, 0] - np.abs(X[:, 1]) + 0.3 * X[:, 2] * (X[:, 3] > 0)
    return rf.RankingData(X, np.digitize(raw, [-1, 0, 1]), group=[15] * 20)


SMALL = small_data()
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "zeros are missing": {"zero_as_missing": True},
    "-1 is missing": {"missing": -1.0},
    "of XGBoost": {"engine": "xgboost"},
}


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> tuple[rf.Ranker, rf.RankingData]:
    if request.param == "of XGBoost":
        pytest.importorskip("xgboost")
    data = small_data(zeros="zero" in request.param)
    given = {key: value for key, value in PARAMS.items() if key != "min_child_samples"}
    return rf.Ranker(**given | KINDS[request.param]).fit(data), data


@pytest.fixture(scope="module")
def mixed() -> rf.Ranker:
    return rf.Ranker(**PARAMS).fit(MIXED)


def all_values(ranker: rf.Ranker, column: int) -> Any:
    """Every threshold of a feature, what is next to it on either side, and values far from all."""
    thresholds = [
        tree.threshold[tree.feature == column] for tree in ranker.model_.trees if tree.leaves > 1
    ]
    edges = np.concatenate(thresholds).astype(np.float32)
    near = [edges]
    for _ in range(2):
        near.append(np.nextafter(near[-1], np.float32(np.inf)))
    near += [np.nextafter(edges, np.float32(-np.inf))]
    others = np.r_[np.linspace(-4, 4, 161), -1e30, 1e30, 0.0, -0.0, 1e-35, -1e-35, 1e-30, -1e-30]
    return np.unique(np.concatenate([*near, others.astype(np.float32)]))


def scores_with(ranker: rf.Ranker, row: Any, column: int, values: Any) -> Any:
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, column] = values
    return ranker.predict(rows)


def test_nearest_values_are_real_and_none_is_nearer(case: Any) -> None:
    ranker, data = case
    seen = {"enough": 0, "short": 0}
    for query in range(4):
        for found in enter_several(ranker, data, query=query, k=3):
            row, bar = data.features[found.document.row], found.last.score
            assert {one.feature for one in [*found.changes, *found.short]} <= set(
                data.feature_names
            )
            for one in found.changes:
                seen["enough"] += 1
                column = data.feature_names.index(one.feature)
                values = all_values(ranker, column)
                assert scores_with(ranker, row, column, [one.to])[0] == one.score > bar
                enough = values[scores_with(ranker, row, column, values) > bar]
                if one.value is not None:
                    nearest = np.abs(enough.astype(np.float64) - row[column]).min()
                    assert abs(float(np.float32(one.to)) - float(row[column])) <= nearest + 1e-34
                within = values[
                    (values > (-np.inf if one.above is None else one.above))
                    & (values <= (np.inf if one.upto is None else one.upto))
                ]
                assert np.isin(
                    within[within != ranker.model_.parameters.get("missing")], enough
                ).all()
            for one in found.short:
                seen["short"] += 1
                column = data.feature_names.index(one.feature)
                tried = scores_with(ranker, row, column, all_values(ranker, column))
                assert tried.max() <= one.score <= bar
                assert scores_with(ranker, row, column, [one.to])[0] == one.score
    assert min(seen.values()) > 10


def test_the_smallest_change_stands_first_and_brings_the_document_in(case: Any) -> None:
    ranker, data = case
    found = rf.enter(ranker, data, query=2, document="#5", k=3)
    sizes = [one.size for one in found.changes]
    assert sizes == sorted(sizes)
    assert (found.document.rank, found.last.rank) == (5, 3)
    for one in found.changes:
        changed = data.features.copy()
        column = data.feature_names.index(one.feature)
        changed[found.document.row, column] = one.to
        again = ranker.rank(changed, group=data.group)
        assert again.rank[again.row == found.document.row] <= 3
        values = data.features[data.qid == 2, column]
        low, high = sorted([data.features[found.document.row, column], one.to])
        own = values != data.features[found.document.row, column]
        assert one.passed == ((values >= low) & (values <= high) & own).sum()


def test_a_value_that_all_documents_have_goes_last() -> None:
    X = SMALL.features.copy()
    X[:, 1] = np.repeat(X[::15, 1], 15)  # of the query
    labels = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-1, 0, 1])
    data = rf.RankingData(X, labels, group=SMALL.group)
    ranker = rf.Ranker(**PARAMS).fit(data)
    found = [one for q in range(20) for one in enter_several(ranker, data, query=q, k=3)]
    several = [one.changes for one in found if len(one.changes) > 1]
    assert any(changes[-1].feature == "Column_1" for changes in several)
    for changes in several:
        assert [one.passed is None for one in changes] == [
            one.feature == "Column_1" for one in changes
        ]
        assert "Column_1" not in [one.feature for one in changes[:-1]]


def changed_frame(found: Entry, changes: Any) -> pd.DataFrame:
    frame = FRAME[found.query == QID].copy()
    for one in changes:
        place = frame.index.get_loc(found.document.row)
        frame.iloc[place, frame.columns.get_loc(one.feature)] = one.to
    return frame


def all_entries(ranker: rf.Ranker, **given: Any) -> list[Entry]:
    return [one for q in range(20) for one in enter_several(ranker, MIXED, query=q, **given)]


def test_categories_and_gaps(mixed: rf.Ranker) -> None:
    seen: set[str] = set()
    for found in all_entries(mixed, k=5):
        for one in found.changes:
            if one.feature == "colour":
                seen.add("to a category" if one.to is not None else "to none")
                assert one.to in ("red", "green", "blue", None)
                assert one.passed is None
            elif one.value is None:
                seen.add("if it had a value")
            elif one.to is None or None in one.also:
                seen.add("if it were missing")
            for value in (one.to, *one.also):
                frame = changed_frame(found, [one._replace(to=value)])
                row = list(frame.index).index(found.document.row)
                assert mixed.predict(frame)[row] > found.last.score
    assert seen >= {"to a category", "if it had a value", "if it were missing"}


def test_gaps_are_not_offered_where_the_trees_know_none() -> None:
    ranker = rf.Ranker(**PARAMS).fit(SMALL)
    for found in enter_several(ranker, SMALL, query=1, k=3):
        assert all(one.to is not None and not one.also for one in [*found.changes, *found.short])


def test_pairs_where_one_feature_is_not_enough(mixed: rf.Ranker) -> None:
    found = [one for one in all_entries(mixed, k=1) if one.pairs]
    assert found
    for one in found:
        assert not one.changes
        for pair in one.pairs:
            assert pair[0].feature != pair[1].feature
            frame = changed_frame(one, pair)
            row = list(frame.index).index(one.document.row)
            assert mixed.predict(frame)[row] == pair[0].score == pair[1].score > one.last.score


def test_fixed_features_do_not_change(mixed: rf.Ranker) -> None:
    for found in all_entries(mixed, k=3, fixed=["a", "colour"]):
        changes = [*found.changes, *found.short, *(c for pair in found.pairs for c in pair)]
        assert {one.feature for one in changes} <= {"b"}
        assert found.features == 1
    found = rf.enter(mixed, MIXED, query=0, document="#9", k=3, fixed=["a", "b", "colour"])
    assert (found.features, found.changes, found.short, found.pairs) == (0, [], [], [])
    assert "the trees look at no feature that may change" in found.table(encoding="utf-8")


def test_scores_to_start_from_count(mixed: rf.Ranker) -> None:
    start = np.random.default_rng(1).normal(size=MIXED.rows)
    data = rf.RankingData(FRAME, LABELS, qid=QID, init_score=start)
    found = rf.enter(mixed, data, query=3, document="#7", k=5)
    row = found.document.row
    assert found.changes
    for one in found.changes:
        changed = changed_frame(found, [one])
        at = list(changed.index).index(row)
        assert (
            mixed.predict(changed, init_score=start[QID == 3])[at] == one.score > found.last.score
        )


def test_a_document_of_the_top_k_needs_nothing(mixed: rf.Ranker) -> None:
    found = rf.enter(mixed, MIXED, query=3, document="#5", k=5)
    assert found.is_inside
    assert (found.changes, found.short) == ([], [])
    assert found.table(encoding="utf-8").endswith("is in the top 5 as it is")
    assert rf.enter(mixed, MIXED, query=3, document="#20", k=50).is_inside
    assert enter_several(mixed, MIXED, query=3, k=20) == []


def test_the_next_documents_by_default(mixed: rf.Ranker) -> None:
    several = enter_several(mixed, MIXED, query=3, k=5)
    assert [one.document.rank for one in several] == [6, 7, 8, 9, 10]
    text = show_entries(several, width=100, encoding="utf-8")
    assert text.startswith("query 3: to enter the top 5, above d")
    for one in several:
        assert f"\n{one.document.name} (rank {one.document.rank}, " in text


def test_words_hold_where_digits_are_left_out(case: Any) -> None:
    ranker, data = case
    for found in enter_several(ranker, data, query=3, k=3):
        row = data.features[found.document.row]
        for one in found.changes:
            column = data.feature_names.index(one.feature)
            for part in one.words.split(", "):
                assert scores_with(ranker, row, column, [said(part)])[0] > found.last.score


def said(words: str) -> Any:
    """A value that is as words say, next to their end."""
    if words == "or missing":
        return np.nan
    end = np.float32(words.split()[-1])
    if words.startswith(("above", "below")):
        up = words.startswith("above")
        return 1.1e-35 * (1 if up else -1) if end == 0 else np.nextafter(end, LARGEST)
    return end


def test_json_holds_all_of_it(mixed: rf.Ranker) -> None:
    for found in all_entries(mixed, k=2)[:20]:
        record = json.loads(json.dumps(found.record(), allow_nan=False))
        assert record["document"]["rank"] == found.document.rank
        assert [one["to"] for one in record["changes"]] == [one.to for one in found.changes]
        assert [one["words"] for one in record["short"]] == [one.words for one in found.short]
        assert len(record["pairs"]) == len(found.pairs)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_text_fits_the_terminal(mixed: rf.Ranker, columns: int, encoding: str) -> None:
    entries = all_entries(mixed, k=1)
    assert {bool(one.changes) for one in entries} == {True, False}
    for found in entries:
        text = found.table(columns, encoding=encoding)
        assert max(map(text_width, text.splitlines())) <= columns
        text.encode(encoding)
        assert ("no feature is enough" in text) == (not found.changes)
        assert ("greedily" in " ".join(text.split())) == bool(found.pairs)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"document": "#3", "k": 0}, "k is 0: it must be an integer from 1 up"),
        ({"document": "#3", "fixed": ["colours"]}, "no feature 'colours' to hold fixed: the close"),
        ({"document": "x9"}, "no document 'x9' among the 20 of query 1"),
    ],
)
def test_a_mistake_is_told(mixed: rf.Ranker, given: Any, message: str) -> None:
    with pytest.raises(rf.RankforceError) as caught:
        rf.enter(mixed, MIXED, query=1, **given)
    assert message in str(caught.value)


def test_models_that_are_not_trees_alone() -> None:
    class Outside:
        def predict(self, features: Any) -> Any:
            return np.zeros(len(features))

    upon = rf.Ranker(**PARAMS, base=Outside()).fit(SMALL)
    with pytest.raises(rf.RankforceError, match="stands on a Outside, whose thresholds"):
        rf.enter(upon, SMALL, query=1, document="#9")
    pytest.importorskip("torch")
    linear = rf.Ranker(model="linear", epochs=1, threads=1, progress=False).fit(DATA)
    with pytest.raises(rf.RankforceError, match="enter is for models of trees: this one is a net"):
        rf.enter(linear, DATA, query=1, document="#9")


def test_a_change_says_what_also_does() -> None:
    one = Change("colour", "red", "blue", None, None, ["green", None], None, 1.0, 2.0, True)
    assert one.words == "blue, or green, or missing"


@pytest.mark.parametrize(
    ("value", "to", "above", "upto", "words"),
    [
        (3.0, 5.1, 5.0, 7.5, "above 5, up to 7.5"),
        (9.0, 7.5, 5.0, 7.5, "at most 7.5, above 5"),
        (None, 7.5, 5.0, 7.5, "above 5, up to 7.5"),
        (9.0, 0.0, -1.0000001e-35, 1e-35, "0"),
        (9.0, 0.0, None, 1e-35, "at most 0"),
        (-9.0, 0.0, -1.0000001e-35, None, "from 0"),
        (0.0, 1.0000001e-35, 1e-35, 3.0, "above 0, up to 3"),
        (0.0, -1.0000001e-35, None, -1.0000001e-35, "below 0"),
        (0.0, 0.0041152486, 0.0041152486, None, "above 0.0041153"),
        (9.0, 0.0041152486, None, 0.0041152486, "at most 0.0041152"),
        (0.0, 1.234560, 1.23455, 1.23456, "above 1.23455, up to 1.23456"),
    ],
)
def test_ends_in_words(value: Any, to: float, above: Any, upto: Any, words: str) -> None:
    assert Change("x", value, to, above, upto, [], 0, 0.1, 1.0, True).words == words
