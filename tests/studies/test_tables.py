"""Tables made again: values, marks, times and sweeps against sums by hand; claims about them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.evaluation.paired import paired_test
from rankforce.studies.outcome import Outcome
from rankforce.studies.papers import printed
from rankforce.studies.remakes import REMAKES, SMALL_MU, settings_of
from rankforce.studies.sets import VALIDATION, StudySet, make_set
from rankforce.studies.study import Rules, Study, Trial
from rankforce.studies.tables import Remake, folds_of, make_table, wants_of
from rankforce.studies.verdicts import Judged, count_tests, judge_all

QUERIES = 40
ALL = {(paper, one.name): one for paper, tables in REMAKES.items() for one in tables}


def both(data: StudySet) -> range:
    return range(1, 3)


class Told(Study):
    """A study whose outcomes are drawn at random, the same for the same trial."""

    def __init__(self, *names: str) -> None:
        sets = [make_set("yahoo", queries=QUERIES, seed=0)._replace(name=name) for name in names]
        super().__init__(sets, Rules(3, {"p@5": ["p@5"]}))
        self.asked: list[Trial] = []
        self._draw = cache(self._drawn)

    def train(self, run: Trial) -> Outcome:
        self.asked.append(run)
        return self._draw(run)

    def _drawn(self, run: Trial) -> Outcome:
        key = f"{run.objective!r}{run[1:]}".encode()
        rng = np.random.default_rng(list(key))
        metrics = [f"{name}@{k}" for name in ("P", "NDCG") for k in range(1, 16)]
        metrics += [rf.metric(f"cndcg@{k}(source=clicks)").name for k in range(1, 11)]
        return Outcome(
            {VALIDATION: {name: rng.random(3).tolist() for name in metrics}},
            dict.fromkeys(metrics, 2),
            {name: rng.random(QUERIES) for name in metrics},
            rng.random(3),
            1.0 + rng.random(3),
            chosen={"num_leaves": 31, "tau": 5, "mu": 0.5},
        )


def make(remake: Remake, study: Study, **limits: Any) -> Any:
    keys = remake.keys(limits.get("cutoffs", [5, 10]), limits.get("algorithms", ("*",)))
    return make_table(remake, study, both, keys)


def test_a_score_is_the_mean_over_the_queries_of_all_folds() -> None:
    study = Told("mine")
    table = make(ALL["001", "table-4"], study, cutoffs=[5], algorithms=["lambdagap-s+"])
    assert [one["algorithm"] for one in table.records] == [
        "Perfect model",
        "Random model",
        "LambdaRank-P@k",
        "LambdaGap-S+",
    ]
    found = {
        name: np.concatenate(
            [
                study.train(Trial(rf.objective(name, k=5), "mine", fold)).values["P@5"]
                for fold in (1, 2)
            ]
        )
        for name in ("lambdarank-p@k", "lambdagap-s+")
    }
    base, own = found.values()
    record = table.records[-1]
    assert record["value"] == pytest.approx(100.0 * own.mean())
    assert record["gain"] == pytest.approx(100.0 * (own - base).mean())
    assert record["p_value"] == paired_test(own - base, test="permutation").p_value
    perfect, _ = study.reference("mine", 1, "p@5")
    assert table.records[0]["value"] == pytest.approx(100.0 * perfect.mean())


def test_marks_are_those_of_the_paper_and_only_for_what_is_better() -> None:
    table = make(ALL["001", "table-4"], Told("a"), cutoffs=[5, 10])
    levels = {"***": 0.001, "**": 0.01, "*": 0.05}
    marked = 0
    for one in table.records:
        if "p_value" not in one:
            assert one["mark"] == ""
            continue
        expected = [mark for mark, level in levels.items() if one["p_value"] < level]
        assert one["mark"] == (expected[0] if expected and one["gain"] > 0 else "")
        marked += bool(one["mark"])
    assert 0 < marked < len(table.records) / 4  # by chance


def test_times_are_shares_of_the_baseline() -> None:
    study = Told("mine")
    whole, to_best = (
        make(ALL["001", name], study, cutoffs=[5], algorithms=["ranknet"])
        for name in ("table-5", "table-6")
    )
    for table, trees in ((whole, 3), (to_best, 2)):
        ratios = []
        for fold in (1, 2):
            one, base = (
                study.train(Trial(objective, "mine", fold)).seconds[:trees].sum()
                for objective in (rf.objective("ranknet"), rf.objective("lambdarank-p@k", k=5))
            )
            ratios.append(one / base)
        (record,) = table.find(algorithm="RankNet")
        assert record["value"] == pytest.approx(100.0 * math.sqrt(ratios[0] * ratios[1]))


def test_milliseconds_are_medians_over_trees_and_folds() -> None:
    study = Told("mine")
    table = make(ALL["000", "table-6"], study, cutoffs=[5], algorithms=["lambdamart-ex all"])
    found = [
        study.train(Trial(rf.objective("lambdamart-ex all", k=5), "mine", fold)) for fold in (1, 2)
    ]
    for part, seconds in (
        ("objective", [one.forces for one in found]),
        ("tree", [one.seconds for one in found]),
    ):
        (record,) = table.find(part=part)
        assert record["value"] == pytest.approx(1000.0 * np.median(np.concatenate(seconds)))


def test_truncation_and_mu_are_those_of_the_paper() -> None:
    remake, study = ALL["000", "table-5"], Told("mslr-web30k", "mine")
    for data, mu in (("mslr-web30k", 0.5), ("mine", 5.0)):
        assert (data in SMALL_MU) is (mu == 0.5)
        made = [
            remake.trials({"algorithm": name, "k": 5, "tau": tau}, study.sets[data], study)
            for name, tau in (
                ("LambdaRank-NDCG", "inf"),
                ("LambdaLoss-NDCG++", "k+3"),
                ("LambdaLoss-eX++ all", "k"),
                ("LambdaMART-eX all", "k"),
            )
        ]
        assert [run.objective for (run,) in made] == [
            rf.objective("lambdarank-ndcg", k=5, tau=math.inf),
            rf.objective("lambdaloss-ndcg++", k=5, tau=8, mu=5.0),
            rf.objective("lambdaloss-ex++ all", k=5, mu=mu),
            rf.objective("lambdamart-ex all", k=5),
        ]


def test_each_is_compared_with_its_own_loss_at_k_plus_3() -> None:
    remake = ALL["000", "table-5"]
    for name, base in (
        ("LambdaRank-NDCG", "LambdaRank-NDCG"),
        ("LambdaMART-eX all", "LambdaRank-NDCG"),
        ("LambdaLoss-NDCG++", "LambdaLoss-NDCG++"),
        ("LambdaLoss-eX++ random", "LambdaLoss-NDCG++"),
    ):
        found = remake.against({"algorithm": name, "k": 5, "tau": "k"})
        assert found == {"algorithm": base, "k": 5, "tau": "k+3"}


def test_lambda_ex_as_printed_is_compared_with_lambda_ex_as_coded() -> None:
    remake, study = ALL["000", "table-5-label"], Told("mine")
    table = make(remake, study, cutoffs=[5], algorithms=["lambdamart-ex static"])
    (record,) = table.records
    assert record["missed"] == "label"
    asked = {run.objective for run in study.asked}
    assert asked == {
        rf.objective("lambdamart-ex static", k=5, missed="label"),
        rf.objective("lambdamart-ex static", k=5),
    }


def test_a_sweep_shows_what_is_best_on_the_validation_queries() -> None:
    remake, study = ALL["002", "table-2"], Told("made:yahoo")
    keys = [one for one in remake.keys(range(1, 11)) if one["schedule"] == "linear"]
    assert len(keys) == 2 * 10
    own = keys[2]
    assert own["k"] == 3
    trials = remake.trials(own, study.sets["made:yahoo"], study)
    leaves = {max(round(many * QUERIES / 108_000), 1) for many in (6000, 8000, 10_000)}
    assert len(trials) == 3 * 3 * 2 * len(leaves)
    assert {dict(one.settings)["min_child_samples"] for one in trials} == leaves
    assert {dict(one.settings)["step"] for one in trials} == {"gradient"}
    outcomes = [study.train(one._replace(data="made:yahoo", fold=1)) for one in trials]
    best = max(outcomes, key=lambda one: one.history[VALIDATION]["NDCG@3"][1])
    (record,) = make_table(remake, study, lambda data: [1], [own]).records
    assert record["value"] == pytest.approx(100.0 * best.values["NDCG@3"].mean())


def test_newton_baselines_of_002_have_no_norm() -> None:
    study = Told("made:yahoo")
    for name in ("table-1", "table-2"):
        remake = ALL["002", name]
        own = next(one for one in remake.keys(range(1, 11)) if one["step"] == "newton")
        trials = remake.trials(own, study.sets["made:yahoo"], study)
        assert {one.objective for one in trials} == {rf.objective("lambdarank-ndcg", norm="none")}


def test_clicks_of_similar_queries_are_left_out() -> None:
    keys = ALL["002", "table-1"].keys(range(1, 11))
    assert {one["clicks"] for one in keys} == {"query"}
    assert len(keys) == 2 * 2 * 10


def test_chosen_settings_come_from_one_fold_and_stand_once() -> None:
    study = Told("mine", "istella-s")
    first, second = (make(ALL["001", f"table-a{number}"], study, cutoffs=[5]) for number in (1, 2))
    assert {one["data"] for one in first.records} == {"mine"}
    assert {one["data"] for one in second.records} == {"istella-s"}
    assert {run.fold for run in study.asked} == {1}
    assert first.value(algorithm="LambdaGap-S+", parameter="mu") == 0.5
    assert not first.find(parameter="learning_rate")  # nobody chose one


@pytest.mark.parametrize(("paper", "name"), ALL)
def test_a_plan_has_all_that_a_table_asks_for(paper: str, name: str) -> None:
    data = {"table-a2": "istella-s", "table-a3": "yahoo-1"}.get(name, "mine")
    remake, study = ALL[paper, name], Told(data)
    keys = remake.keys(range(1, 11) if paper == "002" else [5])
    planned = {one.run for one in wants_of(remake, study, both, keys)}
    make_table(remake, study, both, keys)
    assert {*study.asked} == planned
    assert {run.fold for run in planned} == {*folds_of(remake, both, study.sets[data])}


def test_every_algorithm_of_every_table_can_be_made() -> None:
    names = {one["algorithm"] for one in printed("001", "4").records}
    assert len(names) == 2 + 42


def test_settings_are_the_papers_where_it_has_the_data_set() -> None:
    assert settings_of("000", "mslr-web30k") == {
        "learning_rate": 0.02,
        "num_leaves": 200,
        "min_child_samples": 100,
        "min_child_weight": 0,
    }
    assert settings_of("001", "istella-s")["num_leaves"] == 64
    assert settings_of("001", "mine") == settings_of("000", "mine")


def judged(paper: str, tables: dict[str, Any]) -> dict[str, Judged]:
    return {one.claim.name: one for one in judge_all(paper, tables)}


def test_claims_about_sets_that_are_not_there_are_not_checked() -> None:
    theirs = printed("001", "4")
    mslr = theirs._replace(records=tuple(theirs.find(data="mslr-web30k")))
    found = judged("001", {"4": mslr})
    assert found["001-binranknet-best"].holds is None  # of Istella-S and Yahoo
    assert found["001-arpbk-best"].holds is True
    assert "001-tuned-best" not in found  # there is no table 8
    foreign = theirs._replace(records=tuple({**one, "data": "mine"} for one in mslr.records))
    assert judged("001", {"4": foreign})["001-binranknet-best"].holds is False


def test_measured_claims_by_hand() -> None:
    cells = [
        {"data": "mine", "k": k, "algorithm": "LambdaMART-eX all", "tau": "k", "gain": gain}
        for k, gain in ((5, 0.5), (15, -0.1))
    ]
    table = printed("000", "5")._replace(
        records=tuple({**one, "p_value": 0.04, "value": 1.0, "mark": ""} for one in cells)
    )
    found = judged("000", {"5": table})
    assert found["000-small-k"].holds is True
    assert "+0.50 at 5, -0.10 at 15" in found["000-small-k"].seen
    assert found["000-never-worse"].holds is False
    assert found["000-many-irrelevant"].holds is None
    assert "000-time-ex" not in found
    times = judged("000", {"6": printed("000", "6")})
    assert times["000-time-tree"].seen == f"{3253 / 792:.2f} times"
    assert times["000-time-tree"].holds is True


def test_tests_are_counted_with_chance_and_correction() -> None:
    table = printed("001", "4")._replace(
        records=tuple(
            {"p_value": p_value, "gain": gain}
            for p_value, gain in ((0.001, 1.0), (0.04, 1.0), (0.99, -1.0), (0.5, 0.1))
        )
    )
    assert count_tests(table) == (
        "4 cells were tested against their baseline. At the level 0.05, 2 are better and 1 worse; "
        "by chance 0 would be. After Holm's correction 1 are better."
    )
