"""Makes objectives: by name, from a metric's two functions, or from a pair weight."""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

import numpy as np

from rankforce.common.checks import check_choice, check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.forces.base import AnyObjective
from rankforce.forces.description import Cost, Description, Entry, Missed, PairSet, Parameters
from rankforce.forces.objective import ALIASES, NAME, Additive, Objective, PreferenceObjective
from rankforce.forces.registry import ENTRIES, parse_name
from rankforce.measures.gains import GainLike, check_gain
from rankforce.measures.make import check_parameters, check_source
from rankforce.measures.names import parse_name as parse_metric

PairWeight = Callable[[float, float, int, int], float]

# Of the parameters that every objective has.
DEFAULTS = {
    "sigma": 1.0,
    "seed": 0,
    "cost": "logistic",
    "center": 0.0,
    "source": None,
    "norm": None,
}


def objective(
    name: str | PairWeight | Mapping[str, Any],
    *,
    k: int | None = None,
    tau: float | None = None,
    mu: float | None = None,
    gain: GainLike | None = None,
    sigma: float = 1.0,
    delta_offset: int | None = None,
    missed: str | None = None,
    seed: int = 0,
    cost: str = "logistic",
    center: float = 0.0,
    p: float | None = None,
    max_label: float | None = None,
    source: str | None = None,
    norm: str | None = None,
) -> AnyObjective:
    """Make the objective called `name` (any case; spaces, `-` and `_` do not count).

    `k` is the cutoff of the metric one cares about, `tau` the truncation level of the pairs
    (default `k`; without either there is none), `mu` the weight of the second part of a hybrid,
    `gain` the worth of a label ("2^y-1", "y", "binary", a table or a function), `sigma` the
    steepness of the cost, `delta_offset=1` the rank distances of the published LightGBM forks,
    `missed` which documents Lambda-eX adds to the top k: by "deficit" of their label there, as in
    the published code, or by "label", all whose label is in the ideal top k, as in the paper,
    `seed` that of random strategies, `p` the persistence of RBP, `max_label` the top grade of ERR.
    `cost` is "logistic" or "sigmoid" (around `center`). `source` names the labels to read where
    there are several, `norm` is this objective's own ("none", "lightgbm", "std") in place of the
    caller's. "preferences" pushes the explicit pairs of the data apart; "xendcg" pushes lists as a
    whole, "squared-error" each document by itself, without pairs and their parameters.

    In place of a name, a plain function `weight(y_hi, y_lo, rank_hi, rank_lo)` (ranks from 1) is
    compiled into the loops over pairs. Or a table, as in a configuration file: {"name": ...} with
    the parameters above, {"mix": [...]}, {"graded": [...]} or {"scheduled": [...]}.

    >>> import rankforce as rf
    >>> rf.objective("LambdaGap X+", k=5)
    rf.objective('LambdaGap-X+', k=5)
    >>> nearby = rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: 1 / abs(rank_hi - rank_lo))
    >>> nearby.pairs([3, 2, 1], [0, 0, 1]).weight.tolist()
    [0.5, 1.0]
    >>> rf.objective({"mix": [{"name": "ranknet"}, {"name": "lambdarank-ndcg", "weight": 2}]}).name
    'RankNet + 2 LambdaRank-NDCG'
    """
    given = {"k": k, "tau": tau, "mu": mu, "gain": gain, "delta_offset": delta_offset}
    given |= {"p": p, "max_label": max_label, "missed": missed}
    kept: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    how = _check_cost(cost, sigma, center)
    whose = {"source": check_source(source), "norm": _check_norm(norm)}
    used = {"sigma": sigma, "seed": check_whole("seed", seed), "cost": cost, "center": center}
    others = {key: value for key, value in (used | whose).items() if value != DEFAULTS[key]}
    if isinstance(name, Mapping):
        return _from_table(name, kept | others)
    if isinstance(name, str) and name.lower().strip() in ALIASES:
        return _preferences(kept, how, **whose)
    entry, named = _find(name)
    for key, value in named.items():
        if kept.get(key, value) != value:
            raise RankforceError(f"{name!r} says {key}={value}, but {key}={kept[key]!r} was given")
        kept[key] = value
    _check_known(entry, kept | others)
    kept = check_parameters(
        kept,
        tau=_check_tau,
        mu=lambda value: check_number("mu", value, least=0.0),
        delta_offset=_check_offset,
        missed=check_missed,
    )
    params = Parameters(**kept)
    if entry.needs_k and params.k is None:
        raise RankforceError(f"objective {entry.name!r} needs k, the cutoff that one cares about")
    arguments = {"name": name if callable(name) else entry.name} | kept | others
    about = {"formula": entry.formula, "source": entry.source, "cost": entry.cost}
    measured = parse_metric(entry.metric).entry.uses
    return Objective(
        entry.name,
        entry.build(params),
        how,
        seed=int(seed),
        recipe=(objective, arguments),
        about=about,
        aim=(entry.metric, {key: value for key, value in kept.items() if key in measured}),
        **whose,
    )


