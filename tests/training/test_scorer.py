"""A ranker bound for production gives what `predict` and `rank` give, to the bit."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankforce as rf
from rankforce.models.forest.early_exit import make_stages
from rankforce.training.ranker import Ranker

SMALL: dict[str, Any] = {"n_estimators": 20, "num_leaves": 7, "progress": False, "threads": 1}


@pytest.fixture(scope="module")
def data() -> Any:
    return rf.make_data("mslr", queries=30, seed=1)


@pytest.fixture(scope="module")
def ranker(data: Any) -> Ranker:
    return rf.Ranker("lambdarank-ndcg", k=5, **SMALL).fit(data)


def lists(data: Any) -> list[Any]:
    ends = np.cumsum(data.sizes)
    return [data.features[end - size : end] for end, size in zip(ends, data.sizes, strict=True)]


def agrees(scorer: Any, ranker: Ranker, documents: Any) -> None:
    lists = {"group": [len(documents)]} if ranker.needs_lists else {}
    expected = ranker.predict(documents, **lists)
    assert np.array_equal(scorer.scores(documents), expected)
    best = scorer(documents)
    order = np.lexsort((np.arange(len(expected)), -expected))[: scorer.top]
    assert best.row.tolist() == order.tolist()
    assert np.array_equal(best.score, expected[order])


@pytest.mark.parametrize("early_exit", [False, True])
@pytest.mark.parametrize("top", [1, 3, 10, 10_000])
def test_every_list_is_ranked_as_by_the_ranker(
    data: Any, ranker: Ranker, top: int, early_exit: bool
) -> None:
    scorer = ranker.scorer(top=top, early_exit=early_exit)
    for documents in lists(data):
        agrees(scorer, ranker, documents)


def test_all_documents_without_a_top(data: Any, ranker: Ranker) -> None:
    agrees(ranker.scorer(), ranker, data.features[:77])
    agrees(ranker.scorer(threads=2), ranker, np.tile(data.features, (4, 1)))


def test_leaving_out_early_leaves_something_out() -> None:
    """Later trees add next to nothing here: then few rows come to the last of them."""
    data = rf.make_data("yahoo", queries=30, seed=2)
    rates = [0.3] * 5 + [1e-4] * 15
    made = rf.Ranker("lambdarank-ndcg", **SMALL | {"learning_rate": rates}).fit(data)
    stages = make_stages(made.model_.trees)
    assert len(stages) > 1
    documents = data.features[:400]
    seen = []
    for stage in stages:
        usual = stage.scoring.add_block
        stage.scoring.add_block = lambda block, *rest, usual=usual: (  # type: ignore[method-assign]
            seen.append(len(block)) or usual(block, *rest)
        )
    scorer = made.scorer(top=5, early_exit=True)
    scorer._stages = stages
    agrees(scorer, made, documents)
    assert seen[-1] < seen[0] == 400


def test_equal_scores_go_by_row(ranker: Ranker, data: Any) -> None:
    documents = np.repeat(data.features[:20], 4, axis=0)
    for early_exit in (False, True):
        agrees(ranker.scorer(top=6, early_exit=early_exit), ranker, documents)


def test_frames_in_any_order_of_columns(ranker: Ranker, data: Any) -> None:
    scorer = ranker.scorer(top=5)
    array = data.features[:40]
    names = ranker.feature_name_
    frame = pd.DataFrame(array, columns=names)
    expected = scorer(array)
    turned = frame[names[::-1]].assign(note="text")
    for one in (
        frame,
        frame.astype(np.float64),
        frame[names[::-1]],
        turned,
        pl.DataFrame(array, schema=names),
        pl.DataFrame(array, schema=names)[names[::-1]],
        frame,
    ):
        found = scorer(one)
        assert np.array_equal(found.row, expected.row)
        assert np.array_equal(found.score, expected.score)


def test_categories_and_missing_values() -> None:
    rng = np.random.default_rng(3)
    rows = 300
    frame = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    frame["c"] = pd.Categorical(rng.choice(["x", "y", "z"], rows))
    frame.loc[::7, "a"] = -999.0
    labels = (frame["c"] == "y").astype(int) + (frame["a"] > 0)
    made = rf.Ranker(**SMALL, missing=-999.0).fit(frame, labels, group=[30] * 10)
    agrees(made.scorer(top=4), made, frame[:50])


def test_networks_and_bases(data: Any, ranker: Ranker) -> None:
    pytest.importorskip("torch")
    for model in ("linear", "attention"):
        more = {"epochs": 1, "hidden": [4]} if model != "linear" else {"epochs": 1}
        made = rf.Ranker(model=model, progress=False, **more).fit(data)
        agrees(made.scorer(top=3), made, data.features[:50])
    upon = rf.Ranker(**SMALL, base=made).fit(data)
    agrees(upon.scorer(top=3), upon, data.features[:50])


def test_later_training_does_not_change_it(data: Any) -> None:
    made = rf.Ranker(**SMALL).fit(data)
    scorer = made.scorer()
    before = scorer.scores(data.features)
    made.set_params(n_estimators=3).fit(data)
    assert np.array_equal(scorer.scores(data.features), before)
    assert not np.array_equal(made.predict(data.features), before)


def test_threads_share_one(data: Any, ranker: Ranker) -> None:
    scorer = ranker.scorer(top=5)
    expected = [scorer(documents) for documents in lists(data)]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            for number, documents in enumerate(lists(data)):
                if not np.array_equal(scorer(documents).score, expected[number].score):
                    wrong.append(number)

    several = [threading.Thread(target=work) for _ in range(4)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert not wrong


def test_mistakes_are_told(data: Any, ranker: Ranker) -> None:
    scorer = ranker.scorer(top=2)
    with pytest.raises(ValueError, match=r"shape \(3, 5\): the model has 136 features"):
        scorer(np.zeros((3, 5), np.float32))
    with pytest.raises(ValueError, match="top is 0"):
        ranker.scorer(top=0)
    with pytest.raises(ValueError, match="early_exit is for the best documents of trees"):
        ranker.scorer(early_exit=True)
    frame = pd.DataFrame(data.features[:3], columns=ranker.feature_name_)
    with pytest.raises(ValueError, match=ranker.feature_name_[4]):
        scorer(frame.drop(columns=ranker.feature_name_[4]))


def test_no_documents(ranker: Ranker) -> None:
    best = ranker.scorer(top=3)(np.empty((0, 136), np.float32))
    assert len(best.row) == len(best.score) == 0
