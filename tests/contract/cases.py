"""Every objective of the registry as test cases, so that a new objective brings its own tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import rankforce as rf
from tests import reference as ref

Floats = NDArray[np.float64]
Parameters = tuple[tuple[str, Any], ...]

K = 3
# Every parameter that an objective may have, at a value that is not its default.
OTHER_VALUES: dict[str, Any] = {
    "tau": 5,
    "mu": 0.7,
    "gain": "y",
    "delta_offset": 1,
    "missed": "label",
    "p": 0.9,
    "max_label": 6.0,
}
# Metrics without a cutoff; RBP has its persistence for that.
ENDLESS = {"lambdarank(rbp)", "lambdarank(arp)"}
# Labels are shares of clicks, from 0 to 1, and no grades.
OF_CLICKS = {entry.name for entry in rf.objectives() if entry.of_clicks}
# Forces of whole lists. Nothing is asked of them that is about pairs: weights, counts, a cost, a
# cutoff, silence where labels do not differ. All else is.
LISTWISE = {entry.name for entry in rf.objectives() if entry.listwise}
# Nor is of those of single documents what is about lists: a sum of 0, draws, silence.
POINTWISE = {entry.name for entry in rf.objectives() if entry.pointwise}
METRIC_NAME = re.compile(r"lambdarank\((\w+)\)")


@dataclass(frozen=True)
class Case:
    """An objective with parameters, and the reference that says what it must compute."""

    name: str
    parameters: Parameters = ()

    def __str__(self) -> str:
        shown = [f"{key}={value}" for key, value in self.parameters]
        return "; ".join([self.name, *shown])

    @property
    def values(self) -> dict[str, Any]:
        return dict(self.parameters)

    @property
    def is_listwise(self) -> bool:
        return self.name in LISTWISE

    @property
    def is_pointwise(self) -> bool:
        return self.name in POINTWISE

    @property
    def is_random(self) -> bool:
        return "random" in self.name or (self.is_listwise and not self.is_pointwise)

    def takes(self, how: dict[str, Any]) -> bool:
        """Whether the objective has a cost of pairs, if `how` says something about one."""
        return not (self.is_listwise and {"sigma", "cost", "center"} & set(how))

    @property
    def reference_name(self) -> str:
        """The reference writes a metric's cutoff and persistence into its name."""
        found = METRIC_NAME.fullmatch(self.name)
        if not found:
            return self.name
        persistence = f"({self.values['p']})" if "p" in self.values else ""
        cutoff = f"@{self.values['k']}" if "k" in self.values else ""
        return f"lambdarank({found[1]}{persistence}{cutoff})"

    def labels(self, labels: ArrayLike) -> Floats:
        """Labels that the objective takes: CNDCG wants shares of clicks."""
        given = np.asarray(labels)
        return np.minimum(given / 8.0, 1.0) if self.name in OF_CLICKS else given

    def suited(self, data: Data) -> Data:
        """The same data with labels that the objective takes."""
        return replace(data, labels=self.labels(data.labels))

    def objective(self, **how: Any) -> rf.Objective:
        return rf.objective(self.name, **self.values, **how)

    def weights(self, scores: Sequence[float], labels: Sequence[float], **more: Any) -> Floats:
        """The reference's W[hi][lo]."""
        options = {key: value for key, value in self.values.items() if key != "p"} | more
        n = len(labels)
        W = ref.weights(self.reference_name, list(scores), list(labels), **options)
        return np.array(W, dtype=np.float64).reshape(n, n)


def all_cases() -> list[Case]:
    """Each objective with its defaults, with a cutoff, and with all its parameters changed."""
    return list(dict.fromkeys(case for entry in rf.objectives() for case in cases_of(entry)))


def cases_of(entry: Any) -> Iterator[Case]:
    k: Parameters = (("k", K),)
    others = tuple((key, value) for key, value in OTHER_VALUES.items() if key in entry.uses)
    unknown = set(entry.uses) - set(OTHER_VALUES)
    assert not unknown, f"OTHER_VALUES lacks {unknown}, parameters of {entry.name}"
    yield Case(entry.name, k if entry.needs_k else ())
    if entry.name not in ENDLESS:
        yield Case(entry.name, k)
    if others:
        yield Case(entry.name, others if entry.name in ENDLESS else k + others)


CASES = all_cases()
PAIRWISE = [case for case in CASES if not case.is_listwise]
OF_LISTS = [case for case in CASES if not case.is_pointwise]
NAMED = [case for case in CASES if case.parameters in ((), (("k", K),))]


def plain_cases() -> list[Case]:
    """One case for each objective: with k = 3 where it takes a cutoff."""
    return [Case(e.name, () if e.name in ENDLESS else (("k", K),)) for e in rf.objectives()]


@dataclass(frozen=True)
class Data:
    """Queries of synthetic scores and labels."""

    scores: Floats
    labels: Floats
    sizes: tuple[int, ...]

    def __iter__(self) -> Iterator[slice]:
        """The rows of each query."""
        start = 0
        for size in self.sizes:
            yield slice(start, start + size)
            start += size


GRADES = np.array([0, 0, 0, 1, 2, 3, 4], dtype=np.float64)


def draw_labels(rng: np.random.Generator, n: int) -> Floats:
    """Random grades, of which at least two differ if there are two documents."""
    labels = rng.choice(GRADES, n)
    if n > 1 and len(set(labels)) == 1:
        labels[-1] = labels[0] + 1
    return labels


def draw_scores(rng: np.random.Generator, n: int, spread: float) -> Floats:
    """Random scores whose best and worst differ by `spread`."""
    scores = rng.uniform(size=n)
    if n > 1:
        scores = (scores - scores.min()) / (scores.max() - scores.min())
    return spread * (scores - 0.5)


def make_data(
    sizes: Sequence[int], *, spread: float = 4.0, tied: bool = False, seed: int = 0
) -> Data:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([draw_labels(rng, n) for n in sizes])
    if tied:
        scores = rng.integers(0, 4, len(labels)) / 2.0
    else:
        scores = np.concatenate([draw_scores(rng, n, spread) for n in sizes])
    return Data(scores, labels, tuple(sizes))


def sparse_data(n: int, relevant: int = 40) -> tuple[Floats, Floats]:
    """Scores and labels of a query with few relevant documents; the last one is relevant."""
    rng = np.random.default_rng(n)
    labels = np.zeros(n)
    labels[rng.integers(0, n - 1, relevant)] = rng.integers(1, 5, relevant)
    labels[0], labels[-1] = 0.0, 2.0
    return draw_scores(rng, n, 1.0), labels


def largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0.0))


# A force below this is as good as none: float64 ends at 1e-308.
NOTHING = 1e-290


def assert_close(got: Floats, expected: Floats, what: str, tolerance: float = 1e-4) -> None:
    """Within `tolerance` of the largest expected number."""
    allowed = tolerance * largest(expected) + NOTHING
    wrong = np.flatnonzero(~(np.abs(got - expected) <= allowed))
    if len(wrong):
        row = wrong[0]
        raise AssertionError(
            f"{what}: {len(wrong)} of {len(got)} rows differ; row {row} is {got[row]!r}, "
            f"expected {expected[row]!r}, allowed difference {allowed:.3g}"
        )