def additive(
    gain: GainLike,
    value: Callable[[int], float],
    *,
    name: str = "a user's metric",
    cutoff: int | None = None,
    normalised: bool = False,
    sigma: float = 1.0,
    source: str | None = None,
    norm: str | None = None,
) -> Additive:
    """LambdaRank for a metric of one's own: the sum of gain(label) * value(rank), ranks from 1.

    `cutoff` says that ranks beyond it all have one value: only pairs with a document above it are
    looked at. `normalised` divides by the metric of the ideal ranking. `source` and `norm` are as
    in `rf.objective`. It is a metric as well, wherever one is asked for: `eval_metric=`,
    `rf.evaluate`, `rf.compare`, `rf.metric`.

    >>> import rankforce as rf
    >>> top2 = rf.additive(lambda y: float(y > 1), lambda rank: 1.0 if rank <= 2 else 0.0)
    >>> top2.pairs([3, 2, 1], [0, 1, 2]).weight.tolist()
    [1.0, 1.0]
    >>> rf.evaluate([3, 2, 1], [0, 3, 2], top2).means
    {"a user's metric": 1.0}
    """
    limit = math.inf if cutoff is None else float(check_whole("cutoff", cutoff, least=1))

    def values(ranks: Floats) -> Floats:
        table = np.array([_rank_value(value, int(rank)) for rank in ranks.ravel()])
        return table.reshape(ranks.shape)

    checked = check_gain(gain)
    description = Description(
        gain=checked,
        position=values,
        flat_beyond=limit,
        ideal="values" if normalised else "none",
        pair_set=PairSet(limit),
    )
    arguments: dict[str, Any] = {"gain": checked, "value": value, "name": name, "cutoff": cutoff}
    arguments |= {"normalised": normalised, "sigma": sigma}
    more: dict[str, Any] = {"source": check_source(source), "norm": _check_norm(norm)}
    arguments |= {key: value for key, value in more.items() if value is not None}
    about = {
        "formula": "(gain_hi - gain_lo) * |value(rank_hi) - value(rank_lo)|",
        "source": "the user",
        "cost": "O(n^2)" if cutoff is None else "O(cutoff n)",
    }
    return Additive(
        name,
        description,
        _check_cost("logistic", sigma, 0.0),
        seed=0,
        recipe=(additive, arguments),
        about=about,
        **more,
    )


def _rank_value(value: Callable[[int], float], rank: int) -> float:
    given = value(rank)
    try:
        found = float(given)
    except (TypeError, ValueError):
        raise RankforceError(f"the value of rank {rank} is {given!r}, which is no number") from None
    if not math.isfinite(found):
        raise RankforceError(f"the value of rank {rank} is not finite")
    return found


def objectives() -> list[Entry]:
    """Every objective that has a name: name, formula in one line, source, cost.

    >>> import rankforce as rf
    >>> rf.objectives()[0].name
    'LambdaRank-P@k'
    """
    return list(ENTRIES)


