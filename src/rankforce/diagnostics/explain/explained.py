"""What is known about the forces of one query."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankforce.common.checks import check_whole
from rankforce.common.types import plain
from rankforce.forces.base import PairForces

FALSE, MISSED = "false", "missed"


class Document(NamedTuple):
    """One document of the query, and what pushes it."""

    rank: int  # from 1
    row: int
    doc_id: str | None  # None where the data has no ids
    label: float  # -inf where it is not known
    score: float
    force: float  # above 0 pushes up
    kind: str  # "false" or "missed" top-k document, or "" (Marcuzzi et al. 2023, section 4.2)

    @property
    def name(self) -> str:
        """The id, or the row.

        >>> Document(1, 7, None, 2.0, 0.5, 0.0, "").name
        'row 7'
        """
        return f"row {self.row}" if self.doc_id is None else self.doc_id


class Pair(NamedTuple):
    """Two documents that push each other: `hi` up, `lo` down."""

    hi: Document
    lo: Document
    weight: float
    force: float
    share: float  # of the force of all pairs


class Violation(NamedTuple):
    """A false top-k document that is pushed up more than a missed one."""

    false: Document
    missed: Document

    @property
    def size(self) -> float:
        """By how much."""
        return self.false.force - self.missed.force


class Explained(NamedTuple):
    """The forces of one query under one objective. Made by :func:`rankforce.explain`."""

    query: Any  # its id
    why: str  # why this query, where nobody asked for it
    objective: str
    k: int
    norm: str
    iteration: int
    documents: list[Document]  # by rank
    pairs: PairForces  # strongest first; `hi` and `lo` are rows
    metrics: dict[str, float]  # of the query at these scores; NaN where it does not count

    @property
    def largest(self) -> float:
        """The largest force on a document, up or down."""
        return max((abs(one.force) for one in self.documents), default=0.0)

    @property
    def violations(self) -> list[Violation]:
        """Where the forces are not coherent, the worst first (Marcuzzi et al. 2023, def. 3.1).

        >>> import rankforce as rf
        >>> truncated = rf.objective("lambdarank-ndcg", k=1)
        >>> found = rf.explain(truncated, [0.04, 0.03, 0.02, 0.01, 0.0], [1, 2, 0, 0, 0])
        >>> [(one.false.row, one.missed.row) for one in found.violations]
        [(0, 1)]
        """
        false = [one for one in self.documents if one.kind == FALSE]
        missed = [one for one in self.documents if one.kind == MISSED]
        found = [Violation(f, m) for f in false for m in missed if f.force > m.force]
        return sorted(found, key=lambda one: -one.size)

    def strongest(self, top: int | None = None) -> list[Pair]:
        """The pairs that contribute most; all of them by default."""
        by_row = {one.row: one for one in self.documents}
        total = float(self.pairs.force.sum()) or 1.0
        columns = (column[:top].tolist() for column in self.pairs)
        return [
            Pair(by_row[hi], by_row[lo], weight, force, force / total)
            for hi, lo, weight, force in zip(*columns, strict=True)
        ]

    def table(
        self, width: int = 80, *, top: int = 20, pairs: int = 10, encoding: str | None = None
    ) -> str:
        """Bars of the forces, violations in words, and the strongest pairs, as text.

        At most `top` documents are shown: the first ones, and those below with the largest forces.
        Bars are drawn with what `encoding` has (None: that of standard output).

        >>> import rankforce as rf
        >>> found = rf.explain(rf.objective("ranknet"), [0.0, 0.0], [0, 1], k=1)
        >>> print(found.table(64, pairs=0, encoding="ascii"))
        query 0: 2 documents, NDCG@1 0.0000, P@1 0.0000
        RankNet: 1 pair
        <BLANKLINE>
        rank  document  label  score  top 1     force      down|up
           1  row 0         0  0.000  false   -0.5000  <=======|
        -- top 1 -------------------------------------------------------
           2  row 1         1  0.000  missed  +0.5000          |=======>
        <BLANKLINE>
        coherent: no false top-1 document is pushed up more than a
        missed one
        """
        from rankforce.diagnostics.explain.show import show

        return show([self], width=width, top=top, pairs=pairs, encoding=encoding)

    def record(self, *, pairs: int | None = None) -> dict[str, Any]:
        """The same for programs: JSON can hold it. `pairs` limits how many, None is all.

        >>> import rankforce as rf
        >>> found = rf.explain(rf.objective("ranknet"), [0.0, 0.0], [0, 1])
        >>> found.record()["pairs"]
        [{'hi': 1, 'lo': 0, 'weight': 1.0, 'force': 0.5, 'share': 1.0}]
        """
        if pairs is not None:
            check_whole("pairs", pairs, least=0)
        strongest = [
            one._asdict() | {"hi": one.hi.row, "lo": one.lo.row} for one in self.strongest(pairs)
        ]
        violations = [
            {"false": one.false.row, "missed": one.missed.row, "size": one.size}
            for one in self.violations
        ]
        return {
            "query": plain(self.query),
            "why": self.why,
            "objective": self.objective,
            "k": self.k,
            "norm": self.norm,
            "iteration": self.iteration,
            "metrics": {name: plain(value) for name, value in self.metrics.items()},
            "documents": [one._asdict() | {"label": plain(one.label)} for one in self.documents],
            "pair_count": len(self.pairs.force),
            "pairs": strongest,
            "violations": violations,
        }
