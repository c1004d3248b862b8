"""Training with several objectives at once: tiers, mixes, schedules, explicit pairs."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.models.forest.forest import digest
from rankforce.training.forces import Forces
from rankforce.training.settings import make_settings
from tests import reference as ref
from tests.reference import tiers
from tests.reference.forces import bump, logistic
from tests.training.test_checkpoint import kill_runs, record_of, text_of


def prefer_clicked(data: rf.RankingData) -> rf.RankingData:
    """Pairs of neighbouring rows of a query, the one with more clicks above the other."""
    clicks = np.nan_to_num(data.sources["clicks"])
    rows = np.flatnonzero(data.qid[1:] == data.qid[:-1])
    rows = rows[clicks[rows] != clicks[rows + 1]]
    is_up = clicks[rows] > clicks[rows + 1]
    return data.with_preferences((np.where(is_up, rows, rows + 1), np.where(is_up, rows + 1, rows)))


TRAIN = prefer_clicked(rf.make_data("mslr", queries=25, seed=1))
VALID = rf.make_data("mslr", queries=20, seed=2)
KILLED_AFTER, SAVED = 7, 6  # trees; a checkpoint is written every third
ONE_STEP = {"n_estimators": 1}
PARAMS: dict[str, Any] = {
    "n_estimators": 12,
    "num_leaves": 5,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "seed": 1,
    "threads": 1,
    "progress": False,
    "checkpoint_every": 3,
    "eval_metric": "ndcg@5",
}
NDCG = rf.objective("lambdarank-ndcg", k=5)
RANKNET = rf.objective("ranknet")
CLICKS = rf.objective("lambdarank(cndcg)", source="clicks")
GRADED = rf.graded([NDCG, CLICKS], weights=[0.8, 0.2])
LINEAR = rf.scheduled(RANKNET, NDCG, schedule="linear", start=0.1, rate=0.08)
SVORE = rf.scheduled(
    rf.objective("lambdarank-ndcg", norm="std"),
    rf.objective("lambdarank-ndcg", cost="sigmoid", norm="std"),
    schedule="exponential",
    start=0.1,
    rate=20.0,
)
PAIRS = NDCG + 0.5 * rf.objective("preferences")


def in_waves(m: int) -> float:
    return 0.5 + 0.5 * math.sin(m)


RUNS: dict[str, dict[str, Any]] = {
    "graded": {"objective": GRADED},
    "graded, plain histograms, rows": {
        "objective": GRADED,
        "quantised": False,
        "subsample": 0.5,
    },
    "graded, exact-newton": {"objective": GRADED, "step": "exact-newton"},
    "linear": {"objective": LINEAR},
    "exponential": {"objective": SVORE, "step": "gradient"},
    "function": {"objective": rf.scheduled(RANKNET, GRADED, schedule=in_waves)},
    "mix": {"objective": 0.3 * RANKNET + 0.7 * rf.objective("lambdamart-ex random", k=5, seed=3)},
    "everything": {"objective": 0.5 * GRADED + 0.2 * LINEAR + 0.1 * PAIRS},
    "pairs": {"objective": "preferences"},
    "early stopping": {"objective": LINEAR, "early_stopping_rounds": 6, "n_estimators": 60},
}
every_run = pytest.mark.parametrize("name", RUNS)


def fit(run: dict[str, Any], folder: Any = None, **given: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS | run, checkpoint=folder).fit(TRAIN, eval_set=[VALID], **given)


# It learns


def test_tiers_learn_from_both_sources() -> None:
    """Clicks get better by a tier of clicks, and grades as good as without (002, Table 1)."""
    data = rf.make_data("mslr", queries=80, seed=5)
    test = rf.make_data("mslr", queries=80, seed=6)
    how: dict[str, Any] = {"n_estimators": 30, "num_leaves": 8, "progress": False}
    plain = rf.Ranker("lambdarank-ndcg", **how).fit(data)
    both = rf.Ranker(rf.graded(["lambdarank-ndcg", CLICKS], weights=[0.8, 0.2]), **how).fit(data)
    clicks = np.nan_to_num(test.sources["clicks"])

    def measure(scores: Any) -> tuple[float, float]:
        """NDCG by the grades and CNDCG by the clicks."""
        grades = rf.metric("ndcg@10")(scores, test.labels, qid=test.qid)
        return grades.mean(), rf.metric("cndcg@10")(scores, clicks, qid=test.qid).mean()

    nothing, usual, graded = (
        measure(scores) for scores in (np.zeros(test.rows), plain.predict(test), both.predict(test))
    )
    assert graded[0] > nothing[0] + 0.1
    assert graded[0] > usual[0] - 0.02
    assert graded[1] > usual[1] + 0.03


def test_explicit_pairs_are_learnt() -> None:
    """Most pairs come to stand as they were judged, without a look at any grade."""
    ranker = rf.Ranker("preferences", n_estimators=40, progress=False).fit(TRAIN)
    scores, pairs = ranker.predict(TRAIN), TRAIN.preferences
    assert pairs is not None
    assert np.mean(scores[pairs.hi] > scores[pairs.lo]) > 0.8
    no_grades = rf.RankingData(
        TRAIN.features, np.zeros(TRAIN.rows), qid=TRAIN.qid, preferences=pairs
    )
    blind = rf.Ranker("preferences", n_estimators=40, progress=False).fit(no_grades)
    assert np.array_equal(blind.predict(TRAIN), scores)


# The same model


@pytest.mark.slow
@every_run
def test_same_model_at_any_number_of_threads(name: str) -> None:
    texts = [fit(RUNS[name] | {"threads": threads}).model_.text() for threads in (1, 2, 3)]
    assert texts[1:] == texts[:1] * 2
    assert texts[0].count("Tree=") >= KILLED_AFTER


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return kill_runs(tmp_path_factory.mktemp("killed"), __name__, RUNS)


@pytest.mark.slow
@every_run
def test_killed_and_resumed(name: str, killed: dict[str, Path], tmp_path: Path) -> None:
    """In the middle of a schedule: what is left of it is the same."""
    run, folder = RUNS[name], tmp_path / "killed"
    shutil.copytree(killed[name], folder)
    assert record_of(folder)["trees"] == SAVED
    whole = fit(run, tmp_path / "whole")
    assert len(whole.model_.trees) > KILLED_AFTER
    resumed = fit(run | {"threads": 2}, folder)
    assert text_of(folder) == text_of(tmp_path / "whole")
    assert record_of(folder) == record_of(tmp_path / "whole")
    assert resumed.evals_result_ == whole.evals_result_
    assert resumed.best_iteration_ == whole.best_iteration_


OTHERS = {
    "another rate": rf.scheduled(RANKNET, NDCG, schedule="linear", start=0.1, rate=0.05),
    "another schedule": rf.scheduled(RANKNET, NDCG, schedule="exponential", start=0.1, rate=0.08),
    "another order": rf.scheduled(NDCG, RANKNET, schedule="linear", start=0.1, rate=0.08),
    "another part": rf.scheduled(RANKNET, CLICKS, schedule="linear", start=0.1, rate=0.08),
    "another source": rf.scheduled(
        RANKNET, rf.objective("lambdarank-ndcg", k=5, source="clicks"), start=0.1, rate=0.08
    ),
    "no schedule": NDCG,
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_checkpoint_of_another_objective(other: Any, tmp_path: Path) -> None:
    fit(RUNS["linear"] | {"n_estimators": 3}, tmp_path)
    with pytest.raises(ValueError, match=r"belongs to another run: (objective|k) was"):
        fit({"objective": other}, tmp_path)


# Files


KEPT = {
    "graded": GRADED,
    "linear": LINEAR,
    "exponential": SVORE,
    "mix": 0.3 * RANKNET + 0.7 * CLICKS,
    "everything": 0.5 * GRADED + 0.2 * LINEAR + 0.1 * PAIRS,
}


@pytest.mark.parametrize("objective", KEPT.values(), ids=KEPT)
def test_files_keep_the_objective(objective: rf.Mixed, tmp_path: Path) -> None:
    ranker = fit({"objective": objective, "n_estimators": 3})
    ranker.save(tmp_path)
    again = rf.load(tmp_path)
    assert again.settings().make_objective() == objective
    assert again.model_.objective == repr(objective)
    assert eval(again.model_.objective, {"rf": rf}) == objective
    assert np.array_equal(again.predict(VALID), ranker.predict(VALID))
    assert again.fit(TRAIN, eval_set=[VALID]).model_.text() == ranker.model_.text()
    assert again.score(VALID) == pytest.approx(ranker.score(VALID))


@pytest.mark.parametrize(
    "objective",
    [
        rf.objective("ranknet", source="clicks"),
        {"name": "ranknet", "source": "clicks"},
        {"name": "lambdarank-ndcg", "k": 5, "tau": 20},
        0.5 * RANKNET + rf.objective("lambdarank-ndcg", k=5, tau=math.inf),
    ],
    ids=["source", "table with a source", "table", "infinity"],
)
def test_files_keep_every_objective(objective: Any, tmp_path: Path) -> None:
    ranker = fit({"objective": objective, "n_estimators": 3})
    ranker.save(tmp_path)
    again = rf.load(tmp_path)
    assert again.settings().make_objective() == ranker.settings().make_objective()
    assert again.fit(TRAIN, eval_set=[VALID]).model_.text() == ranker.model_.text()


@pytest.mark.parametrize("what", ["clicks", "pairs"])
def test_a_checkpoint_of_other_labels(what: str, tmp_path: Path) -> None:
    objective = GRADED if what == "clicks" else PAIRS
    fit({"objective": objective, "n_estimators": 3}, tmp_path)
    pairs = TRAIN.preferences
    assert pairs is not None
    other = rf.RankingData(
        TRAIN.features,
        TRAIN.labels,
        qid=TRAIN.qid,
        sources={"clicks": TRAIN.sources["clicks"] * (0.5 if what == "clicks" else 1.0)},
        preferences=(pairs.lo, pairs.hi) if what == "pairs" else pairs,
        feature_names=TRAIN.feature_names,
    )
    with pytest.raises(ValueError, match="belongs to other data"):
        rf.Ranker(**PARAMS | {"objective": objective, "checkpoint": tmp_path}).fit(
            other, eval_set=[VALID]
        )


def test_a_checkpoint_of_another_function(tmp_path: Path) -> None:
    fit({"objective": rf.scheduled(RANKNET, NDCG, schedule=in_waves), "n_estimators": 3}, tmp_path)
    with pytest.raises(ValueError, match="belongs to another run"):
        fit({"objective": rf.scheduled(RANKNET, NDCG, schedule=lambda m: 0.9)}, tmp_path)


# Configurations


TABLES: dict[str, tuple[dict[str, Any], Any]] = {
    "one": ({"name": "lambdarank-ndcg", "k": 5}, NDCG),
    "mix": (
        {"mix": [{"name": "ranknet"}, {"name": "lambdarank-ndcg", "k": 5, "weight": 2.0}]},
        RANKNET + 2.0 * NDCG,
    ),
    "graded": (
        {
            "graded": [
                {"name": "lambdarank-ndcg", "k": 5},
                {"name": "lambdarank(cndcg)", "source": "clicks"},
            ],
            "weights": [0.8, 0.2],
        },
        GRADED,
    ),
    "scheduled": (
        {"scheduled": ["ranknet", {"name": "lambdarank-ndcg", "k": 5}], "start": 0.1, "rate": 0.08},
        LINEAR,
    ),
    "pairs": (
        {
            "mix": [
                {"name": "lambdarank-ndcg", "k": 5},
                {"name": "preferences", "weight": 0.5},
            ]
        },
        PAIRS,
    ),
}


@pytest.mark.parametrize(("table", "objective"), TABLES.values(), ids=TABLES)
def test_configurations(table: dict[str, Any], objective: Any, tmp_path: Path) -> None:
    config = PARAMS | {"n_estimators": 3, "train": TRAIN, "valid": VALID}
    trained = rf.train(config | {"objective": table, "out": str(tmp_path / "run")})
    expected = fit({"objective": objective, "n_estimators": 3})
    assert trained.model_.text() == expected.model_.text()
    assert trained.evals_result_ == expected.evals_result_
    assert (tmp_path / "run" / "model.txt").exists()


@pytest.mark.parametrize("given", [{"k": 5}, {"tau": 3}, {"sigma": 2.0}, {"cost": "sigmoid"}])
def test_parameters_beside_a_made_objective(given: dict[str, Any]) -> None:
    for objective in (GRADED, TABLES["mix"][0]):
        with pytest.raises(ValueError, match="the objective is made already: give"):
            rf.Ranker(objective, **given).settings()


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ({"mix": []}, "there is no objective to mix"),
        ({"graded": ["ranknet"]}, "two tiers or more"),
        (rf.graded(["ranknet", rf.objective("ranknet", source="stars")]), "'stars'"),
        (rf.graded(["ranknet", rf.objective("lambdarank(map)", source="clicks")]), "lower tier"),
        (rf.objective("lambdarank(map)", source="clicks"), "missing for some rows"),
    ],
    ids=str,
)
def test_mistakes_before_the_first_tree(objective: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit({"objective": objective})


def test_pairs_that_are_missing() -> None:
    with pytest.raises(ValueError, match="Preferences needs explicit pairs"):
        rf.Ranker(**PARAMS | {"objective": "preferences"}).fit(VALID)


def test_the_ranker_is_cloned() -> None:
    from sklearn.base import clone

    for objective in (GRADED, LINEAR, TABLES["mix"][0]):
        again = clone(rf.Ranker(objective, n_estimators=3))
        assert (
            again.settings().make_objective()
            == make_settings({"objective": objective}).make_objective()
        )


def test_folds_keep_their_labels() -> None:
    """Sources and pairs go with their queries: a fold's model is that of the same queries."""
    objective = 0.5 * GRADED + 0.1 * PAIRS
    ranker = rf.Ranker(**PARAMS | {"objective": objective, "n_estimators": 3})
    assert np.isfinite(rf.cv(ranker, TRAIN, folds=3, metrics="ndcg@5").values["ndcg@5"]).all()
    some = TRAIN.take_queries([4, 2, 9])
    rows = np.concatenate([np.flatnonzero(TRAIN.qid == q) for q in some.query_ids])
    scores = np.random.default_rng(9).normal(size=TRAIN.rows)
    for norm in ref.NORMS:
        expected = np.array(objective.gradients(scores, TRAIN, norm=norm))[:, rows]
        got = objective.gradients(scores[rows], some, norm=norm)
        # Tables of ranks are as long as the longest query, and rounded accordingly.
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