def _from_table(table: Mapping[str, Any], given: dict[str, Any]) -> AnyObjective:
    from rankforce.forces.mixed import from_table

    if given:
        raise RankforceError(f"the objective is a table: {', '.join(given)} belongs into it")
    return from_table(table)


def _preferences(
    kept: dict[str, Any], how: Cost, *, source: str | None, norm: str | None
) -> PreferenceObjective:
    for key, value in (kept | {"source": source}).items():
        if value is not None and key != "k":
            raise RankforceError(f"objective {NAME!r} has no parameter {key!r}: it has sigma, norm")
    if how.name != "logistic":
        raise RankforceError(f"objective {NAME!r} has no cost {how.name!r}: it is logistic")
    given = {"sigma": how.sigma, "norm": norm}
    told = {key: value for key, value in given.items() if value != DEFAULTS[key]}
    return PreferenceObjective(how.sigma, norm=norm, recipe=(objective, {"name": NAME} | told))


def _check_norm(norm: Any) -> str | None:
    return None if norm is None else check_choice("norm", norm, ("none", "lightgbm", "std"))


def _find(name: str | PairWeight) -> tuple[Entry, dict[str, Any]]:
    if callable(name):
        _check_function(name)
        title = f"weight {getattr(name, '__name__', 'function')}"

        def build(params: Parameters) -> Description:
            return Description(
                gain="label difference", user=name, pair_set=PairSet(params.truncation)
            )

        entry = Entry(title, build, "the user's function", "the user", "O(n^2)", frozenset({"tau"}))
        return entry, {}
    parsed = parse_name(name)
    if parsed.k is not None and not parsed.entry.has_cutoff:
        raise RankforceError(
            f"{name!r}: {parsed.entry.name} has no cutoff, so @{parsed.k} means nothing"
        )
    named = {"k": parsed.k, "p": parsed.p}
    return parsed.entry, {key: value for key, value in named.items() if value is not None}


def _check_function(weight: Any) -> None:
    """Kernels can have a plain function, or one that Numba has compiled, compiled into them."""
    takes = "y_hi, y_lo, rank_hi and rank_lo"
    plain = getattr(weight, "py_func", weight)
    if not isinstance(plain, types.FunctionType):
        raise RankforceError(
            f"the pair weight is {weight!r}: it must be a plain function (def or lambda) of "
            f"{takes}, which can be compiled"
        )
    try:
        inspect.signature(plain).bind(1.0, 0.0, 1, 2)
    except TypeError as error:
        name = plain.__name__
        raise RankforceError(f"the pair weight {name} must take {takes}: {error}") from None


def _check_known(entry: Entry, kept: dict[str, Any]) -> None:
    for key in kept:
        if key not in entry.parameters:
            has = ", ".join(entry.parameters)
            raise RankforceError(f"objective {entry.name!r} has no parameter {key!r}: it has {has}")


def _check_tau(tau: Any) -> float:
    return math.inf if tau == math.inf else check_whole("tau", tau, least=1)


def check_missed(missed: Any) -> Missed:
    """A reading of the missed top-k documents."""
    return cast(Missed, check_choice("missed", missed, get_args(Missed)))


def _check_offset(offset: Any) -> int:
    if offset not in (0, 1):
        raise RankforceError(f"delta_offset is {offset!r}: it must be 0 or 1")
    return int(offset)


def _check_cost(cost: str, sigma: float, center: float) -> Cost:
    if cost not in ("logistic", "sigmoid"):
        raise RankforceError(f"unknown cost {cost!r}: choose 'logistic' or 'sigmoid'")
    if not 1e-3 <= check_number("sigma", sigma, least=0.0) <= 1e3:
        raise RankforceError(f"sigma is {sigma!r}: it must lie between 0.001 and 1000")
    check_number("center", center, least=-math.inf)
    if center != 0.0 and cost == "logistic":
        raise RankforceError(f"center is {center!r}, but only cost='sigmoid' has a center")
    return Cost(cost, float(sigma), float(center))
