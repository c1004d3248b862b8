"""The rankers of a study: each is trained once, whatever shows it, and kept in a folder.

A table or a picture says which trials it needs; their outcomes are all that it sees.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.engines.base import find_engine
from rankforce.forces.named import title_of
from rankforce.measures.scoreboard import Scoreboard
from rankforce.studies.outcome import Outcome, Stopwatch, load_outcome, save_outcome
from rankforce.studies.sets import (
    NO_VIEWS,
    SYNTHETIC,
    TEST,
    TRAIN,
    VALIDATION,
    StudySet,
)

if TYPE_CHECKING:
    from rankforce.forces.base import AnyObjective

K = 5
TOP = 3
HISTORY = "history"  # to record: metrics of the training queries too
POINTS, FEW = 100, 25  # of a curve, at most: where single trees matter, and elsewhere
# Objectives on clicks that the trained one may be compared with while learning.
AGAINST = {
    "all pairs, unseen = 0 clicks": rf.objective("lambdarank(cndcg)", source=NO_VIEWS),
    "pairs of one grade, both clicked": rf.graded(
        ["lambdarank-ndcg", rf.objective("lambdarank(cndcg)", source="clicks")], weights=[0.0, 1.0]
    ),
}


class Trial(NamedTuple):
    """A ranker to train."""

    objective: AnyObjective
    data: str = ""  # the study's first
    fold: int = 1
    settings: tuple[tuple[str, Any], ...] = ()  # that differ from those of the study
    part: float = 1.0  # of the trees; less is for pictures that show no metric
    share: float = 1.0  # of the training queries
    tuned: str = ""  # the metric that settings are tuned by

    @property
    def title(self) -> str:
        """What tells it from others in a line of progress."""
        parts = [f"{title_of(self.objective)} on {self.data}"]
        parts += [f"fold {self.fold}"] if self.fold > 1 else []
        parts += [f"{name} {value}" for name, value in self.settings]
        parts += [f"{100 * self.share:g} % of the queries"] if self.share < 1.0 else []
        return ", ".join(parts + (["tuned"] if self.tuned else []))


class Want(NamedTuple):
    """A ranker that is needed, and what to record while it learns."""

    run: Trial
    records: tuple[str, ...] = ()  # diagnostics, keys of AGAINST, and HISTORY


class Rules(NamedTuple):
    """How rankers are trained and judged."""

    trees: int
    decides: Mapping[str, Sequence[str]]  # metric that chooses the trees -> those judged with them
    settings: Mapping[str, Mapping[str, Any]] = {}
    trials: int = 40  # of tuning
    searcher: str = "flaml"
    seed: int = 0
    threads: int | None = None


class Study:
    """Data, and outcomes made when first asked for; `say` hears of each ranker before it learns."""

    def __init__(
        self,
        sets: Sequence[StudySet],
        rules: Rules,
        *,
        keep: Path | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.sets = {one.name: one for one in sets}
        self.rules = rules
        self.keep = keep
        self.say = say
        self.trained = 0  # here, and not read
        self._records: dict[Trial, list[str]] = {}
        self._outcomes: dict[Trial, Outcome] = {}
        self._data: dict[tuple[str, int, str], rf.RankingData] = {}
        self._needed: Mapping[str, Any] = {}  # settings, where data is binned once

    def only(self, name: str) -> Study:
        """The same study of one data set."""
        part = Study([self.sets[name]], self.rules, keep=self.keep, say=self.say)
        part._records, part._outcomes = self._records, self._outcomes
        return part

    def pick(self, *shapes: str) -> list[StudySet]:
        """The synthetic sets of these shapes; all sets of a study that has none of them."""
        found = [self.sets[name] for shape in shapes if (name := SYNTHETIC + shape) in self.sets]
        return found or list(self.sets.values())

    def plan(self, wants: Iterable[Want]) -> None:
        """Tell what will be needed, so that a ranker records all of it at once."""
        for run, records in wants:
            kept = self._records.setdefault(self._on(run), [])
            kept.extend(name for name in records if name not in kept)

    @property
    def planned(self) -> list[Trial]:
        """What will be needed, fold by fold."""
        order = list(self.sets)
        return sorted(self._records, key=lambda run: (order.index(run.data), run.fold))

    def work(self) -> None:
        """Train all that is planned; data is binned once."""
        with find_engine(None).share() as self._needed:
            for run in self.planned:
                self.train(run)

    def _on(self, run: Trial) -> Trial:
        return run if run.data else run._replace(data=next(iter(self.sets)))

    def data(self, name: str, part: str, fold: int = 1) -> rf.RankingData:
        """Queries to train on, to validate on, or to test on; those of one fold stay in memory."""
        if (name, fold, part) not in self._data:
            others = [key for key in self._data if key[0] == name and key[1] != fold]
            for key in others:
                del self._data[key]
            self._data[name, fold, part] = self.sets[name].read(part, fold)
        return self._data[name, fold, part]

    def train(self, run: Trial) -> Outcome:
        """The outcome of a trial: known, kept in a file, or made now."""
        run = self._on(run)
        if run in self._outcomes:
            return self._outcomes[run]
        wanted = self._records.setdefault(run, [])
        place = None if self.keep is None else self.keep / f"{self._name(run)}.npz"
        found = load_outcome(place) if place is not None and place.exists() else None
        if found is None or not {*wanted} <= {*found.records}:
            done = f"training {len(self._outcomes) + 1} of {len(self._records)}"
            self.say(f"{done}: {run.title}")
            try:
                found = (self._tune if run.tuned else self._train)(run, wanted)
            except RankforceError as error:
                raise RankforceError(f"{run.title}: {error}") from None
            self.trained += 1
            if place is not None:
                save_outcome(found, place)
        self._outcomes[run] = found
        return found

    def _name(self, run: Trial) -> str:
        """The name of a trial's file: readable, and another one for whatever differs."""
        about = [repr(run.objective), *run[2:], self.sets[run.data].mark, self._settings(run)]
        about += [sorted((by, *judged) for by, judged in self.rules.decides.items())]
        about += [self.rules[3:5]] if run.tuned else []
        digest = hashlib.sha256(json.dumps(about, default=repr).encode()).hexdigest()[:12]
        words = re.sub(r"[^a-z0-9@+.]+", "-", f"{run.data} {title_of(run.objective)}".lower())
        return f"{words[:80]}-{run.fold}-{digest}"

    def _settings(self, run: Trial) -> dict[str, Any]:
        rules = self.rules
        own = rules.settings.get(run.data, rules.settings.get("", {}))
        trees = max(round(run.part * rules.trees), 2)
        return {**own, "n_estimators": trees, "seed": rules.seed, **dict(run.settings)}

    def _part(self, run: Trial, part: str) -> rf.RankingData:
        data = self.data(run.data, part, run.fold)
        if part != TRAIN or run.share >= 1.0:
            return data
        order = np.random.default_rng(self.rules.seed).permutation(len(data.sizes))
        return data.take_queries(np.sort(order[: max(round(run.share * len(order)), 2)]))

    def _train(self, run: Trial, wanted: Sequence[str]) -> Outcome:
        settings = self._settings(run)
        own = {"progress": False, "threads": self.rules.threads, **self._needed}
        ranker = rf.Ranker(run.objective, **own, **settings)
        is_fine = "incoherence" in wanted or "rank_changes" in wanted
        every = -(-settings["n_estimators"] // (POINTS if is_fine else FEW))
        looks = [name for name in wanted if name not in AGAINST and name != HISTORY]
        recorder = rf.Recorder(looks, every=every, metrics="")
        against = {
            name: rf.Recorder([], every=every, metrics="", against=AGAINST[name])
            for name in wanted
            if name in AGAINST
        }
        watch = Stopwatch()
        train = self._part(run, TRAIN)
        _load_kernels(run, train)
        sets = {VALIDATION: self._part(run, VALIDATION)} if run.part == 1.0 else {}
        sets |= {TRAIN: train} if HISTORY in wanted and sets else {}
        ranker.fit(
            train,
            eval_set=[*sets.values()],
            eval_names=[*sets],
            eval_metric=[*self.rules.decides],
            callbacks=[watch, *([recorder] if looks else []), *against.values()],
        )
        if not ranker.model_.finished:
            raise KeyboardInterrupt
        return Outcome(
            _named(ranker) if sets else {},
            *(self._judge(run, ranker) if sets else ({}, {})),
            np.array(watch.forces),
            np.array(watch.seconds),
            tuple(wanted),
            recorder.curves,
            {name: one.curves for name, one in against.items()},
        )

    def _tune(self, run: Trial, wanted: Sequence[str]) -> Outcome:
        """Search for the settings of a trial, and judge what was found."""
        rules, settings = self.rules, self._settings(run)
        found = rf.tune(
            self._part(run, TRAIN),
            valid=self._part(run, VALIDATION),
            metric=run.tuned,
            objective=run.objective,
            trials=rules.trials,
            searcher=rules.searcher,
            storage=None if self.keep is None else self.keep / f"{self._name(run)}.trials.jsonl",
            n_estimators=settings["n_estimators"],
            early_stopping_rounds=None,
            seed=rules.seed,
            threads=rules.threads,
            progress=False,
        )
        best, values = self._judge(run, found.ranker)
        chosen = {name.split(".")[-1]: value for name, value in found.best.point.items()}
        nothing = np.empty(0)
        return Outcome({}, best, values, nothing, nothing, tuple(wanted), chosen=chosen)

    def _judge(self, run: Trial, ranker: rf.Ranker) -> tuple[dict[str, int], dict[str, Floats]]:
        """Trees that were best for each deciding metric, and what the test queries got by them."""
        history = next(iter(_named(ranker).values()))
        test = self._part(run, TEST)
        best: dict[str, int] = {}
        values: dict[str, Floats] = {}
        for decides, judged in self.rules.decides.items():
            name = rf.metric(decides).name
            if name not in history:  # tuned by another
                continue
            best[name] = int(np.argmax(history[name])) + 1
            scores = ranker.predict(test, num_iteration=best[name])
            board = Scoreboard(judged, test)
            values |= dict(zip(board.names, board.values(scores), strict=True))
        return best, values

    def history(self, run: Trial, part: str, metric: str) -> list[float]:
        """A metric after each tree."""
        return self.train(run).history[part][rf.metric(metric).name]

    def reference(self, name: str, fold: int, metric: str) -> tuple[Floats, Floats]:
        """What the test queries get by an ideal order, and by a random one."""
        board = Scoreboard([metric], self.data(name, TEST, fold))
        return board.perfect()[0], board.random()[0]


def _load_kernels(run: Trial, data: rf.RankingData) -> None:
    """Find the forces of one query, so that the time of the first tree is that of a tree."""
    one = data.take_queries([0])
    run.objective.bind(one, one.index).gradients(np.zeros(one.rows))


def _named(ranker: rf.Ranker) -> dict[str, dict[str, list[float]]]:
    """What a ranker reached after each tree, by the full names of metrics."""
    return {
        part: {rf.metric(name).name: list(values) for name, values in found.items()}
        for part, found in ranker.evals_result_.items()
    }
