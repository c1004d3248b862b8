"""One setting for each thing, whatever others call it; mistakes name the value and the choices."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.engines.lightgbm.parameters import BINNING, for_all_rows, translated
from rankforce.training.settings import Settings, make_settings
from tests import reference as ref

# Other name -> ours, with a value that is not the default.
SAME_VALUE: dict[str, tuple[tuple[str, ...], Any]] = {
    "n_estimators": (
        (
            *("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round"),
            *("num_rounds", "nrounds", "num_boost_round", "max_iter"),
        ),
        77,
    ),
    "learning_rate": (("shrinkage_rate", "eta"), 0.3),
    "num_leaves": (("num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"), 9),
    "min_child_samples": (
        ("min_data_in_leaf", "min_data_per_leaf", "min_data", "min_samples_leaf"),
        3,
    ),
    "min_child_weight": (
        ("min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian"),
        0.5,
    ),
    "reg_alpha": (("lambda_l1", "l1_regularization", "alpha"), 0.5),
    "reg_lambda": (("lambda_l2", "l2_regularization", "lambda"), 0.5),
    "min_split_gain": (("min_gain_to_split", "gamma"), 0.5),
    "subsample": (("bagging_fraction", "sub_row", "bagging"), 0.5),
    "subsample_freq": (("bagging_freq",), 3),
    "colsample_bytree": (("feature_fraction", "sub_feature"), 0.5),
    "colsample_bynode": (("feature_fraction_bynode", "sub_feature_bynode"), 0.5),
    "seed": (("random_state", "random_seed"), 5),
    "threads": (("num_threads", "num_thread", "n_jobs", "nthread"), 2),
    "eval_metric": (("metric", "metrics"), "p@5"),
    "early_stopping_rounds": (("early_stopping_round", "early_stopping", "n_iter_no_change"), 4),
    "min_delta": (("early_stopping_min_delta",), 0.5),
    "tau": (("lambdarank_truncation_level", "lambdarank_num_pair_per_sample"), 12),
    "sigma": (("sigmoid",), 2.0),
    "gain": (("label_gain",), [0.0, 1.0, 5.0]),
    "quantised": (("use_quantized_grad", "quantized"), False),
    "quantised_levels": (("num_grad_quant_bins",), 16),
}


@pytest.mark.parametrize(
    ("other", "ours"), [(other, ours) for ours, (names, _) in SAME_VALUE.items() for other in names]
)
def test_other_names(other: str, ours: str) -> None:
    value = SAME_VALUE[ours][1]
    expected = make_settings({ours: value})
    assert expected != Settings()
    assert getattr(expected, ours) == value
    assert make_settings({other: value}) == expected
    assert rf.Ranker(**{other: value}).settings() == expected


# Parameters of others, and the same in our words.
MEANINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"objective": "lambdarank"}, {"objective": "lambdarank-ndcg"}),
    ({"objective": "rank:ndcg"}, {"objective": "lambdarank-ndcg"}),
    ({"objective": "rank:map"}, {"objective": "lambdarank(map)"}),
    ({"objective": "rank:pairwise"}, {"objective": "ranknet"}),
    ({"objective": "Rank:Pairwise "}, {"objective": "ranknet"}),
    ({"lambdarank_norm": False}, {"norm": "none"}),
    ({"lambdarank_norm": True}, {"norm": "lightgbm"}),
    ({"ndcg_exp_gain": False}, {"gain": "y"}),
    ({"ndcg_exp_gain": True}, {}),
    ({"bagging_by_query": True}, {"subsample_by": "query"}),
    ({"bagging_by_query": False}, {"subsample_by": "row"}),
    ({"verbosity": -1}, {"progress": False}),
    ({"verbose": 0}, {"progress": False}),
    ({"verbose": 1}, {}),
    ({"lambdarank_truncation_level": 2**31 - 1}, {"tau": math.inf}),
    ({"lambdarank_target": "ndcg"}, {"objective": "lambdarank-ndcg"}),
    ({"lambdarank_target": "bndcg"}, {"objective": "lambdarank-bndcg"}),
    ({"lambdarank_target": "lambdaloss-ndcg-plus-plus"}, {"objective": "lambdaloss-ndcg++"}),
    ({"lambdarank_target": "lambdaloss-bndcg-plus-plus"}, {"objective": "lambdaloss-bndcg++"}),
    ({"lambda_ex": "random", "k": 5}, {"objective": "lambdamart-ex random", "k": 5}),
    ({"lambda_ex": "", "k": 5}, {"k": 5}),
    ({"lambda_ex": "plain", "k": 5}, {"k": 5}),
    ({"lambdaex": "plain", "lambdarank_target": "bndcg"}, {"objective": "lambdarank-bndcg"}),
    # weight = lr * rho + ll * delta, on the pairs that lambda_ex says; 1 and 0 if nothing is said
    *(
        (
            {"objective": "lambdarank", rank: lr, distance: ll, "lambda_ex": strategy, "k": 5},
            {"objective": f"{plain if strategy == 'plain' else f'{extended} {strategy}'}", "k": 5}
            | more,
        )
        for rank, distance in (("lambdarank_weight", "lambdaloss_weight"), ("lr_mu", "ll_mu"))
        for strategy in ("plain", "static", "all-random")
        for lr, ll, plain, extended, more in (
            (1, 0, "lambdarank-ndcg", "lambdamart-ex", {}),
            (0, 1, "lambdaloss-ndcg", "lambdaloss-ex", {}),
            (1, 0.5, "lambdaloss-ndcg++", "lambdaloss-ex++", {"mu": 0.5}),
            (None, 2.0, "lambdaloss-ndcg++", "lambdaloss-ex++", {"mu": 2.0}),
            (1.0, None, "lambdarank-ndcg", "lambdamart-ex", {}),
        )
    ),
    (
        {"lambda_ex": "static", "ll_mu": 0.5, "lambdarank_truncation_level": 7},
        {"objective": "lambdaloss-ex++ static", "mu": 0.5, "k": 7},
    ),
    # The forks' objectives for precision take their cutoff from the truncation level.
    (
        {"lambdarank_target": "precision", "lambdarank_truncation_level": 7},
        {"objective": "lambdarank-p@k", "k": 7},
    ),
    (
        {"lambdarank_target": "precision", "lambdarank_truncation_level": 8, "k": 5},
        {"objective": "lambdarank-p@k", "k": 5, "tau": 8},
    ),
    (
        {"lambdarank_target": "arpk", "lambdarank_truncation_level": 7},
        {"objective": "lambdarank-arpbk", "k": 7},
    ),
    *(
        (
            {"lambdarank_target": f"lambdagap-{name}{theirs}", "lambdarank_truncation_level": 7},
            {"objective": f"lambdagap-{name}{ours}", "k": 7},
        )
        for name in ("s", "x")
        for theirs, ours in (("", ""), ("-plus", "+"), ("-plus-plus", "++"))
    ),
    (
        {
            "lambdarank_target": "lambdagap-x-plus-plus",
            "lambdarank_truncation_level": 7,
            "lambdagap_weight": 0.5,
        },
        {"objective": "lambdagap-x++", "k": 7, "mu": 0.5},
    ),
    (
        {"lambdarank_target": "ndcg", "lambdarank_truncation_level": 7},
        {"objective": "lambdarank-ndcg", "tau": 7},
    ),
    (
        {"objective": "lambdarank", "lambdarank_target": "bndcg"},
        {"objective": "lambdarank-bndcg"},
    ),
    ({"objective": "lambdarank", "lambdarank_target": "ndcg"}, {"objective": "lambdarank-ndcg"}),
    (
        {"objective": "lambdarank", "lambda_ex": "random", "k": 5},
        {"objective": "lambdamart-ex random", "k": 5},
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), MEANINGS, ids=str)
def test_same_settings_in_other_words(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    assert make_settings(theirs) == make_settings(ours)
    assert make_settings(theirs).make_objective() == make_settings(ours).make_objective()


@pytest.mark.parametrize(("lr", "ll"), [(1, 0), (0, 1), (1, 1), (1, 0.5)])
def test_weights_of_the_fork_add_up(lr: float, ll: float) -> None:
    scores, labels = [3.0, 2.0, 1.0, 0.0], [1, 0, 3, 2]
    rho, delta = (
        np.array(ref.weights(name, scores, labels, k=2))
        for name in ("LambdaRank-NDCG", "LambdaLoss-NDCG")
    )
    made = make_settings({"lr_mu": lr, "ll_mu": ll, "k": 2}).make_objective()
    hi, lo, weight = made.pairs(scores, labels)
    assert weight == pytest.approx((lr * rho + ll * delta)[hi, lo])


def test_a_call_of_lightgbm_and_of_xgboost() -> None:
    ours = make_settings({"n_estimators": 50, "learning_rate": 0.2, "num_leaves": 15, "seed": 3})
    lightgbm = {"boosting_type": "gbdt", "objective": "lambdarank", "num_iterations": 50}
    lightgbm |= {"learning_rate": 0.2, "num_leaves": 15, "random_state": 3, "verbosity": 1}
    xgboost = {"booster": "gbtree", "tree_method": "hist", "objective": "rank:ndcg", "eta": 0.2}
    xgboost |= {"num_boost_round": 50, "max_leaves": 15, "seed": 3, "grow_policy": "lossguide"}
    assert make_settings(lightgbm) == ours
    assert make_settings(xgboost) == ours


@pytest.mark.parametrize(
    "given", [{"max_bin": 63}, {"cat_smooth": 1.0, "path_smooth": 0.5}, {"extra_trees": True}]
)
def test_lightgbm_gets_its_own_parameters(given: dict[str, Any]) -> None:
    settings = make_settings(given)
    assert settings.passed == given
    assert translated(settings.engine_parameters()) == BINNING | given
    assert dataclasses.replace(settings, passed={}) == Settings()


@pytest.mark.parametrize(("share", "samples"), [(1.0, 12), (0.5, 24), (0.3, 40)])
def test_leaves_hold_as_many_rows_of_a_bag(share: float, samples: int) -> None:
    """min_child_samples counts rows in the bag, LightGBM's parameter all rows."""
    settings = make_settings({"min_child_samples": 12, "subsample": share})
    assert settings.engine_parameters()["min_child_samples"] == 12
    theirs = for_all_rows(settings.engine_parameters())
    assert translated(theirs) == BINNING | {"min_data_in_leaf": samples}


