"""Diagnostics of a trained model, afterwards, on any data: its trees are added one by one.

A network is looked at once, as it is: the weights of its earlier epochs are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import mark_missing
from rankforce.diagnostics.recorder import CHANGES, MEASURES, Recorder
from rankforce.diagnostics.view import Now, cutoff_of
from rankforce.forces.base import AnyObjective
from rankforce.forces.named import at_cutoff
from rankforce.models.curves import Curves
from rankforce.models.model import Model
from rankforce.models.outside import outside_scores
from rankforce.training.loading import load, make_ranker
from rankforce.training.ranker import Ranker

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
    rest is as for `Recorder`; objectives may be names, which get the ranker's cutoff. A network
    does not keep its past: there is one point, and no rank changes, which a `Recorder` sees while
    it is trained.

    >>> import rankforce as rf
    >>> train, test = rf.make_data("yahoo", queries=30), rf.make_data("yahoo", queries=20, seed=1)
    >>> ranker = rf.Ranker(n_estimators=6, k=5, progress=False).fit(train)
    >>> rf.diagnose(ranker, test, every=2).trees
    [1, 3, 5, 6]
    """
    ranker = _ranker(model)
    fitted: Model = ranker.model_
    if every is None:
        every = max(-(-fitted.used // POINTS), 1)
    if not fitted.scorer.is_sum:
        recorded["what"] = _without_past(recorded.get("what"), fitted.scorer.step)
    k = recorded.pop("k", None)
    k = _cutoff(ranker) if k is None else check_whole("k", k, least=1)
    chosen = ranker_objective(ranker) if objective is None else at_cutoff(objective, k)
    if recorded.get("against") is not None:
        recorded["against"] = at_cutoff(recorded["against"], k)
    recorder = Recorder(every=check_whole("every", every, least=1), k=k, **recorded)
    watched = fitted.parameters.get("eval_metric", ())
    recorder.watch(chosen, data, name=name, watched=watched, step=fitted.scorer.step)
    norm = fitted.parameters.get("norm", "lightgbm")
    count = count_threads(threads)
    start = np.zeros(data.rows) if data.init_score is None else data.init_score
    if fitted.base is not None and data.init_score is None:
        start = outside_scores(fitted.base, _features(fitted, data), data.index)
    rows = recorder.sample.rows
    for number, before, after in _stages(fitted, data, start, recorder.every, count):
        now = Now(norm, max(number - 1 - fitted.base_steps, 0), count)
        recorder.look(number, after[rows], now, before=before[rows])
    return recorder.curves


def _without_past(what: str | Iterable[str] | None, step: str) -> list[str]:
    """What is to be seen of a model without its earlier steps; what is not is refused."""
    if what is None:
        return [name for name in MEASURES if name != CHANGES]
    names = [what] if isinstance(what, str) else list(what)
    if CHANGES in names:
        raise RankforceError(
            f"{CHANGES} are between two {step}s, and the model keeps its last one alone: record "
            "them while it is trained (rf.Recorder, --diagnose)"
        )
    return names


def _stages(
    model: Model, data: RankingData, start: Floats, every: int, threads: int
) -> Iterator[tuple[int, Floats, Floats]]:
    """Numbers of steps, the scores one step earlier, and the scores."""
    features = _features(model, data)
    scores, done = start.copy(), 0
    if not model.scorer.is_sum:  # its past is not kept
        steps = range(model.used)
        model.scorer.add_scores(features, steps, scores, threads=threads, index=data.index)
        yield model.used, start, scores
        return
    for number in sorted({*range(1, model.used + 1, every), model.used}):
        for last in (number - 1, number):
            before = scores.copy()
            if last > done:
                model.scorer.add_scores(features, range(done, last), scores, threads=threads)
                done = last
        yield number, before, scores


def _features(model: Model, data: RankingData) -> Any:
    return mark_missing(data.like(model.schema).features, model.parameters.get("missing"))


def _ranker(model: Any) -> Ranker:
    if isinstance(model, Ranker):
        return model
    if isinstance(model, Model):
        return make_ranker(model)
    return load(model)


def ranker_objective(model: Any) -> AnyObjective:
    """The objective that a ranker was trained for, made again from its settings."""
    ranker = _ranker(model)
    try:
        return ranker.objective_
    except ValueError as error:
        raise RankforceError(
            f"the objective that the model was trained for cannot be made again ({error}): give one"
        ) from None


def _cutoff(ranker: Ranker) -> int | None:
    """The cutoff that a ranker was trained for, if it is known."""
    known = ranker.model_.parameters.get("k")
    if known is not None:
        return int(known)
    try:
        return cutoff_of(ranker_objective(ranker))
    except ValueError:  # made from a function: the objective that is asked for decides
        return None
