"""One call from data to a ranker: a metric and a time are all that must be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.data.ranking_data import RankingData
from rankforce.engines.base import find_engine
from rankforce.experiments.auto.candidates import Candidate, candidates
from rankforce.experiments.auto.clock import Stop
from rankforce.experiments.auto.estimate import Estimate, estimate
from rankforce.experiments.auto.folds import Folds
from rankforce.experiments.auto.plan import FOLDS, METRIC, MODEL, Plan, make_plan
from rankforce.experiments.auto.result import Auto
from rankforce.experiments.auto.search import END, LEAST, Search
from rankforce.experiments.auto.tried import Cost, Tried
from rankforce.experiments.train import open_sets
from rankforce.measures.scoreboard import Scoreboard
from rankforce.training.committee import fit_members
from rankforce.training.loading import make_ranker
from rankforce.training.ranker import Ranker
from rankforce.training.run import ScoredSet

# The first ranker: usable after seconds, and a measure of how long a tree takes.
FIRST = {"n_estimators": LEAST, "learning_rate": 0.1, "early_stopping_rounds": None}
FIRST_SHARE = 0.6  # of the time, at most
USUAL_TREES = 150  # of a candidate, to guess how much time the known ones take
FASTEST = 4.0  # trees learn at most so many times as fast where time is short
TIME, TRIALS, STOPPED = "the time was over", "all trials were made", "it was stopped by Ctrl-C"
OF_TRIALS = ("n_estimators", "early_stopping_rounds")  # what says when a trial ends


def auto(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    metric: Any = METRIC,
    budget: float | str | None = None,
    trials: int | None = None,
    valid: RankingData | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    threads: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
    **parameters: Any,
) -> Auto:
    """Choose objective, parameters and committee for a metric, in a given time.

    `X` is features or a RankingData. There is a usable ranker after seconds. Then eight objectives
    with settings that are known to be good, and after them settings drawn at random, are trained
    without each of `folds` parts of the queries, and judged by it; of those drawn, a third goes on
    after one fold, and a third of these after two (successive halving, Jamieson and Talwalkar
    2016). The committee is of those that are known, changed where queries that were not seen are
    sure of a gain. It is trained again on all queries.

    `budget` is a time ("10m", "1h", or seconds; 10 minutes by default), which is kept. `trials` is
    a number of candidates instead, or as well: without a budget, the same call gives the same
    ranker, whatever the threads. Ctrl-C ends the search: what was found until then is trained, and
    Ctrl-C once more leaves that at what is there.

    `valid` has no say: what the ranker is worth there stands beside the estimate. `out` is a
    folder for the ranker, from the first seconds on, and for the page that tells what was tried,
    what was chosen, and what is to be expected; one that has a model is refused, but with
    `overwrite`. `parameters` are those of `rf.Ranker`; all candidates have them.

    >>> import rankforce as rf
    >>> found = rf.auto(rf.make_data("yahoo", queries=30), metric="ndcg@5", trials=2, folds=2,
    ...                 n_estimators=4, progress=False)
    >>> len(found.tried), found.ended
    (2, 'all trials were made')
    """
    plan = make_plan(
        metric=metric,
        budget=budget,
        trials=trials,
        folds=folds,
        seed=seed,
        threads=threads,
        out=out,
        overwrite=overwrite,
        progress=progress,
        **parameters,
    )
    data = X if isinstance(X, RankingData) else RankingData(X, y, qid=qid, group=group)
    return _Run(plan, data, valid).go()


def auto_from(config: Mapping[str, Any], **asked: Any) -> Auto:
    """The same for files: the time that reading takes is part of the budget.

    `config` has `train`, maybe `valid`, `columns` and `labels`, as for `rf.train`; `asked` are
    arguments of `auto`, and maybe `begun`, a time of `time.monotonic` from which the budget counts.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> auto_from({"train": data}, trials=1, folds=2, n_estimators=4, progress=False).ended
    'all trials were made'
    """
    plan = make_plan(**asked)
    data, judges = open_sets(config)
    if len(judges) > 1:
        raise RankforceError(f"valid has {len(judges)} data sets: give one")
    return _Run(plan, data, judges[0] if judges else None).go()


class _Run:
    """One call: the first ranker, the search, the last training."""

    def __init__(self, plan: Plan, data: RankingData, valid: RankingData | None) -> None:
        if valid is not None and not isinstance(valid, RankingData):
            raise RankforceError(f"valid is a {type(valid).__name__}: it must be a RankingData")
        self.plan, self.clock, self.metric = plan, plan.clock, plan.metric
        self.data, self.valid = data, valid
        self.voice = Voice(plan.progress)

    def go(self) -> Auto:
        """All of it; what is there when the time is over counts."""
        plan = self.plan
        folds = Folds(self.data, self.metric, plan.folds, seed=plan.seed, threads=plan.threads)
        engine = find_engine(plan.given.get("engine"), plan.given.get("device"))
        with engine.share(plan.seed) as needed:
            first, seconds = self._first(needed)
            fast = self._pace(seconds)
            known, drawn = self._candidates(fast)
            search = Search(
                folds,
                self.clock,
                known=known,
                drawn=drawn,
                trials=plan.trials,
                needed=needed,
                fast=fast,
                seed=plan.seed,
                voice=self.voice,
            )
            ended = STOPPED
            try:
                if first.model_.finished:
                    ended = TRIALS if search.go() else TIME
            except KeyboardInterrupt:
                self.voice.say("stopped: what was found is trained; Ctrl-C again leaves it at that")
            found = self._finish(search, first, ended)
        search.say_notes()
        self.voice.end()
        if plan.place is not None:
            found.save(plan.place)
        return found

    def _candidates(self, fast: float) -> tuple[list[Candidate], Iterator[Candidate]]:
        plan = self.plan
        return candidates(self.metric, self.data.rows, seed=plan.seed, given=plan.given, fast=fast)

    def _first(self, needed: Mapping[str, Any]) -> tuple[Ranker, float]:
        """A ranker after seconds, and how long one of its trees took."""
        self.voice.say(f"{self.metric.name} on {self.data}")
        (one, *_), _ = self._candidates(1.0)
        stop = Stop(monotonic() + self.clock.share(FIRST_SHARE))
        ranker = Ranker(
            **{**needed, **one.all_settings, **FIRST},
            seed=self.plan.seed,
            threads=self.plan.threads,
            progress=False,
        )
        ranker.fit(self.data, eval_metric=self.metric, callbacks=[stop])
        if self.plan.place is not None:
            self.plan.place.mkdir(parents=True, exist_ok=True)
            ranker.save(self.plan.place / MODEL)
        trees = len(ranker.model_.trees)
        self.voice.say(f"a first ranker of {trees} trees after {self.clock.spent:.1f} s")
        return ranker, stop.seconds / max(trees - 1, 1)

    def _pace(self, seconds: float) -> float:
        """How much faster than usual trees must learn, so that two folds take half of the time."""
        known, _ = self._candidates(1.0)
        wanted = 2 * len(known) * USUAL_TREES * seconds
        return min(max(wanted / max(self.clock.share(0.5), 1e-9), 1.0), FASTEST)

    def _finish(self, search: Search, first: Ranker, ended: str) -> Auto:
        """What there is at the end."""
        try:
            ranker, members = self._last(search, first)
        except KeyboardInterrupt:
            ranker, members, ended = first, [], STOPPED
        return Auto(
            ranker,
            self.metric,
            search.tried,
            search.steps,
            members,
            ended,
            self.clock.spent,
            self.clock.budget,
            f"{self.data.rows} documents of {len(self.data.sizes)} queries",
            self._judged(ranker),
        )

    def _last(self, search: Search, first: Ranker) -> tuple[Ranker, list[Tried]]:
        """The committee of what was chosen last, and its members that there was time for."""
        if not search.steps and any(one.is_alive for one in search.tried):
            search.steps.append(search.step())
        search.folds.release()
        if not search.steps or self.clock.left < END:
            return first, []
        planned = search.steps[-1].members
        cost = Cost.of(planned, self.plan.threads)
        self.voice.say(f"trains {len(planned)} members on all queries, about {cost.all:.0f} s")
        ranker, members = self._train(planned, until=self.clock.end - cost.scoring - END)
        whole = sum(one.trees() for one in members)
        # Where there was no time for a whole member, there may be less than at first.
        is_less = ranker.model_.used < min(whole, first.model_.used)
        return (first, []) if is_less and not ranker.model_.finished else (ranker, members)

    def _train(self, members: Sequence[Tried], until: float) -> tuple[Ranker, list[Tried]]:
        """A committee on all queries, and those of its members that became whole in time.

        The best are first, and so the likeliest to.
        """
        plan = self.plan
        committee = Ranker(
            members[0].candidate.objective,
            members=[self._as_member(one) for one in members],
            seed=plan.seed,
            threads=plan.threads,
            eval_metric=self.metric,
            progress=False,
            **{name: one for name, one in plan.given.items() if name not in OF_TRIALS},
        )
        settings = committee.settings()
        data = self.data.with_missing(settings.missing)
        part = ScoredSet("training", data, data.init_score)
        model = fit_members(settings, part, until=until)
        # The seed of a member is that of the committee and its number.
        numbers = [one["settings"].get("seed", plan.seed) - plan.seed for one in model.members]
        return make_ranker(model), [members[number] for number in numbers]

    def _as_member(self, one: Tried) -> dict[str, Any]:
        settings = one.candidate.all_settings.items()
        own = {name: value for name, value in settings if name not in self.plan.given}
        return {**own, "n_estimators": one.trees()}

    def _judged(self, ranker: Ranker) -> Estimate | None:
        """What the ranker is worth on the validation set, which had no say."""
        if self.valid is None:
            return None
        board = Scoreboard([self.metric], self.valid)
        return estimate(board.values(ranker.predict(self.valid))[0], self.valid.metric_weight)
