"""XGBoost's parameters: those that settings of ours become, and those that it gets as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rankforce.common.checks import check_choice, check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.engines.constraints import read_interaction, read_monotone

# Setting of ours -> parameter of XGBoost's that means the same. Its gain of a split is not halved.
SAME = {
    "min_child_weight": "min_child_weight",
    "min_split_gain": "gamma",
    "reg_alpha": "reg_alpha",
    "reg_lambda": "reg_lambda",
    "colsample_bytree": "colsample_bytree",
    "colsample_bynode": "colsample_bynode",
}
# What there is no equal of, with the values that change nothing.
LACKING: dict[str, tuple[Any, ...]] = {
    "min_child_samples": (20, 1, 0),  # 20: nobody asked
    "quantised": (None, False),
    "quantised_levels": (64,),
}
SAMPLING = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")
LEAF_RULES = {"max_delta_step", "monotone_constraints"}
POLICIES = ("lossguide", "depthwise")


def _share(name: str, value: Any) -> float:
    found = check_number(name, value, 0.0)
    if not 0.0 < found <= 1.0:
        raise RankforceError(f"{name} is {value!r}: it must be a number above 0, at most 1")
    return found


def _switch(name: str, value: Any) -> bool:
    if value not in (True, False):
        raise RankforceError(f"{name} is {value!r}: it must be True or False")
    return bool(value)


def _whole(name: str, least: int) -> Callable[[Any], int]:
    return functools.partial(check_whole, name, least=least)


# Those that XGBoost gets as they are, and how their values are read; `extmem` is for us.
OWN: dict[str, Callable[[Any], Any]] = {
    "grow_policy": lambda value: check_choice("grow_policy", value, POLICIES),
    "max_bin": _whole("max_bin", 2),
    "max_cat_to_onehot": _whole("max_cat_to_onehot", 1),
    "max_cat_threshold": _whole("max_cat_threshold", 1),
    "colsample_bylevel": functools.partial(_share, "colsample_bylevel"),
    "max_delta_step": functools.partial(check_number, "max_delta_step", least=0.0),
    "monotone_constraints": read_monotone,
    "interaction_constraints": read_interaction,
    "extmem": functools.partial(_switch, "extmem"),
}


def lacks(parameters: Mapping[str, Any], _categorical: Sequence[int]) -> str | None:
    """What is asked and not there, in words.

    >>> lacks({"min_child_samples": 50}, []), lacks({"min_child_samples": 20}, [])
    ('min_child_samples (XGBoost bounds min_child_weight alone)', None)
    """
    for name, usual in LACKING.items():
        if name in parameters and parameters[name] not in usual:
            why = " (XGBoost bounds min_child_weight alone)" if name == "min_child_samples" else ""
            return name + why
    return None


def translated(given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of trees under XGBoost's names.

    Splitting the best leaf first and splitting level by level end in the same tree where only the
    depth bounds it, and on a GPU a level at a time is faster.

    >>> translated({"num_leaves": 31, "max_depth": -1})["grow_policy"]
    'lossguide'
    >>> translated({"num_leaves": 256, "max_depth": 8})
    {'grow_policy': 'depthwise', 'max_leaves': 0, 'max_depth': 8}
    """
    leaves, depth = given["num_leaves"], max(given["max_depth"], 0)
    is_bound = not depth or depth > 30 or leaves < 2**depth
    shape = {"grow_policy": "lossguide" if is_bound else "depthwise"}
    found = shape | {"max_leaves": leaves if is_bound else 0, "max_depth": depth}
    found |= {theirs: given[ours] for ours, theirs in SAME.items() if ours in given}
    return found | {name: given[name] for name in OWN if name in given and name != "extmem"}
