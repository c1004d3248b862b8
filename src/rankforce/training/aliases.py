"""What LightGBM, XGBoost and the two published forks call the things that rankforce has."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

import numpy as np

from rankforce.common.checks import check_number
from rankforce.common.errors import RankforceError
from rankforce.engines.base import engines
from rankforce.training.settings_table import TABLE

# Other name -> ours, or an engine's. The value means the same.
ALIASES = {other: one.name for one in TABLE.values() for other in one.also} | {
    "verbose": "verbosity",
    "mc": "monotone_constraints",
    "monotone_constraint": "monotone_constraints",
    "monotonic_cst": "monotone_constraints",
    "lr_mu": "lambdarank_weight",
    "ll_mu": "lambdaloss_weight",
    "lambdaex": "lambda_ex",
}

# Objectives by the names that others give them.
OBJECTIVES = {
    "lambdarank": "lambdarank-ndcg",
    "lambdamart": "lambdarank-ndcg",
    "ndcg": "lambdarank-ndcg",
    "rank:ndcg": "lambdarank-ndcg",
    "rank:map": "lambdarank(map)",
    "rank:pairwise": "ranknet",
    "reg:squarederror": "squared-error",
    # lambdarank_target of the fork of Adalia et al. 2025, which writes "-plus" for "+"
    "bndcg": "lambdarank-bndcg",
    "precision": "lambdarank-p@k",
    "arpk": "lambdarank-arpbk",
}

# Of the fork of Marcuzzi et al. 2023, three parameters decide one objective: a pair of the set that
# lambda_ex says weighs lambdarank_weight * rho + lambdaloss_weight * delta.
FORK: dict[str, Any] = {"lambdarank_weight": 1.0, "lambdaloss_weight": 0.0, "lambda_ex": "plain"}
_HYBRID = ("lambdaloss-ndcg++", "lambdaloss-ex++")
_FORK_OBJECTIVES = {
    (1.0, 0.0): ("lambdarank", "lambdamart-ex"),
    (0.0, 1.0): ("lambdaloss-ndcg", "lambdaloss-ex"),
}

# Parameters of others that ask for what is always so here: accepted with these values.
NO_CHANGE: dict[str, tuple[Any, ...]] = {
    "boosting": ("gbdt", "gbrt"),
    "boosting_type": ("gbdt", "gbrt"),
    "booster": ("gbtree",),
    "tree_method": ("hist", "auto"),
    "grow_policy": ("lossguide",),
    "device_type": ("cpu",),
    "data_sample_strategy": ("bagging",),
    "deterministic": (True, False),
    "force_row_wise": (True, False),
    "force_col_wise": (True, False),
    "class_weight": (None,),
    "subsample_for_bin": (200000,),
    "silent": (True, False),
    "lambdarank_pair_method": ("topk",),
    "lambdarank_unbiased": (False,),
    "lambdarank_normalization": (True,),
    "lambdarank_score_normalization": (True,),
    "lambdarank_bias_norm": (1, 2),
    "enable_categorical": (True, False),
    "validate_parameters": (True, False),
    "multi_strategy": ("one_output_per_tree",),
    "sampling_method": ("uniform",),
    "num_parallel_tree": (1,),
    "linear_tree": (False,),
    "tree_learner": ("serial",),
    "colsample_bylevel": (1,),
    "scale_pos_weight": (1,),
    "base_score": (0,),
    "quant_train_renew_leaf": (True,),
    "stochastic_rounding": (True,),
}

# Why some values, or all others of a parameter, are not there, and what comes nearest.
_RESCALES = "dart changes trees that are grown already, here a tree stays as it is"
_BY_FORCE = (
    "it keeps rows by their own gradients, but a document's force depends on the others of its "
    "query: subsample=0.5, subsample_by='query' keeps whole queries"
)
_BINS = "features are put into bins; max_bin= says how many"
_BOTH_NORMS = "norm='none' divides neither by the sum of forces nor by differences of scores"
REASONS = {
    "dart": _RESCALES,
    "rf": "a forest does not boost: each of its trees would be grown from the same forces",
    "goss": _BY_FORCE,
    "gradient_based": _BY_FORCE,
    "gblinear": "only trees are grown",
    "depthwise": "the best leaf is split first; max_depth= bounds the depth",
    "exact": _BINS,
    "approx": _BINS,
    "lambdarank_normalization": _BOTH_NORMS,
    "lambdarank_score_normalization": _BOTH_NORMS,
    "mean": (
        "pairs are not drawn at random: leave it out, and lambdarank_num_pair_per_sample too, for "
        "all pairs"
    ),
}

# Parameters of others that are not there at all, and what comes nearest.
REFUSED = {
    "feature_weights": (
        "columns are drawn with equal chances (colsample_bytree); feature_contri scales the gain "
        "of their splits"
    ),
    "feature_types": "give categorical_feature to fit, or columns of categories",
    "xgb_model": "give it to fit, as init_model or xgb_model",
    "init_model": "give it to fit",
    "drop_rate": _RESCALES,
    "top_rate": _BY_FORCE,
    "other_rate": _BY_FORCE,
    "lambdarank_position_bias_regularization": "position bias is not estimated",
}

_THEIRS = {*ALIASES, *NO_CHANGE, *REFUSED, *FORK}


def _missing(value: Any) -> dict[str, Any]:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    is_nan = is_number and math.isnan(value)  # which is missing anyway
    return {} if value is None or is_nan else {"missing": value}


def _verbosity(value: Any) -> dict[str, Any]:
    if not isinstance(value, int):
        raise RankforceError(f"verbosity is {value!r}: it must be an integer")
    return {"progress": False if value < 1 else None}


# Other name -> what its value means in our words.
MEANINGS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "lambdarank_norm": lambda value: {"norm": "lightgbm" if value else "none"},
    "ndcg_exp_gain": lambda value: {} if value else {"gain": "y"},
    "lambdarank_target": lambda value: {"objective": value},
    "bagging_by_query": lambda value: {"subsample_by": "query" if value else "row"},
    "missing": _missing,
    "verbosity": _verbosity,
}


def translate(
    given: dict[str, Any], engine: Collection[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters under our names, and those that go to the engine, which has some of its own.

    >>> translate({"eta": 0.1, "max_bin": 63}, {"max_bin"})
    ({'learning_rate': 0.1}, {'max_bin': 63})
    """
    ours: dict[str, Any] = {}
    passed: dict[str, Any] = {}
    fork: dict[str, Any] = {}
    said: dict[str, str] = {}
    for name, value in given.items():
        canonical = ALIASES.get(name, name)
        if value is None and (name in _THEIRS or canonical in engine):
            continue  # as LightGBM and XGBoost write what is at its default
        if canonical in MEANINGS:
            _put(MEANINGS[canonical](value), name, ours, said)
        elif canonical in FORK:
            _put({canonical: value}, name, fork, said)
        elif canonical in TABLE:
            _put({canonical: value}, name, ours, said)
        elif canonical in engine and not _changes_nothing(name, value):
            passed[canonical] = value
        else:
            _accept_no_change(name, value, engine)
    if fork:
        _put(_fork_objective(**FORK | fork), said[[*fork][-1]], ours, said)
    if isinstance(ours.get("objective"), str):
        plain = ours["objective"].strip().lower()
        named = plain.replace("-plus", "+") if "-plus" in plain else ours["objective"]
        ours["objective"] = OBJECTIVES.get(plain, named)
    if isinstance(ours.get("tau"), int) and ours["tau"] >= 2**31 - 1:
        ours["tau"] = math.inf
    return ours, passed