# Stopping early


@pytest.mark.parametrize("objective", [GRADED, LINEAR, 0.5 * RANKNET + CLICKS], ids=str)
def test_early_stopping(objective: rf.Mixed) -> None:
    run = {"objective": objective, "n_estimators": 200, "early_stopping_rounds": 5}
    ranker = fit(run)
    values = ranker.evals_result_["valid_0"]["ndcg@5"]
    best = int(np.argmax(values)) + 1
    assert ranker.best_iteration_ == best
    assert len(values) == best + 5 < 200
    shorter = fit(run | {"n_estimators": best, "early_stopping_rounds": None})
    assert np.array_equal(ranker.predict(VALID), shorter.predict(VALID))


# Forces move


@pytest.mark.parametrize("norm", ["lightgbm", "none"])
@pytest.mark.parametrize("name", ["linear", "exponential", "function"])
def test_forces_are_what_the_weights_say(name: str, norm: str) -> None:
    """At iteration m, (1 - w_m) of one and w_m of the other, each by itself at the same scores.

    Where the sum follows Svore et al., it is divided by its standard deviation in each query.
    """
    objective = RUNS[name]["objective"]
    how = {"norm": norm, "step": RUNS[name].get("step", "newton")}
    parts = (RANKNET, NDCG) if name == "linear" else (RANKNET, GRADED)
    if name == "exponential":
        parts = tuple(part.objective for part in SVORE.parts)
    own = {"norm": "none"} if name == "exponential" else {}
    settings = make_settings({"objective": parts[0], "seed": 1, "threads": 1} | how | own)
    alone = [Forces(part, TRAIN, settings) for part in parts]
    seen, before = [], [np.zeros(TRAIN.rows)]

    def look(moment: Any) -> None:
        m = moment.iteration
        w = {
            "linear": min(0.1 + 0.08 * m, 1.0),
            "exponential": min(0.1 + sum(math.exp(-20.0 / i) for i in range(1, m + 1)), 1.0),
            "function": in_waves(m),
        }[name]
        forces = [tuple(values.copy() for values in one.at(before[0], m)) for one in alone]
        for got, first, second in zip((moment.lam, moment.hess), *forces, strict=True):
            expected = (1.0 - w) * first + w * second
            if name == "exponential" and got is moment.lam:
                for query in range(len(TRAIN.sizes)):
                    rows = TRAIN.index.rows_of(query)
                    expected[rows] /= expected[rows].std() or 1.0
            np.testing.assert_allclose(
                got, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max()
            )
        seen.append(w)
        before[0] = moment.scores.copy()

    fit({"objective": objective, "n_estimators": 12} | how, callbacks=[look])
    assert len(seen) == 12
    assert len(set(seen)) > 8  # the weight does move
    assert [objective.weights(m)[-1] for m in range(12)] == pytest.approx(
        [w * GRADED.weights(0)[-1] for w in seen] if name == "function" else seen
    )