def test_the_same_value_under_two_names() -> None:
    assert make_settings({"eta": 0.3, "learning_rate": 0.3}) == make_settings({"eta": 0.3})


def test_the_same_table_under_two_names() -> None:
    table = [0.0, 1.0, 3.0, 7.0, 15.0]
    both = make_settings({"gain": np.array(table), "label_gain": table})
    assert both.make_objective() == make_settings({"gain": table}).make_objective()


@pytest.mark.parametrize(
    "given",
    [
        {"eta": 0.3, "learning_rate": 0.2},
        {"num_trees": 3, "n_iter": 4},
        {"bagging_by_query": True, "subsample_by": "row"},
        {"lambdarank_norm": False, "norm": "std"},
        {"lambdarank_target": "bndcg", "objective": "ranknet"},
        {"objective": "ranknet", "lambda_ex": "static"},
        {"lambdarank_target": "bndcg", "ll_mu": 1},
        {"lr_mu": 0.0, "lambdarank_weight": 1.0},
        {"mu": 1.0, "ll_mu": 0.5},
    ],
    ids=str,
)
def test_conflicts(given: dict[str, Any]) -> None:
    first, second = given
    with pytest.raises(ValueError, match=f"{first} and {second} both set .* different values"):
        make_settings(given)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("num_leafs", "num_leaves"),
        ("learning_rates", "learning_rate"),
        ("lambdarank_targets", "lambdarank_target"),
        ("maxbin", "max_bin"),
        ("boosting_typ", "boosting_type"),
    ],
)
def test_unknown_names_get_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"unknown parameter '{name}': did you mean .*{hint}"):
        make_settings({name: 1})


