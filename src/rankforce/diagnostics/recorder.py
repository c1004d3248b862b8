"""Record diagnostics while training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rankforce.common.checks import check_choice, check_whole
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.diagnostics.coherence import find_incoherence, share_agreeing
from rankforce.diagnostics.grades import Sample, sample_queries
from rankforce.diagnostics.pairs import (
    Contributions,
    EffectivePairs,
    NormFactors,
    find_contributions,
    find_contributions_by_size,
    possible_pairs,
)
from rankforce.diagnostics.ranks import LabelMix, find_label_mix, find_rank_changes
from rankforce.diagnostics.view import Now, Scene, View, rank_rows
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import check_missed
from rankforce.measures.metric import Metric, mean
from rankforce.measures.scoreboard import Scoreboard
from rankforce.models.curves import SIGNED, STEP, TREE, Curves

TOP = 3  # positions at the top, as Svore et al. 2011 look at
Values = dict[str, float]


def _incoherence(view: View, top: int) -> Values:
    restricted = find_incoherence(view, restricted=True)
    wide = find_incoherence(view, restricted=False)
    return {
        "restricted": restricted.share,
        "unrestricted": wide.share,
        "violations": restricted.mean_violations,
        "size": restricted.mean_size,
        "violations_unrestricted": wide.mean_violations,
        "size_unrestricted": wide.mean_size,
    }


def _pairs(view: View, top: int) -> Values:
    sizes = view.scene.index.sizes
    found = EffectivePairs(view.trace.counts, possible_pairs(sizes))
    return {
        "absolute": float(found.counts.mean()) if len(sizes) else 0.0,
        "relative": float(found.relative.mean()) if len(sizes) else 0.0,
        "without_force": float(found.without_force.mean()) if len(sizes) else 0.0,
    }


def _by_label(found: Contributions | LabelMix) -> Values:
    return dict(zip(found.labels, found.shares.tolist(), strict=True))


def _contributions(view: View, top: int) -> Values:
    return _by_label(find_contributions(view))


def _contributions_by_size(view: View, top: int) -> Values:
    return _by_label(find_contributions_by_size(view))


def _label_mix(view: View, top: int) -> Values:
    return _by_label(find_label_mix(view.ranked, view.scene.index, view.scene.grades, top))


def _rank_changes(view: View, top: int) -> Values:
    assert view.before is not None
    before = rank_rows(view.before, view.scene.index, view.threads)
    found = find_rank_changes(before, view.ranked, view.scene.index, top)
    return {"top": found.top, "overall": found.overall}


def _norm_factors(view: View, top: int) -> Values:
    found = NormFactors(view.trace.factors).quantiles
    return dict(zip(("low", "median", "high"), found, strict=True))


CHANGES = "rank_changes"  # the only ones that need the scores of a step before
# What a recorder can record: name -> values of one view.
MEASURES: dict[str, Callable[[View, int], Values]] = {
    "incoherence": _incoherence,
    "pairs": _pairs,
    "contributions": _contributions,
    "contributions_by_size": _contributions_by_size,
    "label_mix": _label_mix,
    CHANGES: _rank_changes,
    "norm_factors": _norm_factors,
}

# What each of them says, for people who read the numbers.
MEANINGS = {
    "incoherence": "share of queries where forces push a wrong order further apart, restricted to "
    "false and missed top-k documents or not; violations per query, and their size",
    "pairs": "pairs that push, per query; relative to n(n-1)/2; share of queries without any",
    "contributions": "share of the force on highly relevant documents by the other's label, "
    "without a norm; below 0 where that label pushes down",
    "contributions_by_size": "the same by magnitudes under the norm, mean over the documents",
    "label_mix": "share of each label among the top positions",
    CHANGES: "share of positions that the last tree or epoch gave another document",
    "norm_factors": "what the norm multiplies a query's forces by: 10 %, 50 %, 90 % of queries",
    "metrics": "means over the queries looked at",
    "agreement": "share of documents that both objectives push the same way",
}


class Recorder:
    """A callback that records diagnostics of the training set every so many trees, or epochs.

    `what` are names out of `MEASURES` (all by default); `metrics` are recorded beside them (None:
    those that the run watches, "": none), and so is the agreement of the trained objective with
    another one, `against`. `k` is the cutoff of
    coherence (by default the objective's), `top` the number of positions that label mix and rank
    changes look at, `high` the label from which on a document is highly relevant, `missed` which
    documents a top k misses (as in `rf.objective`; by default the objective's). Of a large set
    `queries` queries are looked at, always the same ones (None: all).

    `curves` has what was recorded; the model keeps it too, and is saved with it.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> recorder = rf.Recorder(["incoherence", "pairs"], every=2, metrics="ndcg@5")
    >>> ranker = rf.Ranker(n_estimators=5, k=5, progress=False).fit(data, callbacks=[recorder])
    >>> recorder.curves.steps, sorted(recorder.curves.series)
    ([1, 3, 5], ['incoherence', 'metrics', 'pairs'])
    """

    def __init__(
        self,
        what: str | Iterable[str] | None = None,
        *,
        every: int = 10,
        k: int | None = None,
        top: int = TOP,
        high: float | None = None,
        missed: str | None = None,
        metrics: Any = None,
        against: AnyObjective | None = None,
        queries: int | None = 2000,
    ) -> None:
        names = [*MEASURES] if what is None else [what] if isinstance(what, str) else list(what)
        for name in names:
            check_choice("diagnostic", name, MEASURES)
        self.what = names
        self.every = check_whole("every", every, least=1)
        self.top = check_whole("top", top, least=1)
        self.queries = None if queries is None else check_whole("queries", queries, least=1)
        self.k = None if k is None else check_whole("k", k, least=1)
        self.high = high
        self.missed = None if missed is None else check_missed(missed)
        self.metrics = metrics
        self.against = against
        self.curves = Curves()
        self._model: Any = None  # of the run that is watched
        self._before: Floats | None = None

    def see_start(self, start: Any) -> None:
        """Before the first new step: what of an interrupted run belongs to this one."""
        is_kept = start.model.diagnostics is not None
        self._begin(start)
        self._before = self._take(start.scores)
        done, end = start.begin_iteration, start.end_iteration
        if not is_kept:
            return
        self.curves.choose([step for step in self.curves.steps if self._is_due(step, end)])
        # An interrupt may come when the tree is there, but before a look at it.
        if done > start.first and self._is_due(done, end) and done not in self.curves.steps:
            now = self._now(start, done)
            self.look(done, self._before, now, before=self._take(start.before))

    def __call__(self, moment: Any) -> None:
        """After each step."""
        if moment.model is not self._model:
            self._begin(moment)
        step = moment.iteration + 1
        if self._is_due(step, moment.end_iteration):
            self.look(step, self._take(moment.scores), self._now(moment, step))
        if self._is_due(step + 1, moment.end_iteration):
            self._before = self._take(moment.scores)

    def _is_due(self, step: int, end: int) -> bool:
        return (step - 1) % self.every == 0 or step == end

    def _now(self, moment: Any, step: int) -> Now:
        """What decides the forces that made a step, apart from scores."""
        norm = moment.model.parameters.get("norm", "lightgbm")
        return Now(norm, max(step - 1 - moment.model.base_steps, 0), moment.threads)

    def _begin(self, moment: Any) -> None:
        """A new run, or one that goes on from a checkpoint, with what was recorded there."""
        self._model = moment.model
        self.curves = Curves()
        kept = moment.model.diagnostics
        watched = moment.model.parameters.get("eval_metric", ())
        step = moment.model.scorer.step
        self.watch(moment.objective, moment.data, index=moment.queries, watched=watched, step=step)
        if kept is not None and moment.begin_iteration:
            kept.keep(moment.begin_iteration)
            kept.about = self.curves.about
            self.curves = kept
        self._before = None
        moment.model.diagnostics = self.curves

    def watch(
        self,
        objective: AnyObjective,
        data: RankingData,
        *,
        index: QueryIndex | None = None,
        name: str = "training",
        watched: Sequence[str] = (),
        step: str = TREE,
    ) -> None:
        """Get ready to look at a data set; `watched` are the metrics that its run follows.

        A `step` of the run is a tree, or an epoch.
        """
        self.sample: Sample = sample_queries(data, index or data.index, self.queries)
        labels, queries = self.sample.labels, self.sample.queries
        self.scene = Scene(objective, labels, queries, k=self.k, high=self.high, missed=self.missed)
        self._other = None if self.against is None else self.against.bind(labels, queries)
        metrics = self._make_metrics(objective, watched)
        self._board = Scoreboard(metrics, labels, index=queries) if metrics else None
        count = len(queries.sizes)
        shown = f"{count} queries" if count == len(data.sizes) else f"{count} of {len(data.sizes)}"
        self.curves.about = {
            "data": f"{name}, {shown}",
            "objective": objective.name,
            "k": str(self.scene.k),
            "top": str(self.top),
            "high": f"{self.scene.high:g}",
            **SIGNED,
        }
        if step != TREE:
            self.curves.about[STEP] = step
        if self.scene.grades.missed != "deficit":
            self.curves.about["missed"] = self.scene.grades.missed
        if self.against is not None:
            self.curves.about["against"] = self.against.name

    def _make_metrics(self, objective: AnyObjective, watched: Sequence[str]) -> list[Metric]:
        from rankforce.training.eval_functions import of_queries
        from rankforce.training.watch import make_metrics, watched_metrics

        if self.metrics is None:
            return watched_metrics(watched, objective, k=self.scene.k)
        made = make_metrics(self.metrics, objective, k=self.scene.k) if self.metrics else []
        return of_queries(made)

    def _take(self, scores: Floats) -> Floats:
        return scores[self.sample.rows]

    def look(self, step: int, scores: Floats, now: Now, *, before: Floats | None = None) -> None:
        """Record what is to be seen at the scores of the sample; `before` are those a step ago."""
        earlier = self._before if before is None else before
        # Before the first tree all scores tie.
        earlier = np.zeros(len(scores)) if earlier is None else earlier
        view = self.scene.view(scores, now, before=earlier)
        found = {name: MEASURES[name](view, self.top) for name in self.what}
        if self._board is not None:
            values = self._board.values(scores, threads=now.threads)
            names = [metric.name for metric in self._board.metrics]
            means = [mean(row, self.sample.weights) for row in values]
            found["metrics"] = dict(zip(names, means, strict=True))
        if self._other is not None:
            other = view.forces_of(self._other)
            found["agreement"] = {"share": share_agreeing(view.forces, other)}
        self.curves.add(step, found)
