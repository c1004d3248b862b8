"""The cross entropy of NDCG: forces of a whole list, and what else is made of an objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.training.forces import shuffle_ties
from tests import reference as ref

SCORES, LABELS = [0.4, 1.3, -0.2, 0.9], [0, 2, 1, 0]
XENDCG = rf.objective("xendcg")


@pytest.mark.parametrize(
    "name", ["rank_xendcg", "xe_ndcg", "XE-NDCG", "xe_ndcg_mart", "xendcg_mart", "XENDCG"]
)
def test_the_names_that_lightgbm_has(name: str) -> None:
    assert rf.objective(name) == XENDCG
    ranker = rf.Ranker(objective=name, n_estimators=2, num_leaves=3, progress=False)
    assert ranker.settings().make_objective().name == "xendcg"


def test_two_documents_by_hand() -> None:
    """l1 = rho - phi; l2_0 = rho_0 * l1_1 / (1 - rho_1) = l1_1; l3 = l1: lambda = phi - rho."""
    a, b = (ref.uniform(0, 3, 0, row) for row in (0, 1))
    phi = (1.0 - a) / ((1.0 - a) + (4.0 - b))
    rho = 1.0 / (1.0 + np.exp(0.5))
    lam, hess = XENDCG.gradients([0.0, 0.5], [0, 2], iteration=3)
    assert lam == pytest.approx([phi - rho, rho - phi])
    assert hess == pytest.approx([rho * (1.0 - rho)] * 2)


def test_at_equal_scores_the_mean_force_follows_the_gains() -> None:
    """Averaged over draws, better documents are pushed harder; equal ones alike."""
    labels = [0, 1, 2, 0, 3]
    found = [XENDCG.gradients(np.zeros(5), labels, iteration=m)[0] for m in range(4000)]
    mean = np.mean(found, axis=0)
    assert mean[0] == pytest.approx(mean[3], abs=4e-3)
    assert mean[0] < mean[1] < mean[2] < mean[4]


def test_lightgbms_norm_has_no_say() -> None:
    none, lightgbm, std = (
        XENDCG.gradients(SCORES, LABELS, norm=norm) for norm in ("none", "lightgbm", "std")
    )
    assert np.array_equal(none, lightgbm)
    assert std[0] == pytest.approx(none[0] / none[0].std())
    assert std[1].tolist() == [1.0] * 4


def test_draws_belong_to_the_row_of_a_query_not_to_the_order_of_ties() -> None:
    data = rf.RankingData(np.zeros((8, 1)), LABELS * 2, qid=[5, 5, 5, 5, 9, 9, 9, 9])
    plain = XENDCG.bind(data, data.index).gradients(SCORES * 2)
    shuffled = shuffle_ties(data.index, 3)
    assert not np.array_equal(shuffled.row, np.arange(8))
    assert XENDCG.bind(data, shuffled).gradients(SCORES * 2)[0] == pytest.approx(plain[0])


def test_no_pair_pushes() -> None:
    assert XENDCG.effective_pairs(SCORES, LABELS).tolist() == [0]
    assert [len(part) for part in XENDCG.pairs(SCORES, LABELS)] == [0, 0, 0]
    found = rf.diagnostics.contributions(XENDCG, SCORES, LABELS)
    assert (found.documents, found.shares.sum()) == (0, 0.0)
    factors = rf.diagnostics.norm_factors(XENDCG, SCORES, LABELS, norm="std").factors
    assert factors == pytest.approx([1.0 / XENDCG.gradients(SCORES, LABELS)[0].std()])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "sigma": ({"sigma": 2.0}, "objective 'xendcg' has no parameter 'sigma'"),
    "cost": ({"cost": "sigmoid"}, "objective 'xendcg' has no parameter 'cost'"),
    "gain": ({"gain": "y"}, "objective 'xendcg' has no parameter 'gain'"),
    "tau": ({"tau": 3}, "objective 'xendcg' has no parameter 'tau'"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_belongs_to_pairs_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.objective("xendcg", **given)
    with pytest.raises(ValueError, match=message):
        rf.Ranker("xendcg", **given).settings()


def test_a_cutoff_in_the_name_is_refused() -> None:
    with pytest.raises(ValueError, match="xendcg has no cutoff, so @5 means nothing"):
        rf.objective("xendcg@5")


def test_a_label_without_a_gain_names_its_row() -> None:
    with pytest.raises(ValueError, match="row 1: label -1 is negative"):
        XENDCG.gradients([0.0, 1.0], [0, -1])


def test_it_needs_the_labels_of_all_documents() -> None:
    labels = {"grade": LABELS, "click": [0.5, 0.0, float("nan"), 0.25]}
    with pytest.raises(ValueError, match="xendcg needs the labels of all documents"):
        rf.objective("xendcg", source="click").gradients(SCORES, labels)
    lower = rf.graded(["ranknet", rf.objective("xendcg", source="click")])
    with pytest.raises(ValueError, match="it can neither be a lower tier"):
        lower.gradients(SCORES, {"grade": LABELS, "click": [0.5, 0.1, 0.2, 0.25]})
    first = rf.graded(["xendcg", rf.objective("ranknet", source="click")])
    assert first.gradients(SCORES, labels)[0].any()


def test_no_weight_of_two_ranks() -> None:
    with pytest.raises(ValueError, match="no function of the two ranks alone"):
        XENDCG.rank_weights(4)


def test_it_mixes_with_pairs() -> None:
    ranknet = rf.objective("ranknet")
    mixed = 0.5 * XENDCG + 2.0 * ranknet
    for norm in ("none", "lightgbm", "std"):
        got = mixed.gradients(SCORES, LABELS, norm=norm)
        parts = [one.gradients(SCORES, LABELS, norm=norm) for one in (XENDCG, ranknet)]
        assert got == pytest.approx(0.5 * np.array(parts[0]) + 2.0 * np.array(parts[1]))
    assert mixed.effective_pairs(SCORES, LABELS) == ranknet.effective_pairs(SCORES, LABELS)


def test_a_query_is_explained_without_pairs() -> None:
    found = rf.explain("xendcg", SCORES, LABELS, iteration=2)
    lam, _ = XENDCG.gradients(SCORES, LABELS, iteration=2)
    assert [one.force for one in found.documents] == [lam[one.row] for one in found.documents]
    assert "xendcg, iteration 2: 0 pairs" in found.table()
    assert found.record()["pairs"] == []


def test_a_report_knows_its_seed() -> None:
    """Two seeds are two objectives, unlike those of an objective that draws nothing."""
    from rankforce.show.report.runs import open_runs

    data = rf.make_data("yahoo", queries=20)
    how = {"n_estimators": 2, "num_leaves": 3, "progress": False, "seed": 7}
    runs = open_runs({name: rf.Ranker(name, **how).fit(data) for name in ("xendcg", "ranknet")})
    assert [run.aim for run in runs] == ["xendcg (seed=7)", "RankNet"]


def test_a_recorder_finds_forces_and_no_pairs() -> None:
    data = rf.make_data("yahoo", queries=30)
    recorder = rf.Recorder(every=1)
    how = {"n_estimators": 3, "num_leaves": 4, "progress": False}
    rf.Ranker("xendcg", **how).fit(data, callbacks=[recorder])
    series = recorder.curves.series
    assert series["pairs"]["absolute"] == [0.0] * 3
    assert series["norm_factors"]["median"] == [1.0] * 3
    assert "NDCG@10" in series["metrics"]


# Least squares: each document by itself.

SQUARED = rf.objective("squared-error")


@pytest.mark.parametrize("name", ["regression", "regression_l2", "MSE", "l2", "reg:squarederror"])
def test_the_names_that_others_have_for_least_squares(name: str) -> None:
    assert rf.Ranker(objective=name).settings().make_objective() == SQUARED
    assert SQUARED.metric(5).name == "NDCG@5"


def test_least_squares_take_any_labels_but_none_missing() -> None:
    assert SQUARED.gradients([0.5, 0.0], [-1.0, 2.5])[0].tolist() == [-1.5, 2.5]
    clicks = rf.objective("squared-error", source="click")
    with pytest.raises(ValueError, match="squared-error needs the labels of all documents"):
        clicks.gradients([0.5, 0.0], {"grade": [1, 0], "click": [1.0, float("nan")]})
    with pytest.raises(ValueError, match="objective 'squared-error' has no parameter 'sigma'"):
        rf.objective("squared-error", sigma=2.0)


def test_least_squares_are_the_trees_of_a_regressor() -> None:
    """The same trees as those of the base, whatever the step and the norm of pairs."""
    data = rf.make_data("yahoo", queries=30, seed=3)
    how = {"num_leaves": 5, "progress": False, "threads": 1}
    base = rf.Ranker(n_estimators=1, base="regressor", base_estimators=3, **how).fit(data)
    for step in ("newton", "gradient", "exact-newton"):
        ranker = rf.Ranker("squared-error", n_estimators=3, step=step, **how).fit(data)
        assert np.array_equal(ranker.predict(data), base.predict(data, num_iteration=3))


def test_least_squares_mix_with_pairs() -> None:
    mixed = SQUARED + 2.0 * rf.objective("ranknet")
    parts = [one.gradients(SCORES, LABELS)[0] for one in (SQUARED, rf.objective("ranknet"))]
    assert mixed.gradients(SCORES, LABELS)[0] == pytest.approx(parts[0] + 2.0 * parts[1])
