"""Forces at odds with the order, which would make it worse, and with those of others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.threads import run_blocks
from rankforce.common.types import Floats
from rankforce.diagnostics.view import Now, View, make_view
from rankforce.forces.base import AnyObjective
from rankforce.kernels import coherence as kernel


class Incoherence(NamedTuple):
    """Violations of coherence in each query."""

    violations: NDArray[np.int64]  # pairs whose worse document has the larger force
    size: Floats  # how much larger, on average, in units of the query's largest force

    @property
    def share(self) -> float:
        """Share of queries with a violation."""
        return float(np.mean(self.violations > 0)) if len(self.violations) else 0.0

    @property
    def mean_violations(self) -> float:
        """Violations per query."""
        return float(np.mean(self.violations)) if len(self.violations) else 0.0

    @property
    def mean_size(self) -> float:
        """Mean size over the queries with a violation; 0 if there is none."""
        has = self.violations > 0
        return float(np.mean(self.size[has])) if has.any() else 0.0


def incoherence(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    k: int | None = None,
    restricted: bool = True,
    missed: str | None = None,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    norm: str = "none",
    iteration: int = 0,
    threads: int = 1,
) -> Incoherence:
    """Pairs in the wrong order whose forces push them further apart, for each query.

    Restricted, as Figure 3 of the paper counts them: a false top-k document (the ideal top-k has
    fewer of its label; `missed="label"`: none) has a strictly larger force than a missed one. Else:
    any document has a larger force than one below it with a higher label. Labels are those that the
    objective reads, relevant or not where it knows no more. `k` and `missed`, as in `rf.objective`,
    are the objective's own by default.

    >>> import rankforce as rf
    >>> objective = rf.objective("lambdarank-ndcg", k=1)
    >>> found = incoherence(objective, [0.04, 0.03, 0.02, 0.01, 0.00], [1, 2, 0, 0, 0])
    >>> found.share, found.violations.tolist(), found.size.round(3).tolist()
    (1.0, [1], [0.189])
    """
    now = Now(norm, iteration, threads)
    view = make_view(objective, scores, labels, now, group=group, qid=qid, k=k, missed=missed)
    return find_incoherence(view, restricted=restricted)


def agreement(
    first: AnyObjective,
    second: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    norm: str = "none",
    iteration: int = 0,
) -> float:
    """Share of documents that both push the same way, or the second not at all.

    >>> import rankforce as rf
    >>> grades, clicks = rf.objective("ranknet"), rf.objective("ranknet", source="click")
    >>> labels = {"grade": [1, 0, 0], "click": [0.5, 0.9, 0.1]}
    >>> round(agreement(grades, clicks, [0, 0, 0], labels), 4)
    0.6667
    """
    forces = [
        one.gradients(scores, labels, group=group, qid=qid, norm=norm, iteration=iteration)[0]
        for one in (first, second)
    ]
    return share_agreeing(*forces)


def share_agreeing(first: Floats, second: Floats) -> float:
    """Share of documents whose two forces have the same sign, or whose second is 0."""
    if not len(first):
        return 1.0
    return float(np.mean((np.sign(first) == np.sign(second)) | (second == 0.0)))


def find_incoherence(view: View, *, restricted: bool) -> Incoherence:
    """The same of a view."""
    scene = view.scene
    pointer = scene.index.pointer
    code, lam = scene.grades.code[view.ranked], view.forces[view.ranked]
    violations = np.zeros(len(pointer) - 1, np.int64)
    size = np.zeros(len(pointer) - 1)

    def work(first: int, last: int) -> int:
        if restricted:
            grades, by_label = scene.grades, scene.grades.missed == "label"
            rules = (grades.ideal, lam, scene.k, grades.missable, by_label)
            kernel.restricted_block(first, last, pointer, code, *rules, violations, size)
        else:
            kernel.unrestricted_block(first, last, pointer, code, lam, violations, size)
        return -1

    sizes = scene.index.sizes.astype(np.float64)
    run_blocks(work, sizes * (20.0 if restricted else 20.0 + sizes / 2), view.threads)
    largest = np.zeros(len(sizes))
    has = sizes > 0
    if has.any():
        largest[has] = np.maximum.reduceat(np.abs(lam), pointer[:-1][has])
    return Incoherence(violations, size / np.maximum(violations * largest, 1e-300))
