"""Objectives by name, and names of objectives, for people who look at several of them."""

from __future__ import annotations

from typing import Any

from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective
from rankforce.forces.mixed import make_one, parts_of, title
from rankforce.forces.objective import ALIASES, OneObjective
from rankforce.forces.registry import parse_name


def at_cutoff(given: Any, k: int | None) -> AnyObjective:
    """An objective as it is; the one of a name or table, with `k` if only the cutoff is open.

    >>> [at_cutoff(name, 5).arguments for name in ("lambdagap-x", "lambdagap-x@3", "ranknet")]
    [{'k': 5}, {'k': 3}, {}]
    """
    if not isinstance(given, str) or given.lower().strip() in ALIASES:
        return make_one(given)
    parsed = parse_name(given)
    is_open = parsed.k is None and parsed.entry.has_cutoff
    return objective(given, k=k if is_open else None)


def known_cutoff(one: AnyObjective) -> int | None:
    """The k that an objective was made with; of a mix, the first that a part has.

    >>> known_cutoff(objective("ranknet") + objective("lambdagap-x", k=5))
    5
    """
    found = [part.objective.arguments.get("k") for part in parts_of(one)]
    return next((int(k) for k in found if k is not None), None)


def title_of(one: AnyObjective) -> str:
    """Name, cutoff and source of an objective.

    >>> title_of(objective("lambdagap-x", k=5))
    'LambdaGap-X@5'
    """
    return title(one) if isinstance(one, OneObjective) else one.name