def test_unknown_names_without_a_hint() -> None:
    with pytest.raises(ValueError, match=r"^unknown parameter 'zzzzzz'$"):
        make_settings({"zzzzzz": 1})


WHOLE = "an integer"
OUT_OF_RANGE: list[tuple[str, Any, str]] = [
    ("n_estimators", 0, f"{WHOLE} from 1"),
    ("n_estimators", 2.5, WHOLE),
    ("n_estimators", "10", WHOLE),
    ("n_estimators", True, WHOLE),
    ("n_estimators", None, WHOLE),
    ("learning_rate", 0.0, "a number above 0"),
    ("learning_rate", -0.1, "a number above 0"),
    ("learning_rate", math.nan, "a number above 0"),
    ("learning_rate", math.inf, "a number above 0"),
    ("num_leaves", 1, f"{WHOLE} from 2 to 131072"),
    ("max_depth", -2, f"{WHOLE} from -1"),
    ("min_child_samples", -1, f"{WHOLE} from 0"),
    ("min_child_weight", -1.0, "a number from 0"),
    ("min_split_gain", -1.0, "a number from 0"),
    ("reg_alpha", -1.0, "a number from 0"),
    ("reg_lambda", -1.0, "a number from 0"),
    ("subsample", 0.0, "a number above 0 to 1"),
    ("subsample", 1.5, "a number above 0 to 1"),
    ("subsample_freq", -1, f"{WHOLE} from 0"),
    ("colsample_bytree", 0.0, "a number above 0 to 1"),
    ("colsample_bynode", 1.1, "a number above 0 to 1"),
    ("seed", -1, f"{WHOLE} from 0"),
    ("threads", -2, f"{WHOLE} from -1 to 4096"),
    ("quantised_levels", 1, f"{WHOLE} from 2 to 126"),
    ("quantised_levels", 127, f"{WHOLE} from 2 to 126"),
    ("early_stopping_rounds", 0, f"{WHOLE} from 1"),
    ("min_delta", -0.1, "a number from 0"),
    ("checkpoint_every", 0, f"{WHOLE} from 1"),
    ("base_estimators", 0, f"{WHOLE} from 1"),
    ("base_rate", 0.0, "a number above 0"),
]


