"""A committee is a forest: members trained as rankers are, their trees added up by their shares."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import monotonic
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.common.types import Floats
from rankforce.data.binned import make_bins
from rankforce.engines.base import _ADDED
from rankforce.engines.lightgbm.engine import LightGBM
from rankforce.formats.write import write
from rankforce.training.committee import fit_members, share_threads
from rankforce.training.members import member_settings
from rankforce.training.run import ScoredSet
from rankforce.training.settings import make_settings
from tests.cli.inside import run_inside
from tests.engines.stumps import STUMPS

TRAIN = rf.make_data("mslr", queries=20, seed=1)
VALID = rf.make_data("mslr", queries=12, seed=2)
SMALL: dict[str, Any] = {
    "n_estimators": 6,
    "num_leaves": 5,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "k": 5,
    "seed": 3,
    "threads": 1,
    "progress": False,
}
BAGS = {"subsample": 0.7, "subsample_by": "query", "colsample_bytree": 0.5}
# What binning the data once for all members needs, and the manifest says.
ONE_BINNING = {"feature_pre_filter": False, "data_random_seed": SMALL["seed"]}
MIXED: list[Any] = [
    "ranknet",
    "lambdagap-s+",
    {"num_leaves": 9, "seed": 11},
    {"objective": {"name": "xendcg"}, "learning_rate": 0.1, "n_estimators": 4},
    rf.objective("lambdarank-ndcg", k=3) + rf.objective("ranknet"),
    {"subsample": 1.0, "colsample_bytree": 1.0, "max_bin": 31},
]
# The same, as plain rankers are given them.
ALONE: list[dict[str, Any]] = [
    {"objective": "ranknet"},
    {"objective": "lambdagap-s+"},
    {"num_leaves": 9, "seed": 11},
    {"objective": {"name": "xendcg"}, "k": None, "learning_rate": 0.1, "n_estimators": 4},
    {"objective": rf.objective("lambdarank-ndcg", k=3) + rf.objective("ranknet"), "k": None},
    {"subsample": 1.0, "colsample_bytree": 1.0, "max_bin": 31},
]


def fit(members: Any, data: Any = TRAIN, **more: Any) -> rf.Ranker:
    told = {name: more.pop(name) for name in ("callbacks", "init_score") if name in more}
    valid = more.pop("eval_set", [VALID])
    return rf.Ranker(**SMALL | more, members=members).fit(data, eval_set=valid, **told)


def naive(rankers: list[rf.Ranker], data: Any, train: Any = TRAIN) -> Floats:
    """The mean of members, each counting by 1 over the standard deviation of its scores."""
    total, shares = np.zeros(data.rows), 0.0
    for ranker in rankers:
        scale = np.std(ranker.predict(train))
        total += ranker.predict(data) / scale
        shares += 1.0 / scale
    return total / shares


def one_by_one(several: list[dict[str, Any]], data: Any = TRAIN, **more: Any) -> list[rf.Ranker]:
    usual = SMALL | BAGS | ONE_BINNING | {"eval_metric": "ndcg@5"} | more
    return [
        rf.Ranker(**usual | {"seed": SMALL["seed"] + number} | one).fit(data, eval_set=[VALID])
        for number, one in enumerate(several)
    ]


@pytest.fixture(scope="module")
def mixed() -> rf.Ranker:
    return fit(MIXED)


def test_members_are_plain_rankers_added_up(mixed: rf.Ranker) -> None:
    alone = one_by_one(ALONE)
    for data in (TRAIN, VALID):
        np.testing.assert_allclose(mixed.predict(data), naive(alone, data), rtol=1e-9, atol=1e-9)
    assert [one["trees"] for one in mixed.members_] == [6, 6, 6, 4, 6, 6]
    for one, ranker in zip(mixed.members_, alone, strict=True):
        assert one["scale"] == pytest.approx(np.std(ranker.predict(TRAIN)), rel=1e-9)
        assert one["best"] == ranker.evals_result_["valid_0"]["ndcg@5"][-1]
        assert one["weight"] == 1.0


def test_a_number_of_members_differs_in_seed_bag_and_columns() -> None:
    three = fit(3)
    np.testing.assert_allclose(three.predict(VALID), naive(one_by_one([{}] * 3), VALID), rtol=1e-9)
    assert [one["settings"] for one in three.members_] == [{}, {"seed": 4}, {"seed": 5}]
    trees = [three.model_.trees[number * 6] for number in range(3)]
    assert len({tree.feature.tobytes() for tree in trees}) == 3


def test_members_stop_early_each_by_itself() -> None:
    more = {"n_estimators": 60, "early_stopping_rounds": 4, "learning_rate": 0.5}
    stopped = fit(3, **more)
    alone = one_by_one([{}] * 3, **more)
    assert [one["trees"] for one in stopped.members_] == [one.n_estimators_ for one in alone]
    assert len({one.n_estimators_ for one in alone}) > 1
    assert stopped.n_estimators_ == stopped.best_iteration_ == len(stopped.model_.trees)
    np.testing.assert_allclose(stopped.predict(VALID), naive(alone, VALID), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("members", [MIXED, 5], ids=["mixed", "five"])
def test_the_same_bits_at_any_number_of_threads(members: Any, tmp_path: Path) -> None:
    for threads in (1, 2, 3, 16):
        fit(members, threads=threads).save(tmp_path / str(threads))
    for name in ("model.txt", "manifest.json"):
        several = [(tmp_path / str(threads) / name).read_bytes() for threads in (1, 2, 3, 16)]
        assert len({*several}) == 1


@given(st.integers(1, 40), st.integers(1, 64))
def test_members_do_not_fight_for_cores(members: int, threads: int) -> None:
    jobs, each = share_threads(members, threads)
    assert 1 <= jobs <= members
    assert each >= 1
    assert jobs * each <= threads
    # As few rounds as there can be.
    assert -(-members // jobs) == -(-members // threads)


def test_a_time_ends_it_with_the_members_that_are_whole() -> None:
    plain = fit(["ranknet"]).model_  # and all kernels are there
    endless = {"n_estimators": 1_000_000, "learning_rate": 1e-4}
    settings = rf.Ranker(members=["ranknet", endless], **SMALL).settings()
    model = fit_members(settings, ScoredSet("training", TRAIN), until=monotonic() + 3.0)
    assert [one["objective"] for one in model.members] == ["RankNet"]
    assert not model.finished
    assert model.scorer.digest(model.steps) == plain.scorer.digest(plain.steps)


def test_features_are_binned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    binned: list[int] = []

    def count(*given: Any, **more: Any) -> Any:
        binned.append(1)
        return make_bins(*given, **more)

    def count_theirs(self: LightGBM, *given: Any) -> Any:
        binned.append(1)
        return theirs(self, *given)

    theirs = LightGBM._bin
    monkeypatch.setattr("rankforce.engines.histogram.engine.make_bins", count)
    monkeypatch.setattr(LightGBM, "_bin", count_theirs)
    members = [{}, {"min_child_samples": 9}, {"num_leaves": 3}, "ranknet"]
    for engine in (None, "lightgbm"):
        binned.clear()
        fit(members, threads=2, engine=engine)
        assert len(binned) == 1


def test_saved_loaded_and_read_by_lightgbm(mixed: rf.Ranker, tmp_path: Path) -> None:
    mixed.save(tmp_path)
    again = rf.load(tmp_path)
    assert np.array_equal(again.predict(VALID), mixed.predict(VALID))
    assert again.members_ == mixed.members_
    assert again.evals_result_ == mixed.evals_result_
    again.save(tmp_path / "again")
    for name in ("model.txt", "manifest.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / name).read_bytes()
    theirs = lgb.Booster(model_file=str(tmp_path / "model.txt")).predict(VALID.features)
    np.testing.assert_allclose(theirs, mixed.predict(VALID), rtol=1e-6)


def test_a_loaded_committee_trains_the_same_again(tmp_path: Path) -> None:
    """Settings of a committee are said one by one, as some have other defaults there."""
    first = fit(["ranknet", {"num_leaves": 4}], subsample_by="row", colsample_bytree=1.0)
    first.save(tmp_path)
    again = rf.load(tmp_path).set_params(threads=1, progress=False).fit(TRAIN, eval_set=[VALID])
    assert np.array_equal(again.predict(VALID), first.predict(VALID))


def test_the_history_is_that_of_the_joined_forest(mixed: rf.Ranker) -> None:
    curve = mixed.evals_result_["valid_0"]["ndcg@5"]
    assert len(curve) == len(mixed.model_.trees) == mixed.best_iteration_ == 34
    for trees in (1, 7, 34):
        scores = mixed.predict(VALID, num_iteration=trees)
        assert curve[trees - 1] == pytest.approx(
            rf.evaluate(scores, VALID, "ndcg@5").means["NDCG@5"], rel=1e-12
        )
    assert mixed.best_score_["valid_0"]["ndcg@5"] == curve[-1]


def test_features_contribute_to_the_whole(mixed: rf.Ranker) -> None:
    found = mixed.contributions(VALID)
    np.testing.assert_allclose(found.sum(axis=1), mixed.predict(VALID), rtol=1e-9, atol=1e-9)
    assert mixed.importance("split").sum() == sum(tree.leaves - 1 for tree in mixed.model_.trees)


def test_the_objective_auto() -> None:
    joined = fit(["auto", "ranknet"], objective="auto", k=None, eval_metric="p@5")
    assert [one["objective"] for one in joined.members_] == ["LambdaGap-S++@5", "RankNet"]
    assert joined.objective_.name == "LambdaGap-S++"


def test_another_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_ADDED, STUMPS.name, STUMPS)
    joined = fit([{}, {"skip": 1}], engine="stumps")
    usual = SMALL | BAGS | {"engine": "stumps"}
    alone = [
        rf.Ranker(**usual | {"seed": 3 + number, "skip": number}).fit(TRAIN) for number in (0, 1)
    ]
    np.testing.assert_allclose(joined.predict(VALID), naive(alone, VALID), rtol=1e-9)


# Bags.


def test_bags_of_a_committee_unless_the_user_says_otherwise() -> None:
    def bags(**given: Any) -> tuple[Any, ...]:
        one = rf.Ranker(**given).settings()
        return one.subsample, one.subsample_by, one.subsample_freq, one.colsample_bytree

    assert bags() == (1.0, "row", 1, 1.0)
    assert bags(members=2) == (0.7, "query", 1, 0.5)
    own = {"subsample": 1.0, "subsample_by": "row", "colsample_bytree": 1.0}
    assert bags(members=2, **own) == bags()
    assert bags(members=2, bagging_fraction=0.9, feature_fraction=1.0) == (0.9, "query", 1, 1.0)


def test_a_run_says_what_a_tree_sees(capsys: pytest.CaptureFixture[str]) -> None:
    fit(["ranknet", "lambdagap-s+"], progress=True, early_stopping_rounds=6)
    said = capsys.readouterr().err
    assert (
        "a committee of 2, 1 at a time: a tree sees 70% of the queries (subsample) and 50%" in said
    )
    assert "metrics and diagnostics are for LambdaRank-NDCG@5" in said
    assert "ndcg@5 on valid_0 decides when each member stops" in said
    assert re.search(r"member 2 of 2: LambdaGap-S\+@5, [1-6] trees, ndcg@5 0\.", said)


# What members are given.


def test_a_member_takes_of_the_committees_objective_what_its_own_has() -> None:
    given = {"objective": "lambdagap-x++", "mu": 0.5, "k": 5, "tau": 7}
    members = ["ranknet", "lambdagap-s++@3", {"mu": 2.0}, rf.objective("ranknet"), "auto"]
    found = member_settings(make_settings(given | {"members": members}))
    assert [(one.objective, one.k, one.mu) for one in found[:3]] == [
        ("ranknet", 5, None),
        ("lambdagap-s++@3", None, 0.5),
        ("lambdagap-x++", 5, 2.0),
    ]
    assert found[3].make_objective() == members[3]
    assert found[4].objective == "LambdaGap-S++"  # for P@5, which the committee watches
    assert {one.eval_metric[0].name for one in found} == {"P@5"}


def test_names_of_others_are_understood_in_members() -> None:
    found = member_settings(make_settings({"members": [{"eta": 0.5, "max_leaves": 4}]}))[0]
    assert (found.learning_rate, found.num_leaves) == (0.5, 4)


def test_seeds_stay_in_range() -> None:
    last = 2**31 - 1
    found = member_settings(make_settings({"members": 3, "seed": last}))
    assert [one.seed for one in found] == [last, 0, 1]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"members": 0}, r"members is 0: it must be an integer from 1 up"),
    ({"members": True}, r"members is True: it must be an integer from 1 up"),
    ({"members": []}, r"members is \[\]: it must be an integer from 1 up, or a list"),
    ({"members": "ranknet"}, r"members is 'ranknet': it must be an integer"),
    ({"members": [3]}, r"members\[0\] is 3: it must be an objective or a table of settings"),
    ({"members": ["ranknet", "x", "y"]}, r"members\[1\]: unknown objective 'x'"),
    ({"members": [{}, {"num_leaf": 1}]}, r"members\[1\]: num_leaves is 1: it must be"),
    ({"members": [{"leaves": 1}]}, r"members\[0\]: unknown parameter 'leaves'"),
    ({"members": [{"base": "x"}]}, r"members\[0\]: base is the same for all members: give it to"),
    ({"members": [{"n_jobs": 2}]}, r"members\[0\]: threads is the same for all members"),
    ({"members": [{"metric": "map"}]}, r"members\[0\]: eval_metric is the same for all members"),
    ({"members": [{"members": 2}]}, r"members\[0\]: members is the same for all members"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_mistakes_are_named_before_anything_is_read(given: Any, message: str) -> None:
    with pytest.raises(rf.RankforceError, match=f"^{message}"):
        rf.train(given | {"train": "no such file"})


@pytest.mark.parametrize("threads", [1, 2])
def test_a_member_that_cannot_be_trained_is_named(threads: int) -> None:
    members = [{}, {"objective": "ranknet", "min_child_samples": 100_000}, {}]
    with pytest.raises(rf.RankforceError, match=r"^member 2 of 3: RankNet: no split is worth it"):
        fit(members, threads=threads)


# Data and bases.


def test_upon_trees_that_count_once(tmp_path: Path) -> None:
    base = rf.Ranker(**SMALL | {"n_estimators": 3}).fit(TRAIN)
    joined = fit(2, base=base)
    alone = one_by_one([{}] * 2, base=base)
    np.testing.assert_allclose(joined.predict(VALID), naive(alone, VALID), rtol=1e-9)
    assert len(joined.model_.trees) == 3 + 2 * 6
    assert joined.model_.scorer.digest(3) == base.model_.scorer.digest(3)
    joined.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path, base=base).predict(VALID), joined.predict(VALID))


class Outside:
    """A model that is not made of trees."""

    def predict(self, features: Any) -> Floats:
        return np.asarray(features)[:, 0] * 0.01


@pytest.mark.parametrize("base", [Outside(), "regressor"], ids=["outside", "regressor"])
def test_upon_any_other_base(base: Any) -> None:
    joined = fit(2, base=base, base_estimators=2)
    alone = one_by_one([{}] * 2, base=base, base_estimators=2)
    np.testing.assert_allclose(joined.predict(VALID), naive(alone, VALID), rtol=1e-9)
    assert joined.model_.base_steps == 0


def test_scores_to_start_from() -> None:
    start = np.arange(TRAIN.rows) * 1e-4
    joined = fit(2, init_score=start, eval_set=None)
    usual = SMALL | BAGS | ONE_BINNING
    alone = [
        rf.Ranker(**usual | {"seed": 3 + number}).fit(TRAIN, init_score=start)
        for number in range(2)
    ]
    scales = [np.std(start + one.predict(TRAIN)) for one in alone]
    total = sum((start + one.predict(TRAIN)) / s for one, s in zip(alone, scales, strict=True))
    expected = total / sum(1 / scale for scale in scales)
    np.testing.assert_allclose(joined.predict(TRAIN, init_score=start), expected, rtol=1e-9)


def test_categories_weights_sources_and_preferences() -> None:
    rng = np.random.default_rng(0)
    features = TRAIN.features.copy()
    features[:, 0] = rng.integers(0, 6, TRAIN.rows)
    first = TRAIN.index.pointer[:-1]
    data = rf.RankingData(
        features,
        TRAIN.labels,
        group=TRAIN.group,
        categorical=[0],
        query_weight=rng.uniform(0.5, 2.0, len(TRAIN.sizes)),
        sources={"click": rng.integers(0, 2, TRAIN.rows)},
        preferences=(first, first + 1),
    )
    members = [{}, {"objective": {"name": "lambdarank-ndcg", "source": "click"}}, "preferences"]
    joined = fit(members, data, eval_set=None)
    usual = SMALL | BAGS | ONE_BINNING
    alone = [
        rf.Ranker(**usual | {"seed": 3 + number} | own).fit(data)
        for number, own in enumerate(
            [{}, {"source": "click", "k": None}, {"objective": "preferences"}]
        )
    ]
    np.testing.assert_allclose(joined.predict(data), naive(alone, data, data), rtol=1e-9)


def test_notes_of_members_at_once_are_said_once_at_the_users_line() -> None:
    features = TRAIN.features.copy()
    features[:, 0] = np.arange(TRAIN.rows) % 5 - 2
    data = rf.RankingData(features, TRAIN.labels, group=TRAIN.group, categorical=[0])
    with pytest.warns(Note, match="categories below 0 count as missing") as said:
        fit(3, data, eval_set=None, threads=3)
    assert [one.filename for one in said] == [__file__]


# What looks at a ranker.


def test_callbacks_see_the_forest_tree_by_tree() -> None:
    seen: list[Any] = []

    def look(moment: Any) -> None:
        assert moment.model.steps == moment.iteration + 1
        assert np.isfinite(moment.lam).all()
        scores = moment.model.scores(TRAIN.features)
        np.testing.assert_allclose(moment.scores, scores, rtol=1e-12, atol=1e-12)
        seen.append([one.metric_value for one in moment.evaluation_result_list])

    recorder = rf.Recorder(["pairs"], every=5)
    joined = fit(2, callbacks=[look, recorder], threads=2)
    assert [[value] for value in joined.evals_result_["valid_0"]["ndcg@5"]] == seen
    assert recorder.curves.steps == [1, 6, 11, 12]
    assert joined.model_.diagnostics is recorder.curves
    assert np.array_equal(joined.predict(VALID), fit(2).predict(VALID))


def test_a_callback_may_stop_the_forest() -> None:
    joined = fit(2, callbacks=[lambda moment: moment.iteration == 7])
    assert len(joined.model_.trees) == joined.n_estimators_ == joined.best_iteration_ == 8


def test_reports_diagnostics_comparisons_and_explanations(mixed: rf.Ranker, tmp_path: Path) -> None:
    mixed.save(tmp_path / "committee")
    rf.Ranker(**SMALL).fit(TRAIN, eval_set=[VALID]).save(tmp_path / "one")
    folders = [tmp_path / "committee", tmp_path / "one"]
    page = tmp_path / "report.html"
    rf.write_report(folders, VALID, out=page)
    assert "LambdaRank-NDCG@5, for a committee of 6" in page.read_text()
    curves = rf.diagnose(folders[0], VALID, every=10)
    assert curves.about["objective"] == "LambdaRank-NDCG"
    assert curves.trees == [1, 11, 21, 31, 34]
    assert rf.compare({"a": mixed, "b": mixed}, VALID, metric="ndcg@5").values.keys() == {"a", "b"}
    assert mixed.objective_ == rf.objective("lambdarank-ndcg", k=5, seed=3)


@pytest.mark.parametrize(
    "given", [{"early_stopping_rounds": 50}, {"member_weights": "greedy"}, {}], ids=str
)
def test_a_report_says_what_was_chosen_on_its_data(given: dict[str, Any], tmp_path: Path) -> None:
    rf.write_report({"two": fit(2, **given)}, VALID, out=tmp_path / "page.html")
    said = "two chose trees or weights of its members on this very data"
    assert (said in (tmp_path / "page.html").read_text()) == bool(given)


def test_clones_and_goes_on_as_a_base(mixed: rf.Ranker) -> None:
    assert clone(mixed).get_params()["members"] == MIXED
    more = rf.Ranker(**SMALL, base=mixed).fit(TRAIN)
    assert len(more.model_.trees) == 34 + 6


def test_a_search_is_for_one_ranker() -> None:
    with pytest.raises(rf.RankforceError, match="members are not searched"):
        rf.tune(TRAIN, valid=VALID, members=2, trials=1, searcher="random", progress=False)


def test_files_and_the_command_line(tmp_path: Path) -> None:
    write(TRAIN, tmp_path / "a.txt")
    write(VALID, tmp_path / "b.txt")
    (tmp_path / "run.toml").write_text(
        'train = "a.txt"\nvalid = "b.txt"\nn_estimators = 3\nnum_leaves = 4\nseed = 3\nk = 5\n'
        'members = ["ranknet", { num_leaves = 3 }, { objective = { name = "xendcg" } }]\n'
    )
    config = tmp_path / "run.toml"
    answer = run_inside("train", "--config", config, "--out", tmp_path / "toml", "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["trees"] == 9
    told = json.loads((tmp_path / "toml/manifest.json").read_text())
    assert [one["objective"] for one in told["members"]] == [
        "RankNet",
        "LambdaRank-NDCG@5",
        "xendcg",
    ]
    assert told["members"][1]["settings"] == {"num_leaves": 3, "seed": 4}
    assert told["parameters"]["members"][0] == {"objective": "ranknet"}
    files = ("--train", tmp_path / "a.txt", "--valid", tmp_path / "b.txt", "--trees", 3)
    answer = run_inside("train", *files, "--members", 2, "--out", tmp_path / "two")
    assert answer.returncode == 0, answer.stderr
    assert len(rf.load(tmp_path / "two").members_) == 2
    assert "6 of 6 trees, 2 members" in answer.stdout
    two = ("--model", tmp_path / "two", "--data", tmp_path / "b.txt")
    answer = run_inside("diagnose", *two)
    assert answer.returncode == 0, answer.stderr
    answer = run_inside("report", tmp_path / "two", "--out", tmp_path / "page.html")
    assert answer.returncode == 0, answer.stderr


def test_a_ranker_by_itself_has_no_members(tmp_path: Path) -> None:
    ranker = rf.Ranker(**SMALL).fit(TRAIN)
    assert ranker.members_ == []
    ranker.save(tmp_path)
    told = json.loads((tmp_path / "manifest.json").read_text())
    assert "members" not in told
    assert "members" not in told["parameters"]
