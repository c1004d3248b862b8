"""Every metric of the registry as test cases, so that a new metric brings its own tests."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rankforce.measures.definition import Entry
from rankforce.measures.make import metric, metrics
from rankforce.measures.metric import Metric
from tests.contract.cases import Data, Floats, Parameters, make_data
from tests.reference.ties import metric_of_scores

CUTOFFS = (1, 3, 10, 60)  # the last is beyond every query but the longest
# Every parameter that a metric may have, at a value that is not its default; those of "ties" and
# "over" differ from metric to metric, and the entry says them.
OTHER_VALUES: dict[str, Any] = {
    "gain": "y",
    "p": 0.95,
    "max_label": 6.0,
    "rel": 2.0,
    "score_type": "float32",
}
SIZES = (*range(1, 51), 1, 2, 120, 2500)
# Where the reference looks at all that tied documents can do.
FEWER_SIZES = (*range(1, 21), 1, 2, 70)


@dataclass(frozen=True)
class Case:
    """A metric with parameters, and the reference that says what it must compute."""

    entry: Entry
    parameters: Parameters = ()

    def __str__(self) -> str:
        return "; ".join([self.entry.name, *(f"{key}={value}" for key, value in self.parameters)])

    @property
    def ties(self) -> str:
        return str(dict(self.parameters).get("ties", "row"))

    def make(self, **more: Any) -> Metric:
        return metric(self.entry.name, **(dict(self.parameters) | more))

    def labels(self, data: Data) -> Floats:
        """Labels that the metric takes: CNDCG wants shares of clicks."""
        return data.labels / 4.0 if self.entry.name == "CNDCG" else data.labels

    def has_relevant(self, labels: Floats) -> bool:
        rel = dict(self.parameters).get("rel")
        return bool((labels > 0).any() if rel is None else (labels >= rel).any())

    def reference(self, largest: float) -> tuple[str, dict[str, Any]]:
        """The reference's name and parameters, where `largest` is the largest label of the data."""
        name, options = self.entry.name.lower(), dict(self.parameters)
        if name == "cndcg":
            name, options["gain"] = "ndcg", lambda c: 2.0 ** (4.0 * c) - 1.0
        if name == "err":
            options.setdefault("max_label", largest)
        return name, options

    def expected(self, scores: Floats, labels: Floats, largest: float) -> float:
        """The reference's value of one query, with the usual value of one without relevance."""
        if not self.has_relevant(labels):
            return float(self.entry.no_relevant)
        name, options = self.reference(largest)
        return metric_of_scores(name, scores.tolist(), labels.tolist(), **options)


def cases_of(entry: Entry) -> Iterator[Case]:
    """Each cutoff with the defaults and with all else changed, for each meaning of tied scores."""
    covered = {"k", "no_relevant", "over", "ties", *OTHER_VALUES}
    unknown = set(entry.parameters) - covered
    assert not unknown, f"OTHER_VALUES lacks {unknown}, parameters of {entry.name}"
    values = OTHER_VALUES | ({"gain": "2^y-1"} if entry.name == "CG" else {})
    others: Parameters = tuple((k, v) for k, v in values.items() if k in entry.parameters)
    if entry.over:
        _, *rest = entry.over
        assert len(rest) == 1, f"a case for each of {rest}"
        others += (("over", rest[0]),)
    cutoffs: list[Parameters] = [(("k", k),) for k in CUTOFFS]
    if entry.cutoff == "none":
        cutoffs = [()]
    elif entry.cutoff == "optional":
        cutoffs.append(())
    for cutoff in cutoffs:
        for choice in entry.ties:
            ties: Parameters = () if choice == entry.ties[0] else (("ties", choice),)
            yield Case(entry, cutoff + ties)
            yield Case(entry, cutoff + others + ties)


CASES = [case for entry in metrics() for case in cases_of(entry)]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_tied_case = pytest.mark.parametrize(
    "case", [case for case in CASES if case.ties != "row"], ids=str
)


@functools.cache
def some_data(kind: str, *, seed: int = 0, sizes: tuple[int, ...] = SIZES) -> Data:
    """Queries of many sizes, of which some have no relevant document.

    Scores of kind "near" tie in single precision only.
    """
    data = make_data(sizes, tied=kind != "untied", seed=seed)
    labels = np.minimum(data.labels, 4.0)
    for number, rows in enumerate(data):
        if number % 7 == 3:
            labels[rows] = 0.0
    scores = data.scores
    if kind == "near":
        scores = scores + 1e-9 * np.random.default_rng(seed).uniform(-1.0, 1.0, len(scores))
    for values in (scores, labels):
        values.setflags(write=False)  # one test must not change the data of another
    return Data(scores, labels, data.sizes)


def reference_values(case: Case, data: Data) -> Floats:
    """The reference, with the metric's own choice for queries without a relevant document."""
    labels = case.labels(data)
    top = float(labels.max())
    return np.array([case.expected(data.scores[rows], labels[rows], top) for rows in data])