@pytest.mark.parametrize(("name", "value", "range_"), OUT_OF_RANGE)
def test_values_out_of_range(name: str, value: Any, range_: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is .*: it must be {range_}"):
        make_settings({name: value})


LIMITS = [
    ("num_leaves", 2),
    ("max_depth", -1),
    ("subsample", 1.0),
    ("threads", -1),
    ("quantised_levels", 126),
    ("seed", 2**31 - 1),
    ("learning_rate", np.float32(0.5)),
    ("n_estimators", np.int64(3)),
    ("threads", None),
]


@pytest.mark.parametrize(("name", "value"), LIMITS)
def test_values_just_in_range(name: str, value: Any) -> None:
    assert getattr(make_settings({name: value}), name) == value


CHOICES: list[tuple[dict[str, Any], str]] = [
    ({"step": "newtown"}, "unknown step 'newtown': choose 'newton', 'gradient', 'exact-newton'"),
    ({"norm": "l2"}, "unknown norm 'l2': choose 'lightgbm', 'none', 'std'"),
    ({"subsample_by": "doc"}, "unknown subsample_by 'doc': choose 'row', 'query'"),
    ({"base": "tree"}, "base is 'tree': choose None, 'regressor', the folder of a saved"),
    ({"step": "exact-newton", "norm": "std"}, "step='exact-newton' needs second derivatives"),
    ({"step": "exact-newton", "cost": "sigmoid"}, "exact-newton"),
    ({"boosting": "dart"}, "boosting='dart' is not available here: boosting can be 'gbdt'"),
    ({"device": "gpu"}, "unknown device 'gpu': choose 'cpu', 'cuda'"),
    ({"lambdarank_unbiased": True}, "lambdarank_unbiased=True is not available here"),
    ({"objective": "lambdarank-mdcg"}, "unknown objective 'lambdarank-mdcg'"),
    ({"objective": "lambdagap-x+"}, "needs k"),
    ({"sigma": -1.0}, "sigma is -1.0"),
    ({"k": 0}, "k is 0: it must be an integer from 1 up"),
    ({"tau": 2.5}, "tau is 2.5: it must be an integer from 1 up"),
    ({"tau": "10"}, "tau is '10'"),
    ({"verbosity": None}, "verbosity"),
    ({"lr_mu": 2, "ll_mu": 1}, "lambdarank_weight=2 and lambdaloss_weight=1 are not available"),
    ({"lr_mu": 0, "ll_mu": 0}, "they can be 1 and 0, 0 and 1, or 1 and a number above 0"),
    ({"lambdaloss_weight": -1}, "lambdaloss_weight is -1: it must be a finite number from 0 up"),
    ({"lambda_ex": "some", "k": 5}, "unknown objective 'lambdamart-ex some'"),
    ({"cost": "hinge"}, "unknown cost 'hinge': choose 'logistic' or 'sigmoid'"),
]


@pytest.mark.parametrize(("given", "message"), CHOICES, ids=[str(given) for given, _ in CHOICES])
def test_wrong_choices(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_settings(given)


@pytest.mark.parametrize("given", [{"colsample_bytree": 0.5}, {"extra_trees": True}])
def test_quantised_forces_only_where_sound(given: dict[str, Any]) -> None:
    data = rf.make_data("yahoo", queries=10, seed=1)
    ranker = rf.Ranker(quantised=True, engine="lightgbm", progress=False, threads=1, **given)
    with pytest.raises(ValueError, match="quantised=True does not go with"):
        ranker.fit(data)


@pytest.mark.parametrize("given", [{"k": 3}, {"sigma": 2.0}, {"gain": "y"}, {"tau": 4}])
def test_a_made_objective_has_its_own_parameters(given: dict[str, Any]) -> None:
    made = rf.objective("lambdarank-ndcg", k=10)
    with pytest.raises(ValueError, match=f"{next(iter(given))}"):
        make_settings({"objective": made} | given)
