"""LightGBM's parameters: those that settings of ours become, and those that it gets as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.engines.lightgbm.constraints import READERS

# Setting of ours -> LightGBM's name and its default, at which it is not said.
NAMED: dict[str, tuple[str, Any]] = {
    "num_leaves": ("num_leaves", 31),
    "max_depth": ("max_depth", -1),
    "min_child_samples": ("min_data_in_leaf", 20),
    "min_child_weight": ("min_sum_hessian_in_leaf", 1e-3),
    "min_split_gain": ("min_gain_to_split", 0.0),
    "reg_alpha": ("lambda_l1", 0.0),
    "reg_lambda": ("lambda_l2", 0.0),
    "colsample_bytree": ("feature_fraction", 1.0),
    "colsample_bynode": ("feature_fraction_bynode", 1.0),
}
# Half of LightGBM's own number of bins: a tree takes an eighth less time, and no quality is lost
# (`benchmarks/quality.py`; with 63 bins a synthetic set lost a little). Half the rows that it finds
# bins from are enough for them, and take half the memory, 160 MB for 136 features.
BINNING = {"max_bin": 127, "bin_construct_sample_cnt": 100_000}


def _as_given(value: Any) -> Any:
    return value


# Parameters that LightGBM gets as they are, and how their values are read.
OWN: dict[str, Callable[[Any], Any]] = dict.fromkeys(
    (
        "max_bin",
        "max_bin_by_feature",
        "min_data_in_bin",
        "bin_construct_sample_cnt",
        "data_random_seed",
        "feature_pre_filter",
        "enable_bundle",
        "is_enable_sparse",
        "use_missing",
        "zero_as_missing",
        "histogram_pool_size",
        "extra_trees",
        "extra_seed",
        "path_smooth",
        "max_delta_step",
        "min_data_per_group",
        "max_cat_threshold",
        "cat_l2",
        "cat_smooth",
        "max_cat_to_onehot",
        "monotone_constraints_method",
        "monotone_penalty",
        "feature_contri",
        "forcedsplits_filename",
        "forcedbins_filename",
        "cegb_tradeoff",
        "cegb_penalty_split",
        "cegb_penalty_feature_lazy",
        "cegb_penalty_feature_coupled",
    ),
    _as_given,
)
OWN |= READERS

# Those that decide values of leaves: then its own values are taken.
LEAF_RULES = {
    "path_smooth",
    "max_delta_step",
    "monotone_constraints",
    "monotone_penalty",
    "cat_l2",
    "cat_smooth",
    "extra_trees",
}
# Those whose effect depends on trees before, in ways that a new booster does not know.
UNRESUMABLE = frozenset(
    {
        "extra_trees",
        "cegb_penalty_split",
        "cegb_penalty_feature_lazy",
        "cegb_penalty_feature_coupled",
    }
)
# Those under which integer histograms were tried and are sound. Any other, with another value than
# its default, means plain histograms: in LightGBM 4.7 integer ones go wrong together with column
# sampling (lightgbm-org/LightGBM pull request 7397).
SOUND = {
    "num_leaves",
    "max_depth",
    "min_data_in_leaf",
    "min_sum_hessian_in_leaf",
    "lambda_l1",
    "lambda_l2",
    "min_gain_to_split",
    "max_bin",
    "min_data_in_bin",
    "bin_construct_sample_cnt",
    "data_random_seed",
    "feature_pre_filter",
    "enable_bundle",
    "use_missing",
}


def translated(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are not at LightGBM's default, under its names.

    >>> translated({"num_leaves": 31, "reg_lambda": 2.0, "max_bin": 63})
    {'max_bin': 63, 'bin_construct_sample_cnt': 100000, 'lambda_l2': 2.0}
    """
    named = {NAMED[name]: value for name, value in given.items() if name in NAMED}
    known = {name: value for (name, default), value in named.items() if value != default}
    return BINNING | known | {name: value for name, value in given.items() if name in OWN}


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
    unsound = sorted(set(others) - SOUND)
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