def _put(found: dict[str, Any], name: str, into: dict[str, Any], said: dict[str, str]) -> None:
    """Keep what the parameter `name` says; an error if another one said something else."""
    for key, new in found.items():
        if key == "objective" and _is_general(into.get(key, "lambdarank")):
            into.pop(key, None)
        elif key == "objective" and _is_general(new):
            continue
        if key in into and not same(into[key], new):
            raise RankforceError(f"{said[key]} and {name} both set {key}, to different values")
        into[key], said[key] = new, name


def _fork_objective(
    lambdarank_weight: Any, lambdaloss_weight: Any, lambda_ex: Any
) -> dict[str, Any]:
    """What the parameters of FORK mean together."""
    given = {"lambdarank_weight": lambdarank_weight, "lambdaloss_weight": lambdaloss_weight}
    rank, distance = (check_number(key, value, least=0.0) for key, value in given.items())
    is_hybrid = rank == 1.0 and distance > 0.0
    names = _HYBRID if is_hybrid else _FORK_OBJECTIVES.get((rank, distance))
    if names is None:
        raise RankforceError(
            f"lambdarank_weight={rank:g} and lambdaloss_weight={distance:g} are not available "
            "here: they can be 1 and 0, 0 and 1, or 1 and a number above 0"
        )
    is_plain = not lambda_ex or lambda_ex == FORK["lambda_ex"]
    name = names[0] if is_plain else f"{names[1]} {lambda_ex}"
    return {"objective": name} | ({"mu": distance} if is_hybrid else {})


