"""Tables of the papers, made again: the cells of the printed one, filled from outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.types import Floats
from rankforce.evaluation.paired import TESTS, paired_test
from rankforce.studies.outcome import Outcome
from rankforce.studies.papers import Printed, printed
from rankforce.studies.papers.claims import FACTS
from rankforce.studies.sets import VALIDATION, StudySet
from rankforce.studies.study import Study, Trial, Want

Keys = dict[str, Any]  # of a cell, without its data set
Folds = Callable[[StudySet], Sequence[int]]
PERFECT, RANDOM = "Perfect model", "Random model"
LEVELS = {"***": 0.001, "**": 0.01, "*": 0.05, "~": 0.1}


class Remake(NamedTuple):
    """How a table of a paper is made again."""

    paper: str
    number: str
    trials: Callable[[Keys, StudySet, Study], list[Trial]]  # of a cell; several: the best is shown
    fill: Callable[[Cells, Keys], Any]  # None where there is no such value
    metric: Callable[[Keys], str] = lambda keys: ""  # judged, with full name
    decides: Callable[[Keys], str] = lambda keys: ""  # chooses among trials; by default the metric
    against: Callable[[Keys], Keys | None] = lambda keys: None  # what a mark compares with
    test: str = "fisher"
    needs: str = ""  # a source of labels
    on_one_fold: bool = False
    is_tuned: bool = False
    adapt: Callable[[Keys], Keys | None] = lambda keys: keys  # None for cells to leave out
    is_for: Callable[[str], bool] = lambda data: True
    suffix: str = ""  # of the name, where a table is made in two ways
    says: str = ""  # what is another way than the paper's

    @property
    def name(self) -> str:
        """As in "table-5"."""
        return f"table-{self.number.lower()}{self.suffix}"

    @property
    def theirs(self) -> Printed:
        """The printed table."""
        return printed(self.paper, self.number)

    def keys(self, cutoffs: Sequence[int], algorithms: Sequence[str] = ("*",)) -> list[Keys]:
        """The cells to fill, each once, in the order of print.

        The paper's own baseline is always among them. `algorithms` are patterns of names.
        """
        found: list[Keys] = []
        for one in self.theirs.records:
            keys = self.adapt({key: one[key] for key in one if key not in (*FACTS, "data")})
            if keys is None or keys in found or keys.get("k", cutoffs[0]) not in cutoffs:
                continue
            name = keys["algorithm"]
            is_named = any(matches(name, pattern) for pattern in algorithms)
            if is_named or self.against(keys) == keys or name in (PERFECT, RANDOM):
                found.append(keys)
        return found


class Cells(NamedTuple):
    """What cells of a table are filled from: the outcomes on one data set."""

    remake: Remake
    study: Study
    data: StudySet
    folds: Sequence[int]

    def outcomes(self, keys: Keys) -> list[Outcome]:
        """Of each fold, the trial that is best on the validation queries."""
        remake = self.remake
        decides = remake.decides(keys) or remake.metric(keys)

        def value(outcome: Outcome) -> float:
            return outcome.history[VALIDATION][decides][outcome.best[decides] - 1]

        found = []
        for fold in self.folds:
            several = [
                self.study.train(one._replace(data=self.data.name, fold=fold))
                for one in remake.trials(keys, self.data, self.study)
            ]
            found.append(several[0] if len(several) == 1 else max(several, key=value))
        return found

    def values(self, keys: Keys) -> Floats:
        """What every test query of every fold got."""
        metric, name = self.remake.metric(keys), keys.get("algorithm")
        if name in (PERFECT, RANDOM):
            place = (PERFECT, RANDOM).index(str(name))
            every = [
                self.study.reference(self.data.name, fold, metric)[place] for fold in self.folds
            ]
        else:
            every = [one.values[metric] for one in self.outcomes(keys)]
        return np.concatenate(every)


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern, in any case, is of an algorithm.

    >>> matches("LambdaGap-S+", "lambdagap*"), matches("RankNet", "bin*")
    (True, False)
    """
    return fnmatchcase(name.lower(), pattern.lower())


def mean_percent(cells: Cells, keys: Keys) -> float:
    """The mean of a metric over the test queries."""
    return 100.0 * float(np.nanmean(cells.values(keys)))


def wants_of(remake: Remake, study: Study, folds: Folds, keys: Iterable[Keys]) -> list[Want]:
    """What a table needs, also to compare with."""
    needed = [each for own in keys for each in (own, remake.against(own)) if each is not None]
    return [
        Want(one._replace(data=data.name, fold=fold))
        for own in needed
        if own.get("algorithm") not in (PERFECT, RANDOM)
        for data in sets_of(remake, study)
        for fold in folds_of(remake, folds, data)
        for one in remake.trials(own, data, study)
    ]


def sets_of(remake: Remake, study: Study) -> list[StudySet]:
    """The data sets that a table shows."""
    return [one for one in study.sets.values() if remake.is_for(one.name)]


def folds_of(remake: Remake, folds: Folds, data: StudySet) -> Sequence[int]:
    """The folds that a table shows."""
    return folds(data)[:1] if remake.on_one_fold else folds(data)


def make_table(remake: Remake, study: Study, folds: Folds, keys: Sequence[Keys]) -> Printed:
    """The table, in the form of the printed one: a record for each cell.

    Beside `value` and `mark`, a record of a cell that is compared with another has `p_value`.
    """
    records: list[dict[str, Any]] = []
    for data in sets_of(remake, study):
        cells = Cells(remake, study, data, folds_of(remake, folds, data))
        for own in keys:
            record = {"data": data.name, **own, "value": remake.fill(cells, own)}
            if record["value"] is not None:
                records.append(record | _tested(cells, own))
    theirs = remake.theirs
    spelling = {one["algorithm"]: one["spelling"] for one in theirs.records}
    for one in records:
        one |= {"is_certain": True, "spelling": spelling[one["algorithm"]]}
    test = f"{remake.says}: {TESTS[remake.test]}" if remake.says else theirs.test
    test += "; not corrected for many tests"
    return theirs._replace(records=tuple(records), notes=(), source="here", test=test)


def _tested(cells: Cells, keys: Keys) -> dict[str, Any]:
    """The mark of a cell that is better than what it is compared with, and the p-value."""
    remake = cells.remake
    base = remake.against(keys)
    if base is None or base == keys or keys.get("algorithm") in (PERFECT, RANDOM):
        return {"mark": ""}
    change = cells.values(keys) - cells.values(base)
    counted = change[~np.isnan(change)]
    found = paired_test(counted, test=remake.test, seed=cells.study.rules.seed)
    known = {mark: level for mark, level in LEVELS.items() if mark in remake.theirs.marks}
    marks = [mark for mark, level in known.items() if found.p_value < level]
    is_better = counted.mean() > 0.0
    gain = 100.0 * float(counted.mean())
    return {"mark": marks[0] if marks and is_better else "", "p_value": found.p_value, "gain": gain}