def test_a_schedule_begins_and_ends_at_its_parts() -> None:
    """w is 0 for 6 trees, then 1: the trees of one objective, then of the other."""
    switch = rf.scheduled(RANKNET, NDCG, schedule=lambda m: float(m >= 6))
    trees = fit({"objective": switch}).model_.trees
    first = fit({"objective": RANKNET, "n_estimators": 6})
    assert digest(trees[:6]) == digest(first.model_.trees)
    start = first.predict(TRAIN)
    index = make_settings({"objective": NDCG, "seed": 1, "threads": 1})
    lam, hess = Forces(NDCG, TRAIN, index).at(start, 6)
    seen: list[Any] = []
    fit(
        {"objective": switch, "n_estimators": 7},
        callbacks=[lambda moment: seen.append((moment.lam.copy(), moment.hess.copy()))],
    )
    np.testing.assert_allclose(seen[6][0], lam, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(seen[6][1], hess, rtol=1e-9, atol=1e-12)


def test_the_gradient_step_has_hessian_1() -> None:
    seen: list[Any] = []
    fit(
        {"objective": GRADED, "step": "gradient", "n_estimators": 1},
        callbacks=[lambda moment: seen.append(moment.hess.copy())],
    )
    assert (seen[0] == 1.0).all()


# The exact Newton step


def small() -> rf.RankingData:
    rng = np.random.default_rng(7)
    qid = rng.permutation(np.repeat(np.arange(8), [30, 12, 1, 25, 20, 5, 40, 17]))
    clicks = rng.choice([0.0, 0.125, 0.25, 0.5, 1.0, np.nan], len(qid))
    return rf.RankingData(
        rng.normal(size=(len(qid), 4)),
        rng.integers(0, 3, len(qid)),
        qid=qid,
        sources={"clicks": clicks},
    )


def naive_leaves(
    data: rf.RankingData, scores: Any, leaf: Any, parts: list[tuple[float, str, int, str]]
) -> tuple[Any, Any]:
    """Sums of forces over each leaf, and of second derivatives of pairs with one document in it."""
    force, second = np.zeros(leaf.max() + 1), np.zeros(leaf.max() + 1)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        s = scores[rows].tolist()
        two = [data.labels[rows].tolist(), data.sources["clicks"][rows].tolist()]
        for share, name, tier, norm in parts:
            W = tiers.tier_weights(name, s, tier, two)
            lam, _ = ref.forces(W, s, norm=norm)
            factor = norm_factor(W, s) if norm == "lightgbm" else 1.0
            for i, row in enumerate(rows):
                force[leaf[row]] += share * lam[i]
                for j, other in enumerate(rows):
                    apart = 0.01 + abs(s[i] - s[j]) if norm == "lightgbm" else 1.0
                    if W[i][j] and leaf[row] != leaf[other]:
                        pair = share * factor * W[i][j] / apart * bump(s[i] - s[j])
                        second[leaf[row]] += pair
                        second[leaf[other]] += pair
    return force, second


def norm_factor(W: Any, s: list[float]) -> float:
    """log2(1 + S) / S of one part."""
    n = range(len(s))
    pairs = [(i, j) for i in n for j in n if W[i][j]]
    x = {(i, j): s[i] - s[j] for i, j in pairs}
    total = sum(2.0 * logistic(x[p]) * W[p[0]][p[1]] / (0.01 + abs(x[p])) for p in pairs)
    return math.log2(1.0 + total) / total if total > 0 else 1.0


@pytest.mark.parametrize("norm", ["none", "lightgbm"])
def test_exact_newton_step_of_a_mix(norm: str) -> None:
    """Force over the second derivatives of pairs that cross the leaf, part by part."""
    data, rate = small(), 0.5
    scores = np.random.default_rng(8).normal(size=data.rows)
    objective = rf.graded(["lambdarank-ndcg", CLICKS], weights=[0.6, 0.4])
    objective = objective + 0.5 * rf.objective("ranknet", norm="none")
    ranker = rf.Ranker(
        objective,
        n_estimators=1,
        num_leaves=4,
        min_child_samples=10,
        learning_rate=rate,
        step="exact-newton",
        norm=norm,
        progress=False,
    ).fit(data, init_score=scores)
    moved, leaf = np.unique(ranker.predict(data), return_inverse=True)
    assert len(moved) == 4
    force, second = naive_leaves(
        data,
        scores,
        leaf,
        [
            (0.6, "LambdaRank-NDCG", 0, norm),
            (0.4, "lambdarank(cndcg)", 1, norm),
            (0.5, "RankNet", 0, "none"),
        ],
    )
    np.testing.assert_allclose(moved, rate * force / second, rtol=1e-4)


@pytest.mark.parametrize(
    "part",
    [
        rf.objective("ranknet", norm="std"),
        rf.objective("ranknet", cost="sigmoid"),
        rf.objective("preferences", norm="std"),
    ],
    ids=str,
)
def test_exact_newton_needs_second_derivatives(part: Any) -> None:
    message = "step='exact-newton' needs second derivatives"
    for objective in (NDCG + 0.1 * part, rf.scheduled(NDCG, part)):
        with pytest.raises(ValueError, match=message):
            rf.Ranker(objective, step="exact-newton").settings()
    with pytest.raises(ValueError, match=message):
        rf.Ranker(NDCG + RANKNET, step="exact-newton", norm="std").settings()
    own = rf.objective("lambdarank-ndcg", norm="none") + rf.objective("ranknet", norm="lightgbm")
    rf.Ranker(own, step="exact-newton", norm="std").settings()  # no part takes the ranker's norm
