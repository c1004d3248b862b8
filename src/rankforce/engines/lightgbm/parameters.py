"""LightGBM's parameters: those that settings of ours become, and those that it gets as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.engines.constraints import read_interaction, read_monotone


class Parameter(NamedTuple):
    """What is known of a parameter of LightGBM's."""

    # Integer histograms were tried under it and are sound. Any other, with another value than its
    # default, means plain histograms: in LightGBM 4.7 integer ones go wrong together with column
    # sampling (lightgbm-org/LightGBM pull request 7397).
    sound: bool = False
    leaf_rule: bool = False  # it decides values of leaves: then LightGBM's own are taken
    unresumable: bool = False  # it depends on trees before, which a new booster does not know
    read: Callable[[Any], Any] = lambda value: value
    ours: str = ""  # the setting that becomes it
    default: Any = None  # of LightGBM, at which a setting of ours is not said


# How several machines find a split: from the histograms of all features, or only of the `top_k`
# that most of them vote for. LightGBM's third, "feature", is not for boosters of Python.
LEARNER, LEARNERS = "tree_learner", ("data", "voting")

PARAMETERS: dict[str, Parameter] = {
    "num_leaves": Parameter(sound=True, ours="num_leaves", default=31),
    "max_depth": Parameter(sound=True, ours="max_depth", default=-1),
    "min_data_in_leaf": Parameter(sound=True, ours="min_child_samples", default=20),
    "min_sum_hessian_in_leaf": Parameter(sound=True, ours="min_child_weight", default=1e-3),
    "min_gain_to_split": Parameter(sound=True, ours="min_split_gain", default=0.0),
    "lambda_l1": Parameter(sound=True, ours="reg_alpha", default=0.0),
    "lambda_l2": Parameter(sound=True, ours="reg_lambda", default=0.0),
    "feature_fraction": Parameter(ours="colsample_bytree", default=1.0),
    "feature_fraction_bynode": Parameter(ours="colsample_bynode", default=1.0),
    "max_bin": Parameter(sound=True),
    "max_bin_by_feature": Parameter(),
    "min_data_in_bin": Parameter(sound=True),
    "bin_construct_sample_cnt": Parameter(sound=True),
    "data_random_seed": Parameter(sound=True),
    "feature_pre_filter": Parameter(sound=True),
    "enable_bundle": Parameter(sound=True),
    "is_enable_sparse": Parameter(),
    "use_missing": Parameter(sound=True),
    "zero_as_missing": Parameter(),
    "histogram_pool_size": Parameter(),
    "extra_trees": Parameter(leaf_rule=True, unresumable=True),
    "extra_seed": Parameter(),
    "path_smooth": Parameter(leaf_rule=True),
    "max_delta_step": Parameter(leaf_rule=True),
    "min_data_per_group": Parameter(),
    "max_cat_threshold": Parameter(),
    "cat_l2": Parameter(leaf_rule=True),
    "cat_smooth": Parameter(leaf_rule=True),
    "max_cat_to_onehot": Parameter(),
    "monotone_constraints": Parameter(leaf_rule=True, read=read_monotone),
    "monotone_constraints_method": Parameter(),
    "monotone_penalty": Parameter(leaf_rule=True),
    "interaction_constraints": Parameter(read=read_interaction),
    "feature_contri": Parameter(),
    "forcedsplits_filename": Parameter(),
    "forcedbins_filename": Parameter(),
    LEARNER: Parameter(sound=True, read=lambda value: check_choice(LEARNER, value, LEARNERS)),
    "top_k": Parameter(sound=True),
    "cegb_tradeoff": Parameter(),
    "cegb_penalty_split": Parameter(unresumable=True),
    "cegb_penalty_feature_lazy": Parameter(unresumable=True),
    "cegb_penalty_feature_coupled": Parameter(unresumable=True),
}
# Those that LightGBM gets as they are, and how their values are read.
OWN = {name: one.read for name, one in PARAMETERS.items() if not one.ours}
LEAF_RULES = {name for name, one in PARAMETERS.items() if one.leaf_rule}
UNRESUMABLE = frozenset(name for name, one in PARAMETERS.items() if one.unresumable)
# Half of LightGBM's own number of bins: a tree takes an eighth less time, and no quality is lost
# (`benchmarks/quality.py`; with 63 bins a synthetic set lost a little). Half the rows that it finds
# bins from are enough for them, and take half the memory, 160 MB for 136 features.
LEAST = 1e-6  # of a sum of whole numbers, that is not 0
BINNING = {"max_bin": 127, "bin_construct_sample_cnt": 100_000}


def for_all_rows(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters for rows in and out of the bag, which LightGBM cannot tell apart.

    Those left out stay in the data with no force, so that `min_child_samples` grows by as much as
    the bag shrinks.

    >>> for_all_rows({"min_child_samples": 20, "in_bag": 0.5})["min_child_samples"]
    40
    """
    samples = max(round(given["min_child_samples"] / given.get("in_bag", 1.0)), 1)
    return given | {"min_child_samples": samples}


def translated(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are not at LightGBM's default, under its names.

    >>> translated({"num_leaves": 31, "reg_lambda": 2.0, "max_bin": 63})
    {'max_bin': 63, 'bin_construct_sample_cnt': 100000, 'lambda_l2': 2.0}
    """
    named = {name: given[one.ours] for name, one in PARAMETERS.items() if one.ours in given}
    known = {name: value for name, value in named.items() if value != PARAMETERS[name].default}
    return BINNING | known | {name: value for name, value in given.items() if name in OWN}


def in_units(given: dict[str, Any], step: float, step_hess: float) -> dict[str, float]:
    """LightGBM's parameters where a force is counted in steps, and a hessian in others.

    >>> in_units({"lambda_l2": 3.0, "min_gain_to_split": 2.0}, 0.5, 0.25)["lambda_l2"]
    12.0
    """
    force, second = (1.0 / one if one > 0.0 else 0.0 for one in (step, step_hess))
    worth = force * force * step_hess  # a gain is a force squared over a hessian
    scales = {"lambda_l1": force, "lambda_l2": second, "min_sum_hessian_in_leaf": second}
    scales["min_gain_to_split"] = worth
    found = {n: scale * given.get(n, PARAMETERS[n].default) for n, scale in scales.items()}
    # LightGBM would divide by the sum of a leaf without any hessian.
    return found | {"min_sum_hessian_in_leaf": max(found["min_sum_hessian_in_leaf"], LEAST)}


class Histograms(NamedTuple):
    """How LightGBM is to add up the forces, and why."""

    quantised: bool
    bins: int
    why: str


def choose_histograms(wish: bool | None, bins: int, others: dict[str, Any]) -> Histograms:
    """Integer histograms wherever they are sound, unless the user wishes otherwise.

    >>> choose_histograms(None, 32, {}).quantised
    True
    >>> choose_histograms(None, 32, {"feature_fraction": 0.5}).why
    'plain histograms: feature_fraction is not sound with quantised forces'
    """
    unsound = sorted(name for name in others if not PARAMETERS.get(name, Parameter()).sound)
    if wish is False:
        return Histograms(False, 0, "plain histograms, as asked")
    if unsound and wish:
        raise RankforceError(
            f"quantised=True does not go with {', '.join(unsound)}: LightGBM's integer histograms "
            "are not sound there; leave quantised out"
        )
    if unsound:
        names = ", ".join(unsound)
        return Histograms(False, 0, f"plain histograms: {names} is not sound with quantised forces")
    return Histograms(True, bins, f"forces quantised to {bins} levels, leaves in full precision")