def same(one: Any, other: Any) -> bool:
    """Whether two parameters are alike, whatever they are.

    >>> same(0.1, 0.1), same([1], [2]), same(None, 0)
    (True, False, False)
    """
    if one is other:
        return True
    several = (list, tuple, np.ndarray)
    if isinstance(one, several) and isinstance(other, several):
        return np.array_equal(np.asarray(one), np.asarray(other))
    if (
        isinstance(one, several)
        or isinstance(other, several)
        or isinstance(one, bool) != isinstance(other, bool)
    ):
        return False
    return bool(one == other)


def _refuse(name: str) -> None:
    if name in REFUSED:
        raise RankforceError(f"{name} is not available here: {REFUSED[name]}")


def _is_general(objective: Any) -> bool:
    """LightGBM's name for the whole family: the forks say with another parameter which one."""
    return isinstance(objective, str) and objective.strip().lower() == "lambdarank"


def _changes_nothing(name: str, value: Any) -> bool:
    return any(same(value, choice) for choice in NO_CHANGE.get(name, ()))


def _accept_no_change(name: str, value: Any, engine: Collection[str]) -> None:
    if name in NO_CHANGE:
        if _changes_nothing(name, value):
            return
        choices = ", ".join(repr(choice) for choice in NO_CHANGE[name])
        why = REASONS.get(value if isinstance(value, str) else name)
        raise RankforceError(
            f"{name}={value!r} is not available here: {name} can be {choices}"
            + (f" ({why})" if why else "")
        )
    _refuse(name)
    others = [repr(kind.name) for kind in engines() if name in kind.parameters]
    if others:
        raise RankforceError(f"{name} is a parameter of engine {' or '.join(others)}, not of this")
    names = {*TABLE, *engine, *ALIASES, *MEANINGS, *FORK, *NO_CHANGE}
    close = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.6)
    hint = f": did you mean {' or '.join(close)}?" if close else ""
    raise RankforceError(f"unknown parameter {name!r}{hint}")


Method = TypeVar("Method", bound=Callable[..., Any])


def also_called(**others: str) -> Callable[[Method], Method]:
    """A decorator for methods: `other="ours"` takes the argument `other` for the argument `ours`.

    >>> class Greeter:
    ...     @also_called(whom="name")
    ...     def greet(self, name=None):
    ...         return f"hello {name}"
    >>> Greeter().greet(whom="you")
    'hello you'
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def called(self: Any, *args: Any, **given: Any) -> Any:
            if given.pop("feature_weights", None) is not None:
                _refuse("feature_weights")
            for other in others.keys() & given.keys():
                value, ours = given.pop(other), others[other]
                if value is not None and given.get(ours) is not None:
                    raise RankforceError(f"give {ours} or {other}, not both")
                given[ours] = given.get(ours) if value is None else value
            return method(self, *args, **given)

        return cast(Method, called)

    return decorate
