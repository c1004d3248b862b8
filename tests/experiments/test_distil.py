"""rf.distil: a small ranker that agrees with a committee, and what was lost."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import rankforce as rf
from rankforce.data.neighbours import add_neighbours
from rankforce.data.queries import index_queries
from rankforce.experiments.distil import Distilled
from rankforce.experiments.distilled import mean_tau, shared_variance

QUIET = {"progress": False, "threads": 1}


def easy(queries: int, seed: int) -> rf.RankingData:
    """Grades that two of four columns tell."""
    rng = np.random.default_rng(seed)
    features = rng.random((queries * 20, 4)).astype(np.float32)
    grades = np.floor(2 * features[:, 0] + 2 * features[:, 1])
    return rf.RankingData(features, grades, group=[20] * queries)


TRAIN, VALID = easy(60, 0), easy(40, 1)


@pytest.fixture(scope="module")
def committee() -> rf.Ranker:
    ranker = rf.Ranker(members=3, n_estimators=40, num_leaves=12, **QUIET)
    return ranker.fit(TRAIN, eval_metric="ndcg@5,mrr")


@pytest.fixture(scope="module")
def found(committee: rf.Ranker) -> Distilled:
    return rf.distil(committee, TRAIN, valid=VALID, trees=30, **QUIET)


def test_it_agrees_with_fewer_trees(committee: rf.Ranker, found: Distilled) -> None:
    assert found.sizes["committee"].trees == 120
    assert found.sizes["small"].trees == len(found.ranker.model_.trees) == 30
    for loss in found.lost.values():
        assert loss.tau > 0.85
        assert loss.r2 > 0.95
    large, small = (one.score(VALID, metric="ndcg@5") for one in (committee, found.ranker))
    assert small > large - 0.02
    first = found.lost["valid"].comparisons[0]
    assert first.means["committee"] == pytest.approx(large)
    assert first.means["small"] == pytest.approx(small)


def test_labels_change_the_table_alone(committee: rf.Ranker, found: Distilled) -> None:
    bare = rf.RankingData(TRAIN.features, group=TRAIN.group)
    again = rf.distil(committee, bare, trees=30, **QUIET)
    assert again.ranker.model_.text() == found.ranker.model_.text()
    assert again.lost["training"].comparisons == []
    assert again.lost["training"].tau == found.lost["training"].tau
    assert "NDCG" not in repr(again)
    arrays = rf.distil(committee, TRAIN.features, TRAIN.labels, group=TRAIN.group, trees=3, **QUIET)
    assert [one.metric.name for one in arrays.lost["training"].comparisons] == ["NDCG@5", "MRR"]


def test_a_saved_model_does_as_well(committee: rf.Ranker, found: Distilled, tmp_path: Path) -> None:
    committee.save(tmp_path / "large")
    again = rf.distil(rf.load(tmp_path / "large"), TRAIN, valid=VALID, trees=30, **QUIET)
    assert again.ranker.model_.text() == found.ranker.model_.text()
    again.ranker.save(tmp_path / "small")
    small = rf.load(tmp_path / "small")
    assert np.array_equal(small.predict(VALID), found.ranker.predict(VALID))
    told = json.loads((tmp_path / "small" / "manifest.json").read_text())["distilled"]
    assert told["from"] == "a committee of 3"
    assert told["digest"] == committee.model_.scorer.digest(120)
    assert (told["trees"], told["leaves"], told["neighbours"]) == (120, 1440, 1)
    page = rf.write_report({"small": small}, VALID, out=tmp_path / "page.html").read_text()
    assert "distilled from a committee of 3" in page
    assert small.contributions(VALID).shape == (VALID.rows, 5)


def test_the_same_bytes_at_any_number_of_threads(committee: rf.Ranker, tmp_path: Path) -> None:
    for threads in (1, 2):
        given = {"threads": threads, "progress": False, "trees": 5, "neighbours": 2}
        rf.distil(committee, TRAIN, valid=VALID, **given).ranker.save(tmp_path / str(threads))
    for name in ("model.txt", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_one_large_ranker_and_its_constraints() -> None:
    large = rf.Ranker("ranknet", n_estimators=40, monotone_constraints=[1, 1, 0, 0], **QUIET)
    found = rf.distil(large.fit(TRAIN), TRAIN, trees=10, neighbours=0, metric="p@3", **QUIET)
    assert found.ranker.model_.distilled["from"] == "rf.objective('RankNet')"
    assert [one.metric.name for one in found.lost["training"].comparisons] == ["P@3"]
    line = np.full((50, 4), 0.5, np.float32)
    line[:, 0] = np.linspace(0, 1, 50)
    assert (np.diff(found.ranker.predict(line)) >= 0).all()


def test_scores_to_start_from_count_once(committee: rf.Ranker, found: Distilled) -> None:
    start = 100.0 * np.arange(TRAIN.rows)
    data = rf.RankingData(TRAIN.features, TRAIN.labels, group=TRAIN.group, init_score=start)
    again = rf.distil(committee, data, trees=30, **QUIET)
    assert again.ranker.model_.text() == found.ranker.model_.text()
    assert again.lost["training"].tau == pytest.approx(1.0)


def test_scores_have_the_scale_of_the_committees(committee: rf.Ranker, found: Distilled) -> None:
    large, small = (
        one.predict(TRAIN) - np.repeat(one.predict(TRAIN).reshape(-1, 20).mean(axis=1), 20)
        for one in (committee, found.ranker)
    )
    assert small @ large / (small @ small) == pytest.approx(1.0, abs=0.02)
    parts = found.ranker.contributions(TRAIN).sum(axis=1)
    assert np.allclose(parts, found.ranker.predict(TRAIN))


def test_categories_keep_their_codes() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TRAIN.features, columns=list("abcd"))
    frame["shop"] = pd.Categorical(np.where(TRAIN.labels > 1, "good", "bad"))
    data = rf.RankingData(frame, TRAIN.labels, group=TRAIN.group)
    large = rf.Ranker(n_estimators=20, **QUIET).fit(data)
    small = rf.distil(large, data, trees=20, **QUIET).ranker
    other = frame.assign(shop=frame["shop"].cat.reorder_categories(["good", "bad"]))
    assert np.array_equal(small.predict(other[["shop", *"dcba"]]), small.predict(data))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"trees": 0}, "trees is 0: it must be an integer from 1 up"),
        ({"leaves": 1}, "leaves is 1: it must be an integer from 2 up"),
        ({"neighbours": -1}, "neighbours is -1: it must be an integer from 0 up"),
        ({"members": 2}, "members is 2: distil itself decides that"),
        ({"learning_rate": 0}, "learning_rate is 0: it must be a number above 0"),
        ({"valid": TRAIN.features}, "valid is a ndarray: it must be a RankingData"),
        ({"metric": "nothing"}, "unknown metric 'nothing'"),
        ({"metric": "mrr(source=click)"}, "reads the labels 'click'"),
        ({"committee": "run/"}, "committee is a str: give a ranker"),
        ({"committee": rf.Ranker()}, "not trained yet"),
        ({"X": rf.RankingData(TRAIN.features[:, :3], group=TRAIN.group)}, "3 features"),
        ({"X": TRAIN.features}, "rankers need queries"),
    ],
)
def test_mistakes_are_one_sentence(committee: rf.Ranker, given: dict[str, Any], words: str) -> None:
    with pytest.raises(rf.RankforceError) as error:
        rf.distil(**{"committee": committee, "X": TRAIN, **QUIET, **given})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_the_table_in_other_forms(found: Distilled) -> None:
    assert found.table("markdown").startswith("|")
    rows = json.loads(found.table("json"))
    assert {row["section"].split(":")[0] for row in rows} == {"training", "valid", "size"}
    records = found.records()
    assert {one["measure"] for one in records if one["set"] == "valid"} == {
        *("NDCG@5", "MRR", "tau", "r2")
    }
    assert json.loads(json.dumps(records)) == records


class TestNeighbours:
    """Rows that are made up."""

    FEATURES = np.random.default_rng(5).random((9, 40)).astype(np.float32)
    QID = np.array([1, 2, 1, 2, 3, 1, 2, 1, 2])  # 3 has one row
    KEYS = np.arange(9, dtype=np.uint64)

    def made(self, features: Any, count: int = 2, seed: int = 0) -> Any:
        return add_neighbours(
            features, index_queries(9, qid=self.QID), self.KEYS, count=count, seed=seed
        )

    def test_every_column_is_its_own_or_that_of_one_other_of_the_query(self) -> None:
        found = self.made(self.FEATURES)
        assert np.array_equal(found[:9], self.FEATURES)
        shares = []
        for number, row in enumerate(found[9:]):
            own = number % 9
            others = np.flatnonzero(self.QID[own] == self.QID)
            foreign = row != self.FEATURES[own]
            fits = [o for o in others if (row[foreign] == self.FEATURES[o][foreign]).all()]
            assert fits
            shares.append(foreign.mean())
        assert shares[4] == shares[13] == 0  # there is no other
        assert 0.2 < np.mean(np.delete(shares, [4, 13])) < 0.4
        assert not np.array_equal(found[9:18], found[18:])

    def test_sparse_rows_and_small_blocks_are_the_same(self, monkeypatch: Any) -> None:
        whole = self.made(self.FEATURES)
        monkeypatch.setattr("rankforce.data.sources.BLOCK", 8 * 40 * 2)
        assert np.array_equal(self.made(self.FEATURES), whole)
        assert np.array_equal(self.made(sparse.csr_matrix(self.FEATURES)).toarray(), whole)

    def test_seeds_differ_and_none_is_none(self) -> None:
        assert not np.array_equal(self.made(self.FEATURES), self.made(self.FEATURES, seed=1))
        assert np.array_equal(self.made(self.FEATURES, count=0), self.FEATURES)


def test_agreement_by_its_definition() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 5, (2, 30)).astype(float)
    taus, moments = [], np.zeros(3)
    for rows in (range(12), range(12, 29)):
        a, b = first[rows], second[rows]
        pairs = [
            (np.sign(a[i] - a[j]), np.sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)
        ]
        size = [sum(one[side] ** 2 for one in pairs) for side in (0, 1)]
        taus.append(sum(p * q for p, q in pairs) / np.sqrt(size[0] * size[1]))
        moments += len(a) * np.cov(a, b, ddof=0)[[0, 0, 1], [0, 1, 1]]
    index = index_queries(30, group=[12, 17, 1])
    assert mean_tau(first, second, index) == pytest.approx(np.mean(taus))
    expected = moments[1] ** 2 / (moments[0] * moments[2])
    assert shared_variance(first, second, index) == pytest.approx(expected)
