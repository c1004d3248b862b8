"""A search for the settings that rank best, on queries that training does not see."""

from __future__ import annotations

import itertools
import queue
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.files import check_folder
from rankforce.common.live_line import Voice, clock
from rankforce.common.pool import Pool, Task
from rankforce.common.threads import count_threads
from rankforce.common.types import Floats
from rankforce.data.queries import query_folds
from rankforce.data.ranking_data import RankingData
from rankforce.engines.base import find_engine
from rankforce.experiments.search import make_searcher
from rankforce.experiments.space import Point, default_space, place, read_space, start_of
from rankforce.experiments.train import DATA_KEYS, open_sets
from rankforce.experiments.trials import DONE, FAILED, PRUNED, Follow, Storage, Trial
from rankforce.experiments.tuning import Tuning
from rankforce.forces.auto import Choice, is_auto
from rankforce.forces.base import AnyObjective
from rankforce.formats.streams import is_stream
from rankforce.training.aliases import ALIASES
from rankforce.training.eval_functions import of_queries
from rankforce.training.members import OF_OBJECTIVES
from rankforce.training.networks import TREES, kind_of_model
from rankforce.training.ranker import Ranker
from rankforce.training.resume import fingerprint
from rankforce.training.settings import settle_auto
from rankforce.training.watch import Watched, best_iteration, make_metrics

TRIALS = 40  # as Adalia et al. 2025, section 6.4, and as many trees as there
USUAL = {"n_estimators": 1000, "early_stopping_rounds": 100}
# What a config may say of the search itself, under [tune].
ASKED = ("folds", "metric", "searcher", "trials", "time", "jobs", "space", "prune")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def tune(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    valid: RankingData | None = None,
    folds: int | None = None,
    metric: Any = None,
    space: Mapping[str, Any] | None = None,
    searcher: str = "optuna",
    trials: int | None = None,
    time: float | str | None = None,
    jobs: int = 1,
    prune: bool = True,
    storage: str | Path | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Tuning:
    """Search for settings of a ranker: train with some, see how it ranks, and again.

    `X` is features or a RankingData, `valid` a RankingData that judges; without it, each of `folds`
    (5) parts of the queries judges a ranker trained on the others. A query is never split. The
    value of a trial is the best mean of `metric` (default: the one that the objective is for) after
    any number of trees, over folds of their mean.

    `parameters` are those of `rf.Ranker`, and are not searched. `space` has what is: a list of
    choices or a table with low, high, and maybe log and whole, by the names of settings; a name
    such as "objective.mix.1.weight" leads into the objective's table. By default it is that of
    Adalia et al. 2025, Table 7: leaves, documents and weight of a leaf, learning rate, and tau, mu
    or the strategy where the objective has one. The first trial is the settings as they are.

    `searcher` is "optuna", "flaml" (CFO, as Adalia et al. used) or "random"; it goes on for so many
    `trials` (40), or begins none after a `time` (seconds, or "10m", "2h"). `jobs` trials run at a
    time, on data that is loaded and binned once. `prune` stops trials that are behind the median of
    those before. `storage` is a file that keeps trials: the same call goes on where it was left.

    >>> import rankforce as rf
    >>> train, valid = (rf.make_data("yahoo", queries=30, seed=seed) for seed in (0, 1))
    >>> found = rf.tune(train, valid=valid, k=5, n_estimators=4, trials=2, searcher="random",
    ...                 space={"num_leaves": [3, 4, 5]}, progress=False)
    >>> found.best.number, found.settings["num_leaves"], len(found.trials)
    (0, 3, 2)
    """
    data = X if isinstance(X, RankingData) else RankingData(X, y, qid=qid, group=group)
    if valid is not None and folds is not None:
        raise RankforceError("a validation set or folds decide, not both: give valid or folds")
    if valid is not None and not isinstance(valid, RankingData):
        raise RankforceError(f"valid is a {type(valid).__name__}: it must be a RankingData")
    parts = 5 if folds is None else folds
    if trials is None:
        trials = TRIALS if time is None else sys.maxsize
    last = check_whole("trials", trials, least=1)
    seconds = None if time is None else read_time(time)
    count = check_whole("jobs", jobs, least=1)
    with find_engine(parameters.get("engine"), parameters.get("device")).share() as needed:
        study = Study(data, valid, parts, metric, space, parameters, {**USUAL, **needed})
        study.search(searcher, last, seconds, count, prune, storage, progress)
        return study.result()


def tune_from(config: Mapping[str, Any], **asked: Any) -> Tuning:
    """Search as `config` says, and save what is found if `config` has `out`.

    Keys: `train`, `valid` (one at most), `columns`, `labels` and `preferences` as for `rf.train`,
    `out` (a folder, which also keeps trials: the same call goes on where it was left), `tune` (a
    table of `ASKED`), and every parameter of `Ranker`, which is not searched. What is `asked` here
    goes before what `tune` says.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> table = {"searcher": "random", "folds": 2, "trials": 9, "space": {"num_leaves": [3, 4]}}
    >>> found = tune_from({"train": data, "n_estimators": 2, "progress": False, "tune": table},
    ...                   trials=2)
    >>> len(found.trials)
    2
    """
    table = config.get("tune", {})
    if not isinstance(table, Mapping) or {*table} - {*ASKED}:
        raise RankforceError(f"[tune] is {table!r}: it may have {', '.join(ASKED)}")
    place = None if config.get("out") is None else Path(config["out"])
    if place is not None:
        check_folder(place, "out")
    data, judges = open_sets(config)
    if len(judges) > 1:
        raise RankforceError(f"valid has {len(judges)} data sets: a search has one that judges")
    given = {key: one for key, one in config.items() if key not in (*DATA_KEYS, "out", "tune")}
    given |= {**table, **asked}
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
        given["storage"] = place / "trials.jsonl"
    found = tune(data, valid=judges[0] if judges else None, **given)
    pairs = config.get("preferences")
    if pairs and not is_stream(pairs):
        found.files["preferences"] = {"file": str(pairs)}
    if place is not None:
        found.save(place)
    return found


def read_time(given: float | str, *, name: str = "time") -> float:
    """Seconds from a number, or a text with a unit; `name` is that of the setting.

    >>> read_time(90), read_time("10m"), read_time("1.5h")
    (90.0, 600.0, 5400.0)
    """
    named = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smh]?)\s*", str(given))
    if named is None:
        raise RankforceError(
            f"{name} is {given!r}: it must be seconds, or a number with s, m or h, as in 10m"
        )
    return float(named[1]) * UNITS[named[2]]


