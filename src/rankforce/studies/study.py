"""What a picture of a paper is, and the rankers that several share: each is trained once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import rankforce as rf
from rankforce.forces.named import title_of

if TYPE_CHECKING:
    from rankforce.forces.base import AnyObjective
    from rankforce.models.curves import Curves

K = 5
TOP = 3
METRICS = ("ndcg@3", "ndcg@5", "p@5")
TRAIN, VALIDATION, TEST = "train", "validation", "test"
POINTS, FEW = 100, 25  # of a curve, at most: where single trees matter, and elsewhere
NO_VIEWS = "clicks or 0"  # a source of labels: a document that was never shown has 0 clicks
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
    shape: str = "mslr"
    learning_rate: float = 0.1
    part: float = 1.0  # of the trees; less is for pictures that show no metric

    @property
    def title(self) -> str:
        """What tells it from others in a line of progress."""
        return f"{title_of(self.objective)} on {self.shape}, learning rate {self.learning_rate:g}"


class Want(NamedTuple):
    """A ranker that a picture needs, and what to record while it learns."""

    run: Trial
    records: tuple[str, ...] = ()  # diagnostics, and keys of AGAINST


class Trained(NamedTuple):
    """A trained ranker, and what was recorded."""

    ranker: rf.Ranker
    curves: Curves
    agreement: dict[str, Curves]


class Study:
    """Data and rankers, made when first asked for; `say` hears of each ranker before it learns."""

    def __init__(
        self,
        *,
        queries: int,
        trees: int,
        seed: int,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.queries = queries
        self.trees = trees
        self.seed = seed
        self.say = say
        self._records: dict[Trial, list[str]] = {}
        self._trained: dict[Trial, Trained] = {}
        self._data = cache(self._make_data)

    def plan(self, wants: Iterable[Want]) -> None:
        """Tell what will be needed, so that a ranker records all of it at once."""
        for run, records in wants:
            kept = self._records.setdefault(run, [])
            kept.extend(name for name in records if name not in kept)

    def data(self, shape: str, part: str) -> rf.RankingData:
        """The queries to train on, to validate on, or to test on."""
        return self._data(shape, part)

    def _make_data(self, shape: str, part: str) -> rf.RankingData:
        seed = 3 * self.seed + (TRAIN, VALIDATION, TEST).index(part)
        made = rf.make_data(shape, queries=self.queries, seed=seed)
        made.sources[NO_VIEWS] = np.nan_to_num(made.sources["clicks"])
        return made

    def train(self, run: Trial) -> Trained:
        """The ranker of a plan, trained if it is not yet."""
        if run not in self._trained:
            done = f"training {len(self._trained) + 1} of {len(self._records)}"
            self.say(f"{done}: {run.title}")
            self._trained[run] = self._train(run)
        return self._trained[run]

    def _train(self, run: Trial) -> Trained:
        trees = max(round(run.part * self.trees), 2)
        wanted = self._records[run]
        is_fine = "incoherence" in wanted or "rank_changes" in wanted
        every = -(-trees // (POINTS if is_fine else FEW))
        others = [name for name in wanted if name in AGAINST]
        recorder = rf.Recorder(
            [name for name in wanted if name not in AGAINST], every=every, metrics=""
        )
        against = {
            name: rf.Recorder([], every=every, metrics="", against=AGAINST[name]) for name in others
        }
        train = self.data(run.shape, TRAIN)
        ranker = rf.Ranker(
            run.objective,
            n_estimators=trees,
            learning_rate=run.learning_rate,
            num_leaves=15,
            seed=self.seed,
            progress=False,
        )
        sets = {VALIDATION: self.data(run.shape, VALIDATION), TRAIN: train}
        is_watched = run.part == 1.0
        ranker.fit(
            train,
            eval_set=[*sets.values()] if is_watched else None,
            eval_names=[*sets] if is_watched else None,
            eval_metric=[*METRICS],
            callbacks=[recorder, *against.values()],
        )
        return Trained(ranker, recorder.curves, {n: r.curves for n, r in against.items()})

    def history(self, run: Trial, part: str, metric: str) -> list[float]:
        """A metric after each tree."""
        found = {rf.metric(name).name: values for name, values in self._set(run, part).items()}
        return list(found[rf.metric(metric).name])

    def _set(self, run: Trial, part: str) -> Any:
        return self.train(run).ranker.evals_result_[part]


class Finding(NamedTuple):
    """A claim, and what came out here.

    >>> print(Finding("water is wet", "it is", True))
    The paper: water is wet. Here: it is: as in the paper.
    """

    claim: str
    seen: str
    holds: bool
    is_of_paper: bool = True  # else it is what one would expect of a picture without words

    def __str__(self) -> str:
        who, end = ("The paper", "in the paper") if self.is_of_paper else ("Expected", "expected")
        return f"{who}: {self.claim}. Here: {self.seen}: {'' if self.holds else 'not '}as {end}."


class Drawn(NamedTuple):
    """A picture: any axes of its figure, and the findings."""

    axes: Any
    findings: Sequence[Finding]


class Figure(NamedTuple):
    """One entry of the table of pictures."""

    name: str  # of the file, without its ending
    source: str
    caption: str
    draw: Callable[[Study], Drawn]
    wants: Callable[[], Sequence[Want]]


FIGURES: dict[str, list[Figure]] = {}  # by the module that draws them


def figure(
    name: str, source: str, wants: Callable[[], Sequence[Want]] = tuple
) -> Callable[[Callable[[Study], Drawn]], Callable[[Study], Drawn]]:
    """Put a function into the table of pictures; its first words are the caption."""

    def add(draw: Callable[[Study], Drawn]) -> Callable[[Study], Drawn]:
        caption = " ".join((draw.__doc__ or "").split()).format(K=K, TOP=TOP)
        FIGURES.setdefault(draw.__module__, []).append(Figure(name, source, caption, draw, wants))
        return draw

    return add


def value_of(metric: str, scores: Any, labels: Any) -> float:
    """A metric of a single list."""
    return float(rf.metric(metric)(scores, labels)[0])


def percent(share: float) -> str:
    """A share for a sentence.

    >>> percent(0.234), percent(0.0123)
    ('23 %', '1.2 %')
    """
    return f"{100.0 * share:.0f} %" if share >= 0.0995 else f"{100.0 * share:.1f} %"
