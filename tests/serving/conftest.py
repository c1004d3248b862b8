"""Models that servers of the tests serve, and one server that many tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import rankforce as rf
from tests.serving.running import Running, running

NAMES = ["bm25", "age", "clicks"]


class Known(NamedTuple):
    """A model in a folder, as this process has it."""

    folder: Path
    ranker: rf.Ranker


def train(folder: Path, *, seed: int, objective: str = "lambdarank-ndcg", trees: int = 5) -> Known:
    draw = np.random.default_rng(seed)
    features = draw.random((400, len(NAMES)), dtype=np.float32)
    labels = np.floor(3 * (features[:, 0] + 0.3 * draw.random(400)) / 1.3)
    data = rf.RankingData(features, labels, group=[20] * 20, feature_names=NAMES)
    ranker = rf.Ranker(objective, k=5, n_estimators=trees, num_leaves=7, progress=False)
    ranker.fit(data, eval_set=[data]).save(folder)
    return Known(folder, ranker)


def train_colours(folder: Path) -> Known:
    import pandas as pd

    draw = np.random.default_rng(5)
    colours = np.array(["red", "green", "blue"])[draw.integers(0, 3, 400)]
    frame = pd.DataFrame({"colour": pd.Categorical(colours), "age": draw.random(400)})
    labels = (colours == "red") * 1.0 + (frame["age"] > 0.5)
    ranker = rf.Ranker(n_estimators=5, num_leaves=7, min_child_samples=2, progress=False)
    ranker.fit(frame, labels, group=[20] * 20).save(folder)
    return Known(folder, ranker)


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Known:
    return train(tmp_path_factory.mktemp("models") / "first", seed=1)


@pytest.fixture(scope="session")
def second(tmp_path_factory: pytest.TempPathFactory) -> Known:
    return train(tmp_path_factory.mktemp("models") / "second", seed=2, objective="ranknet")


@pytest.fixture(scope="session")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Known:
    return train_colours(tmp_path_factory.mktemp("models") / "colours")


@pytest.fixture(scope="module")
def server(
    first: Known, second: Known, colours: Known, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    others = (f"--model=second={second.folder}", f"--model=colours={colours.folder}")
    with running(tmp_path_factory.mktemp("server"), first.folder, *others) as one:
        yield one


@pytest.fixture(scope="session")
def rows() -> np.ndarray:
    return np.random.default_rng(9).random((30, len(NAMES)), dtype=np.float32)
