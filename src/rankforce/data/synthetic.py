"""Synthetic ranking data with the list lengths, the label mix and the width of known sets.

What makes a document relevant belongs to the shape, not to the seed: a model trained on `seed=0`
ranks `seed=1`. No value of a known set is in it.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData

Floats = NDArray[np.float32]


class Shape(NamedTuple):
    """Facts of a training set; Adalia et al. 2025, Table 2, and Marcuzzi et al. 2023, Table 3."""

    title: str
    queries: int
    median: float
    shortest: int
    longest: int
    sigma: float  # of the logarithm of list lengths
    labels: tuple[float, ...]
    features: int
    shown: int  # ranks that a production ranker shows: deeper ones have no clicks
    usual: int  # queries made when the caller names no number
    noise: float  # of the hidden relevance, against about 1 of signal
    offset: float  # spread of the hidden relevance over queries
    alike: float = 0.2  # share of a document's signals that its query decides
    sparse: bool = False  # values in [0, 1], many of them 0


# fmt: off
SHAPES = {
    "mslr": Shape("MSLR-WEB30K", 18_919, 110, 1, 1_251, 0.48, (0.52, 0.32, 0.13, 0.02, 0.01),
                  features=136, shown=40, usual=500, noise=0.8, offset=0.5),
    "istella-s": Shape("Istella-S", 19_245, 124, 3, 180, 0.60, (0.89, 0.02, 0.04, 0.03, 0.02),
                       features=220, shown=40, usual=500, noise=0.6, offset=0.5),
    # 699 as papers count them; the real set 1 fills 519 of them, and so does this one.
    "yahoo": Shape("Yahoo", 19_944, 19, 1, 139, 0.65, (0.26, 0.36, 0.28, 0.08, 0.02),
                   features=699, shown=10, usual=500, noise=0.7, offset=0.5, sparse=True),
    # A tenth of its queries: 26.8 million documents do not fit a small machine's LightGBM.
    "istella-x": Shape("Istella-X / 10", 1_000, 2_679, 100, 10_000, 0.10,
                       (0.9983, 0.0005, 0.0005, 0.0004, 0.0003),
                       features=220, shown=100, usual=20, noise=0.2, offset=0.1, alike=0.02),
}
# fmt: on

DOCUMENT, QUERY = 24, 6  # signals of a document, of which 0..15 make relevance; of a query
APPEAL = (16, 17, 18)  # signals that bring clicks and that the grades do not know
EMPTY = 180  # columns of a sparse shape that are all 0
KINDS = ("count", "heavy", "ratio", "score", "flag", "query", "sparse", "empty")


class Plan(NamedTuple):
    """How columns come from signals: share * a signal + mix * another + noise * own draw."""

    kind: NDArray[np.int64]  # index into KINDS
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    share: Floats
    mix: Floats
    noise: Floats
    place: Floats  # location and scale of the kind's curve
    scale: Floats


class Block(NamedTuple):
    """The signals of some queries; one row for each signal, one column for each document."""

    query: NDArray[np.int64]
    signals: Floats
    hidden: Floats


def make_data(shape: str = "mslr", *, queries: int | None = None, seed: int = 0) -> RankingData:
    """Make a set of that shape: features, labels, and click rates in `sources["clicks"]`.

    Query number q is the same whatever the number of queries asked for. A click rate is clicks per
    view: a user looks at rank r of a weak ranker with probability r**-0.9, and clicks the more,
    the better the grade and the appeal are; three signals that features show and grades do not
    know make the appeal. It is NaN where the document was never shown, for most documents, and 0
    where nobody clicked. So of two documents of one grade, features say more than chance on
    which is clicked more, as a study of clicks below grades needs (Svore et al. 2011, section 4).

    >>> data = make_data("mslr", queries=20)
    >>> data.features.shape[1], data.features.dtype.name
    (136, 'float32')
    """
    facts = _check(shape, queries, seed)
    wanted = facts.usual if queries is None else int(queries)
    many = max(int(8192 / facts.median), 1)  # queries in a block: what fits a cache
    generators = [
        np.random.default_rng([seed, zlib.crc32(shape.encode()), block])
        for block in range(-(-wanted // many))
    ]
    drawn = [_sizes(facts, rng, many) for rng in generators]
    sizes = np.concatenate(drawn)[:wanted]
    rows = int(sizes.sum())
    features = np.empty((rows, facts.features), np.float32)
    labels = np.empty(rows, np.float64)
    clicks = np.empty(rows, np.float64)
    start = 0
    for rng, block_sizes in zip(generators, drawn, strict=True):
        block = _signals(facts, rng, block_sizes)
        grades = np.searchsorted(_cuts(shape), block.hidden, side="right")
        end = min(start + len(grades), rows)
        keep = end - start
        features[start:end] = _features(_plan(shape), block, rng)[:, :keep].T
        labels[start:end] = grades[:keep]
        clicks[start:end] = _clicks(facts, block, grades, rng)[:keep]
        start = end
    return RankingData(
        features,
        labels,
        qid=np.repeat(np.arange(1, wanted + 1), sizes),
        feature_names=_names(shape),
        sources={"clicks": clicks},
    )


def _check(shape: str, queries: int | None, seed: int) -> Shape:
    if shape not in SHAPES:
        raise RankforceError(f"shape {shape!r} is unknown: choose one of {', '.join(SHAPES)}")
    if queries is not None and (int(queries) != queries or queries < 1):
        raise RankforceError(f"queries is {queries}: an integer from 1 up")
    if int(seed) != seed or seed < 0:
        raise RankforceError(f"seed is {seed}: an integer from 0 up")
    return SHAPES[shape]


def _sizes(facts: Shape, rng: np.random.Generator, many: int) -> NDArray[np.int64]:
    sizes = np.exp(rng.normal(np.log(facts.median), facts.sigma, many)).round()
    return sizes.clip(facts.shortest, facts.longest).astype(np.int64)


def _signals(facts: Shape, rng: np.random.Generator, sizes: NDArray[np.int64]) -> Block:
    query = np.repeat(np.arange(len(sizes)), sizes)
    of_query = rng.standard_normal((DOCUMENT + QUERY + 1, len(sizes)), np.float32)
    signals = of_query[:-1].take(query, axis=1)
    own = rng.standard_normal((DOCUMENT, len(query)), np.float32)
    signals[:DOCUMENT] *= np.float32(facts.alike**0.5)
    signals[:DOCUMENT] += np.float32((1 - facts.alike) ** 0.5) * own
    hidden = _relevance(signals) + _offset(facts, of_query[-1])[query]
    hidden += np.float32(facts.noise) * rng.standard_normal(len(query), np.float32)
    return Block(query, signals, hidden)


def _offset(facts: Shape, draw: Floats) -> Floats:
    """Some queries are easy, some hard, and one in forty has next to nothing relevant."""
    offset: Floats = np.float32(facts.offset) * draw + 6 * np.minimum(draw + np.float32(1.5), 0)
    return offset


def _relevance(signals: Floats) -> Floats:
    """Saturations, thresholds and interactions of 16 signals, and what two query signals prefer."""
    s, q = signals[:DOCUMENT], signals[DOCUMENT:]
    base = 0.5 * np.tanh(s[0]) + 0.3 * np.maximum(s[1], s[2]) - 0.3 * np.abs(s[3] - 0.5)
    base += 0.5 * s[4] * (s[5] > 0) + 0.6 * (s[6] > 0.8) + 0.4 * np.tanh(s[7]) * np.tanh(s[8])
    base += 0.4 * np.tanh(q[0]) * s[9] + 0.3 * np.where(q[1] > 0, s[10], s[11])
    # Other signals order the top than the rest, so that objectives have something to disagree on.
    top = np.maximum(base - 0.5, 0)
    tail = np.maximum(0.5 - base, 0)
    hidden: Floats = base + 0.6 * top * (s[12] + np.tanh(2 * s[13])) + 0.4 * tail * (s[14] + s[15])
    return hidden


@cache
def _cuts(shape: str) -> Floats:
    """Values of hidden relevance between the grades, from a sample that no seed changes."""
    facts = SHAPES[shape]
    rng = np.random.default_rng([zlib.crc32(shape.encode()), 1])
    queries = int(min(max(200_000, 400 / facts.labels[-1]), 800_000) / facts.median)
    hidden = _signals(facts, rng, _sizes(facts, rng, queries)).hidden
    cuts: Floats = np.quantile(hidden, np.cumsum(facts.labels)[:-1]).astype(np.float32)
    return cuts


@cache
def _plan(shape: str) -> Plan:
    """Which column shows what; a minority of them bears on relevance, many only resemble it."""
    facts = SHAPES[shape]
    rng = np.random.default_rng([zlib.crc32(shape.encode()), 2])
    width = facts.features - (EMPTY if facts.sparse else 0)
    role = rng.choice(4, size=width, p=(0.08, 0.12, 0.40, 0.40))  # query, twin, relative, useless
    role[: DOCUMENT + QUERY] = 1  # each signal is shown at least once
    first = rng.integers(0, DOCUMENT, width)
    first[: DOCUMENT + QUERY] = np.arange(DOCUMENT + QUERY)
    first[role == 0] = rng.integers(DOCUMENT, DOCUMENT + QUERY, int((role == 0).sum()))
    of_query = first >= DOCUMENT
    noise = np.where(role == 2, rng.uniform(0.5, 0.95, width), role == 3)
    mix = np.where(role == 2, rng.uniform(-0.5, 0.5, width), 0.0)
    share = np.sqrt(np.maximum(1 - noise**2 - mix**2 * (1 - noise**2), 0))
    kind = rng.choice(5, size=width, p=(0.3, 0.15, 0.2, 0.25, 0.1))
    kind[:DOCUMENT] = rng.choice(4, size=DOCUMENT)  # a flag would hide most of a signal
    kind[of_query] = KINDS.index("query")
    if facts.sparse:
        kind[:] = KINDS.index("sparse")
    columns = (
        *(kind, first, rng.integers(0, DOCUMENT, width), share, mix * np.sqrt(1 - noise**2), noise),
        *(rng.uniform(-1.5, 1.5, width), rng.uniform(0.5, 1.5, width)),
    )
    empty = [KINDS.index("empty")] * (facts.features - width)
    order = rng.permutation(facts.features)
    full = [np.append(c, empty if c is kind else np.zeros(len(empty)))[order] for c in columns]
    types = (np.int64,) * 3 + (np.float32,) * 5
    return Plan(*(c.astype(t) for c, t in zip(full, types, strict=True)))


def _names(shape: str) -> list[str]:
    return [f"{KINDS[kind]}_{column}" for column, kind in enumerate(_plan(shape).kind, start=1)]


def _features(plan: Plan, block: Block, rng: np.random.Generator) -> Floats:
    """One row for each feature: the caller turns it round while it is in the cache."""
    values = block.signals[plan.first]
    values *= plan.share[:, None]
    mixed = np.flatnonzero(plan.mix)
    values[mixed] += plan.mix[mixed, None] * block.signals[plan.second[mixed]]
    own = np.flatnonzero(plan.noise)
    draw = rng.standard_normal((len(own), values.shape[1]), np.float32)
    values[own] += plan.noise[own, None] * draw
    for number, name in enumerate(KINDS):
        columns = np.flatnonzero(plan.kind == number)
        if columns.size:
            place, scale = plan.place[columns, None], plan.scale[columns, None]
            values[columns] = _curve(name, values[columns], place, scale)
    return values


def _curve(kind: str, z: Floats, place: Floats, scale: Floats) -> Any:
    if kind in ("count", "query"):
        return np.floor(np.exp(2 + place + scale * z))
    if kind == "heavy":
        return np.exp(3 * place + 2 * scale * z)
    if kind == "ratio":
        return 1 / (1 + np.exp(-place - 2 * scale * z))
    if kind == "score":  # such as BM25: 0 where no word matches
        return np.maximum(10 * scale * (z + place + 1), 0)
    if kind == "flag":
        return z > place
    if kind == "sparse":
        return np.where(z > 0.7 * place, 1 / (1 + np.exp(-2 * scale * z)), np.float32(0))
    return np.zeros_like(z)


def _clicks(
    facts: Shape, block: Block, grades: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Clicks per view: examination falls with the rank that a weak production ranker gave."""
    signals, rows = block.signals, len(grades)
    weak = signals[0] + signals[4] + 0.5 * signals[20] + rng.standard_normal(rows, np.float32)
    order = np.lexsort((-weak, block.query))
    start = np.searchsorted(block.query, block.query[order])
    rank = np.empty(rows, np.int64)
    rank[order] = np.arange(rows) - start
    views = np.exp(rng.normal(5.5, 1, int(block.query[-1]) + 1)).clip(20, 20_000)[block.query]
    appeal = signals[list(APPEAL)].sum(axis=0) / len(APPEAL) ** 0.5
    drawn = 1 / (1 + np.exp(2 - 3.5 * grades / (len(facts.labels) - 1) - 0.8 * appeal))
    seen = (1.0 + rank) ** -0.9
    whole = views.astype(np.int64)
    rates = rng.binomial(whole, (seen * drawn).astype(np.float64)) / whole
    return np.where(rank < facts.shown, rates, np.nan)
