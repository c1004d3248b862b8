"""Metrics of one query whose scores tie: the mean over all orders, or each at its last rank."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from .metrics import metric, over_of, relevance
from .ranking import cutoff, order


def metric_of_scores(
    name: str,
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    ties: str = "row",
    score_type: str = "float64",
    **options: Any,
) -> float:
    """The value of metric `name` of a ranking by `scores`."""
    found = [float(score) for score in scores]
    if score_type == "float32":
        found = [to_single(score) for score in found]
    if ties == "average":
        return expected_metric(name, found, labels, **options)
    if ties == "last":
        assert name == "map"
        return last_average_precision(found, labels, **options)
    return metric(name, [labels[row] for row in order(found)], **options)


def to_single(score: float) -> float:
    """The nearest number that single precision holds."""
    return float(struct.unpack("f", struct.pack("f", score))[0])


def tied_rows(scores: Sequence[float]) -> list[list[int]]:
    """The rows of each score, best score first."""
    return [list(tie) for _, tie in itertools.groupby(order(scores), key=lambda row: scores[row])]


def all_orders(scores: Sequence[float]) -> Iterator[list[int]]:
    """Every order of the rows that is sorted by score."""
    for parts in itertools.product(*(itertools.permutations(tie) for tie in tied_rows(scores))):
        yield [row for part in parts for row in part]


def mean_over_orders(
    name: str, scores: Sequence[float], labels: Sequence[float], **options: Any
) -> float:
    """The definition of ties="average", for queries of few documents."""
    values = [metric(name, [labels[row] for row in rows], **options) for rows in all_orders(scores)]
    return math.fsum(values) / len(values)


def last_average_precision(
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    k: float | None = None,
    rel: float | None = None,
    over: str | None = None,
) -> float:
    """MAP where a document's rank is the number of documents with its score or a better one."""
    b = relevance(labels, rel)
    total = 0.0
    for i, score in enumerate(scores):
        rank = sum(1.0 for other in scores if other >= score)
        found = sum(b[j] for j, other in enumerate(scores) if other >= score)
        if b[i] > 0 and rank <= cutoff(k):
            total += found / rank
    return total / over_of(b, k, over) if any(b) else 0.0


def expected_metric(
    name: str, scores: Sequence[float], labels: Sequence[float], **options: Any
) -> float:
    """`mean_over_orders` without all the orders."""
    if name == "map":
        return expected_average_precision(scores, labels, **options)
    if name == "mrr":
        return expected_reciprocal_rank(scores, labels, **options)
    if name == "err":
        return expected_cascade(scores, labels, **options)
    return expected_sum(name, scores, labels, **options)


def expected_sum(
    name: str, scores: Sequence[float], labels: Sequence[float], **options: Any
) -> float:
    """Of a sum over documents: turning a tie round and round puts each document at each rank."""
    ties = tied_rows(scores)
    usual = metric(name, [labels[row] for tie in ties for row in tie], **options)
    total = usual
    for number, tie in enumerate(ties):
        for turn in range(1, len(tie)):
            turned = [*ties[:number], tie[turn:] + tie[:turn], *ties[number + 1 :]]
            value = metric(name, [labels[row] for part in turned for row in part], **options)
            total += (value - usual) / len(tie)
    return total


def expected_average_precision(
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    k: float | None = None,
    rel: float | None = None,
    over: str | None = None,
) -> float:
    """Sum over relevant documents i and ranks r of P(i at r) * E[relevant up to r] / r."""
    b = relevance(labels, rel)
    total, before, found = 0.0, 0, 0.0
    for tie in tied_rows(scores):
        for i in tie:
            others = sum(b[j] for j in tie if j != i)
            for place in range(len(tie)):
                rank = before + place + 1
                # Each other document of the tie is before i with the same probability.
                ahead = others * place / (len(tie) - 1) if place else 0.0
                if b[i] > 0 and rank <= cutoff(k):
                    total += (found + ahead + 1.0) / rank / len(tie)
        before += len(tie)
        found += sum(b[i] for i in tie)
    return total / over_of(b, k, over) if any(b) else 0.0


def expected_reciprocal_rank(
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    k: float | None = None,
    rel: float | None = None,
) -> float:
    """The first tie with a relevant document: in how many of the choices of ranks r is first."""
    b = relevance(labels, rel)
    before = 0
    for tie in tied_rows(scores):
        relevant = round(sum(b[i] for i in tie))
        if relevant:
            total = 0.0
            for place in range(len(tie)):
                if before + place + 1 <= cutoff(k):
                    choices = math.comb(len(tie) - place - 1, relevant - 1)
                    total += choices / (before + place + 1)
            return total / math.comb(len(tie), relevant)
        before += len(tie)
    return 0.0


def expected_cascade(
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    k: float | None = None,
    max_label: float | None = None,
) -> float:
    """ERR: sum over documents i and ranks r of P(i at r) * P(i is read then) * stop_i / r."""
    top = max(labels) if max_label is None else max_label
    stop = [(2.0**label - 1.0) / 2.0**top for label in labels]
    total, before, reading = 0.0, 0, 1.0
    for tie in tied_rows(scores):
        for i in tie:
            products = sums_of_products([1.0 - stop[j] for j in tie if j != i])
            for place, product in enumerate(products):
                if before + place + 1 <= cutoff(k):
                    others_go_on = product / math.comb(len(tie) - 1, place)
                    total += reading * others_go_on * stop[i] / (before + place + 1) / len(tie)
        before += len(tie)
        reading *= math.prod(1.0 - stop[i] for i in tie)
    return total


def sums_of_products(values: Sequence[float]) -> list[float]:
    """Item m is the sum, over all choices of m values, of their product."""
    sums = [1.0]
    for value in values:
        longer = [*sums, 0.0]
        for m, smaller in enumerate(sums, start=1):
            longer[m] += value * smaller
        sums = longer
    return sums