class Study:
    """What is searched, on which data, and what came out so far."""

    def __init__(
        self,
        data: RankingData,
        valid: RankingData | None,
        folds: int,
        metric: Any,
        space: Mapping[str, Any] | None,
        parameters: Mapping[str, Any],
        usual: Mapping[str, Any],
    ) -> None:
        given = {ALIASES.get(name, name): value for name, value in parameters.items()}
        if given.get("checkpoint") is not None:
            raise RankforceError("trials have no checkpoint: storage= keeps those that ended")
        if isinstance(given.get("objective"), AnyObjective):
            given["objective"] = _as_table(given["objective"])
        if "model" in (space or ()) or kind_of_model(given.get("model", TREES)) != TREES:
            raise RankforceError(
                "tune searches settings of trees: leave model out, or compare networks with rf.cv"
            )
        wanted = metric if metric is not None else given.pop("eval_metric", None)
        self.choice: Choice | None = None
        if is_auto(given.get("objective")):
            given = settle_auto({**given, "eval_metric": wanted})
            self.choice, wanted = given.pop("choice"), given.pop("eval_metric", None)
        self.threads = given.pop("threads", None)
        self.space = default_space(given) if space is None else read_space(space)
        self.settings = {**usual, **given}
        settings = Ranker(**self.settings).settings()
        if settings.members is not None:
            raise RankforceError("members are not searched: tune a ranker, then train a committee")
        self.start = start_of(self.space, self.settings)
        self._check_ends()
        self.metrics: Watched = make_metrics(
            wanted, settings.make_objective(), k=settings.k, cutoffs=settings.eval_at or ()
        )
        if self.metrics.card is not None:
            raise RankforceError("a search is for one number: give a metric, not a scorecard")
        self.higher = of_queries(self.metrics)[0].higher_is_better
        self.data, self.valid, self.folds = data, valid, 0 if valid is not None else folds
        self.parts = [(data, valid)] if valid is not None else _fold(data, folds, settings.seed)
        self.seed = settings.seed
        self.trials: list[Trial] = []
        self._is_over = threading.Event()  # nobody waits for trials that still run

    def _check_ends(self) -> None:
        """Every end of every range makes settings: a mistake shows before the first tree."""
        name = ""
        try:
            for name, one in self.space.items():
                ends = one if isinstance(one, list) else [one.at(0.0), one.at(1.0)]
                for end in ends:
                    Ranker(**place(self.settings, self.start | {name: end})).settings()
        except RankforceError as error:
            raise RankforceError(f"space.{name}: {error}") from None

    def _described(self, searcher: str) -> dict[str, Any]:
        """What must be the same to go on with a study."""
        marks = [fingerprint(one, None) for one in (self.data, self.valid) if one is not None]
        found = {"metric": [one.key for one in self.metrics], "folds": self.folds}
        found |= {"searcher": searcher, "space": self.space, "settings": self.settings}
        return found | {"data": marks}

    def search(
        self,
        searcher: str,
        trials: int,
        seconds: float | None,
        jobs: int,
        prune: bool,
        storage: str | Path | None,
        progress: bool | None,
    ) -> None:
        """Try points until there are so many trials, or the time is over."""
        search = make_searcher(searcher, self.space, self.start, self.seed)
        self.about = self._described(searcher)
        kept = None if storage is None else Storage(storage, self.about)
        self.trials += [] if kept is None else kept.trials
        for one in self.trials:
            search.tell(one.number, one.point, self._cost(one))
        taken = {one.number for one in self.trials}
        numbers = (number for number in itertools.count() if number not in taken)
        begun = monotonic()
        voice = Voice(progress)
        if self.choice is not None:
            voice.say(str(self.choice))
        running: dict[int, Task[Trial]] = {}
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        pool = Pool(jobs, name="rankforce-trial")
        threads = max(count_threads(self.threads) // jobs, 1)

        def attempt(number: int, point: Point, others: Sequence[Trial]) -> Trial:
            try:
                return self._try(number, point, others, threads)
            finally:
                ended.put(number)

        def may_begin() -> bool:
            has_time = seconds is None or monotonic() - begun < seconds
            has_room = len(running) < jobs and len(self.trials) + len(running) < trials
            return has_room and (has_time or not (self.trials or running))

        try:
            while True:
                while may_begin():
                    number = next(numbers)
                    others = list(self.trials) if prune else []
                    running[number] = pool.submit(attempt, number, search.ask(number), others)
                if not running:
                    break
                trial = running.pop(ended.get()).result()
                if kept is not None:
                    kept.add(trial)
                self.trials.append(trial)
                search.tell(trial.number, trial.point, self._cost(trial))
                text = describe(
                    trial,
                    self.best,
                    self.metrics[0].key,
                    done=len(self.trials),
                    fresh=len(self.trials) - len(taken),
                    total=None if seconds is not None else trials,
                    seconds=voice.seconds,
                )
                voice.for_now(text, always=True)
        finally:
            self._is_over.set()
            pool.end()
            voice.end()

    def _cost(self, trial: Trial) -> float | None:
        if trial.value is None:
            return None
        return -trial.value if self.higher else trial.value

    def _try(self, number: int, point: Point, others: Sequence[Trial], threads: int) -> Trial:
        begun = monotonic()
        settings = place(self.settings, point) | {"threads": threads, "progress": False}
        follow = Follow(others, self.higher, settings["n_estimators"], self._is_over)
        curves: list[list[float]] = []
        base_steps, state = 0, DONE
        try:
            for train, valid in self.parts:
                follow.curves.append([])
                ranker = Ranker(**settings).fit(
                    train, eval_set=[valid], eval_metric=self.metrics, callbacks=[follow]
                )
                follow.write()
                base_steps = ranker.model_.base_steps
                curves.append(next(iter(ranker.model_.history["valid_0"].values())))
                if follow.outlook is not None:
                    state = PRUNED
                    break
        except RankforceError as mistake:
            if not number:  # the settings as they are
                raise
            return Trial(number, point, FAILED, seconds=monotonic() - begun, error=str(mistake))
        means = mean_curve(curves)
        trees = best_iteration(means.tolist(), self.higher)
        if trees is None:
            raise RankforceError(f"{self.metrics[0].key} of the queries that judge is not a number")
        seconds = round(monotonic() - begun, 3)
        value = float(means[trees - 1]) if follow.outlook is None else follow.outlook
        return Trial(
            number, point, state, value, max(trees - base_steps, 1), seconds, follow.curves
        )

    @property
    def best(self) -> Trial | None:
        """The best of the trials that came to their end, the first of several."""
        ended = [one for one in self.trials if one.state == DONE]
        sign = -1.0 if self.higher else 1.0
        return min(ended, key=lambda one: (sign * (one.value or 0.0), one.number), default=None)

    def result(self) -> Tuning:
        """The best trial, and a ranker trained as it was, on all queries where folds judged."""
        best = self.best
        if best is None:  # another session left nothing else
            raise RankforceError("no trial came to its end: let there be more trials")
        settings = place(self.settings, best.point)
        stops = self.valid is not None and settings.get("early_stopping_rounds") is not None
        if not stops:
            settings |= {"n_estimators": best.trees, "early_stopping_rounds": None}
        settings["eval_metric"] = _named(self.metrics)
        settings = {name: value for name, value in settings.items() if value is not None}
        ranker = Ranker(**settings, threads=self.threads, progress=False)
        watched = [] if self.valid is None else [self.valid]
        ranker.fit(self.data, eval_set=watched, eval_metric=self.metrics)
        files = {"train": self.data.origin, "valid": self.valid.origin if self.valid else {}}
        return Tuning(
            best,
            settings,
            ranker,
            sorted(self.trials),
            self.space,
            self.metrics[0],
            self.about,
            files,
        )


def describe(
    trial: Trial,
    best: Trial | None,
    metric: str,
    *,
    done: int,
    fresh: int,
    total: int | None,
    seconds: float,
) -> str:
    """One line: a trial that ended, the best one, and the time left, or spent without a total.

    `done` trials are there, of which `fresh` are of this session, after so many seconds.

    >>> trial = Trial(3, {}, DONE, 0.5)
    >>> describe(trial, trial, "ndcg@5", done=4, fresh=2, total=40, seconds=20.0)
    'trial 4/40  done 0.5000  best ndcg@5 0.5000 (trial 3)  6:00 left'
    >>> describe(Trial(4, {}, FAILED), None, "ndcg@5", done=5, fresh=3, total=None, seconds=20.0)
    'trial 5  failed  0:20'
    """
    of = f"/{total}" if total else ""
    value = "" if trial.value is None else f" {trial.value:.4f}"
    parts = [f"trial {done}{of}", f"{trial.state}{value}"]
    if best is not None:
        parts.append(f"best {metric} {best.value:.4f} (trial {best.number})")
    if total:
        parts.append(f"{clock(round(seconds / fresh * (total - done)))} left")
    else:
        parts.append(clock(round(seconds)))
    return "  ".join(parts)


def _fold(data: RankingData, folds: int, seed: int) -> list[tuple[RankingData, RankingData]]:
    queries = np.arange(len(data.sizes))
    parts = query_folds(len(queries), folds, seed=seed)
    return [
        (data.take_queries(np.setdiff1d(queries, part)), data.take_queries(part)) for part in parts
    ]


def mean_curve(curves: Sequence[Sequence[float]]) -> Floats:
    """The mean of folds after each number of trees; one that stopped early keeps its last value.

    >>> mean_curve([[0.2, 0.4], [0.3, 0.5, 0.6]]).round(2).tolist()
    [0.25, 0.45, 0.5]
    """
    longest = max(map(len, curves))
    filled = [[*one, *[one[-1]] * (longest - len(one))] for one in curves]
    mean: Floats = np.mean(filled, axis=0)
    return mean


def _named(metrics: Watched) -> Any:
    """The metrics by their names, where names say all about them."""
    named = [one.name for one in metrics]
    try:
        return named if make_metrics(named, None, k=None) == metrics else metrics
    except RankforceError:  # a function of the user's
        return metrics


def _as_table(objective: AnyObjective) -> Any:
    """An objective that is made already as a table, into which a search can reach."""
    table = objective.described()
    is_plain = OF_OBJECTIVES & {*table}
    return table if is_plain and not callable(table.get("name")) else objective
