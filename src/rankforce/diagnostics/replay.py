"""Diagnostics of a trained model, afterwards, on any data: its trees are added one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankforce._objectives.base import AnyObjective
from rankforce._objectives.make import objective as make_objective
from rankforce._objectives.mixed import make_one
from rankforce._objectives.preferences import NAME as PREFERENCES
from rankforce._objectives.registry import parse_name
from rankforce._objectives.tables import Floats
from rankforce.checks import check_whole
from rankforce.data.ranking_data import RankingData
from rankforce.diagnostics.curves import Curves
from rankforce.diagnostics.recorder import Recorder
from rankforce.diagnostics.view import Now, cutoff_of
from rankforce.model import Model
from rankforce.ranker import Ranker, make_ranker
from rankforce.training.settings import make_settings
from rankforce.trees.forest import add_scores
from rankforce.trees.tree import stack

POINTS = 25  # of a curve, unless the user says how far they are apart


def diagnose(
    model: Any,
    data: RankingData,
    *,
    objective: Any = None,
    every: int | None = None,
    name: str = "data",
    threads: int | None = None,
    **recorded: Any,
) -> Curves:
    """Diagnostics of a trained ranker on `data`, over the course of its trees.

    `objective` is the ranker's own by default, `every` such that there are about 25 points. The
    rest is as for `Recorder`.

    >>> import rankforce as rf
    >>> train, test = rf.make_data("yahoo", queries=30), rf.make_data("yahoo", queries=20, seed=1)
    >>> ranker = rf.Ranker(n_estimators=6, k=5, progress=False).fit(train)
    >>> rf.diagnose(ranker, test, every=2).trees
    [1, 3, 5, 6]
    """
    ranker = _ranker(model)
    fitted: Model = ranker.model_
    trees = fitted.used
    if every is None:
        every = max(-(-trees // POINTS), 1)
    chosen = ranker_objective(ranker) if objective is None else make_one(objective)
    recorder = Recorder(every=check_whole("every", every, least=1), **recorded)
    watched = fitted.parameters.get("eval_metric", ())
    recorder.watch(chosen, data, name=name, watched=watched)
    norm = fitted.parameters.get("norm", "lightgbm")
    count = make_settings({"threads": threads}).thread_count
    start = np.zeros(data.rows)
    if fitted.base is not None:
        start = np.asarray(fitted.base.predict(_features(fitted, data)), np.float64)
    rows = recorder.sample.rows
    for number, before, after in _stages(fitted, data, start, recorder.every, count):
        now = Now(norm, max(number - 1 - fitted.base_trees, 0), count)
        recorder.look(number, after[rows], now, before=before[rows])
    return recorder.curves


def _stages(
    model: Model, data: RankingData, start: Floats, every: int, threads: int
) -> Iterator[tuple[int, Floats, Floats]]:
    """Numbers of trees, the scores one tree earlier, and the scores."""
    features = _features(model, data)
    scores, done = start.copy(), 0
    for number in sorted({*range(1, model.used + 1, every), model.used}):
        for last in (number - 1, number):
            before = scores.copy()
            if last > done:
                add_scores(stack(model.trees[done:last]), features, scores, threads=threads)
                done = last
        yield number, before, scores


def _features(model: Model, data: RankingData) -> Any:
    if data.features.shape[1] != len(model.feature_names):
        raise ValueError(
            f"the data has {data.features.shape[1]} features, the model was trained on "
            f"{len(model.feature_names)}"
        )
    return data.with_categories(model.categories).features


def _ranker(model: Any) -> Ranker:
    if isinstance(model, Ranker):
        return model
    if isinstance(model, Model):
        return make_ranker(model)
    from rankforce.ranker import load

    return load(model)


def ranker_objective(model: Any) -> AnyObjective:
    """The objective that a ranker was trained for, made again from its settings."""
    ranker = _ranker(model)
    try:
        return ranker.settings().make_objective()
    except ValueError as error:
        raise ValueError(
            f"the objective that the model was trained for cannot be made again ({error}): give one"
        ) from None


def named_objective(model: Any, name: str | None, k: int | None = None) -> AnyObjective:
    """The objective of that name at the cutoff of the ranker's, or at `k`; without one, its own.

    >>> import rankforce as rf
    >>> named_objective(rf.Ranker(k=5), "lambdagap-x").name
    'LambdaGap-X'
    """
    if name is None:
        return ranker_objective(model)
    if name.lower() == PREFERENCES.lower() or parse_name(name).k is not None:
        return make_objective(name)
    ranker = _ranker(model)
    return make_objective(name, k=k or ranker.settings().k or cutoff_of(ranker_objective(ranker)))
