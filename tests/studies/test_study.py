"""Rankers of a study: trained once, kept in files, gone on with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.studies.outcome import load_outcome
from rankforce.studies.sets import TEST, TRAIN, VALIDATION, open_set
from rankforce.studies.study import HISTORY, Rules, Study, Trial, Want
from tests.studies.small import small_study

pytestmark = pytest.mark.slow  # CI runs it

RUN = Trial(rf.objective("lambdarank-ndcg", k=5), "made:yahoo")


def train(study: Study) -> rf.Ranker:
    """The same ranker without a study."""
    ranker = rf.Ranker(RUN.objective, n_estimators=4, learning_rate=0.1, num_leaves=15)
    return ranker.fit(study.data("made:yahoo", TRAIN))


def test_a_ranker_is_trained_once_and_records_all_that_is_wanted() -> None:
    said: list[str] = []
    study = small_study("yahoo", said=said)
    study.plan([Want(RUN, ("incoherence",)), Want(RUN, ("pairs", HISTORY))])
    first = study.train(RUN)
    assert study.train(Trial(rf.objective("LambdaRank NDCG", k=5))) is first  # on the first set
    assert said == ["training 1 of 1: LambdaRank-NDCG@5 on made:yahoo"]
    assert sorted(first.curves.series) == ["incoherence", "pairs"]
    assert first.curves.trees == [1, 2, 3, 4]
    assert len(study.history(RUN, VALIDATION, "p@5")) == 4
    own = train(study)
    expected = own.score(study.data("made:yahoo", TRAIN), metric="ndcg@3")
    assert study.history(RUN, TRAIN, "NDCG@3")[-1] == expected


def test_test_queries_are_judged_with_the_trees_that_validation_chose() -> None:
    study = small_study("yahoo")
    found = study.train(RUN)
    history = found.history[VALIDATION]["NDCG@5"]
    assert found.best["NDCG@5"] == history.index(max(history)) + 1
    test = study.data("made:yahoo", TEST)
    scores = train(study).predict(test, num_iteration=found.best["NDCG@5"])
    assert np.array_equal(found.values["NDCG@5"], rf.metric("ndcg@5")(scores, test))


def test_times_are_those_of_all_trees() -> None:
    found = small_study("yahoo").train(RUN)
    assert found.seconds.shape == found.forces.shape == (4,)
    assert (found.seconds > found.forces).all()
    assert (found.forces > 0.0).all()


def test_outcomes_are_kept_and_read_again(tmp_path: Path) -> None:
    study = small_study("yahoo", keep=tmp_path)
    study.plan([Want(RUN, ("pairs", HISTORY))])
    study.work()
    again = small_study("yahoo", keep=tmp_path)
    again.plan([Want(RUN, ("pairs",))])  # less than there is
    again.work()
    assert (study.trained, again.trained) == (1, 0)
    first, second = study.train(RUN), again.train(RUN)
    assert first.history == second.history
    assert first.curves == second.curves
    assert all(np.array_equal(first.values[name], second.values[name]) for name in first.values)
    assert np.array_equal(first.seconds, second.seconds)
    more = small_study("yahoo", keep=tmp_path)
    more.plan([Want(RUN, ("incoherence",))])  # which nobody recorded
    more.work()
    assert more.trained == 1


@pytest.mark.parametrize(
    "other",
    [
        RUN._replace(objective=rf.objective("lambdarank-ndcg", k=5, tau=8)),
        RUN._replace(settings=(("num_leaves", 7),)),
        RUN._replace(share=0.5),
    ],
)
def test_other_trials_have_other_files(tmp_path: Path, other: Trial) -> None:
    study = small_study("yahoo", keep=tmp_path)
    study.train(RUN)
    study.train(other)
    assert len(list(tmp_path.iterdir())) == study.trained == 2


def test_other_data_or_rules_have_other_files(tmp_path: Path) -> None:
    for trees in (3, 4):
        small_study("yahoo", trees=trees, keep=tmp_path).train(RUN)
    other = small_study("yahoo", keep=tmp_path)
    other.sets = {"made:yahoo": open_set("made:yahoo", queries=9, seed=0)}
    other.train(RUN)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_broken_file_is_refused_by_name(tmp_path: Path) -> None:
    study = small_study("yahoo", keep=tmp_path)
    study.train(RUN)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(rf.RankforceError, match=f"{file.name} holds no outcome.*made again"):
        load_outcome(file)


def test_an_interrupt_ends_the_study_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_study("yahoo", keep=tmp_path)
    study.train(RUN)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankforce.studies.study.Stopwatch.__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        study.train(RUN._replace(share=0.5))
    assert len(list(tmp_path.iterdir())) == 1


def test_training_validation_and_test_queries_differ() -> None:
    study = small_study()
    parts = [study.data("made:mslr", part).labels for part in (TRAIN, VALIDATION, TEST)]
    assert len({part.tobytes() for part in parts}) == 3
    assert study.data("made:mslr", TRAIN) is study.data("made:mslr", TRAIN)


def test_a_share_takes_some_of_the_training_queries_and_all_others() -> None:
    study = small_study("yahoo")
    whole, half = (study._part(RUN._replace(share=share), TRAIN) for share in (1.0, 0.5))
    assert (len(whole.sizes), len(half.sizes)) == (8, 4)
    assert {*half.query_ids} < {*whole.query_ids}
    assert len(study._part(RUN._replace(share=0.5), TEST).sizes) == 8


def test_tuned_trials_go_on_after_an_interrupt(tmp_path: Path) -> None:
    run = Trial(rf.objective("lambdagap-s+", k=5), "made:yahoo", tuned="p@5")
    sets = [open_set("made:yahoo", queries=8, seed=0)]
    rules = Rules(3, {"p@5": ["p@5"]}, trials=2, searcher="random")
    found = Study(sets, rules, keep=tmp_path).train(run)
    assert {"num_leaves", "learning_rate", "mu", "tau"} <= {*found.chosen}
    assert found.values["P@5"].shape == (8,)
    (kept,) = tmp_path.glob("*.trials.jsonl")
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1 + 2
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    again = Study(sets, rules, keep=tmp_path).train(run)
    assert again.chosen == found.chosen
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1 + 2


def test_a_set_without_validation_queries_holds_some_out(tmp_path: Path) -> None:
    folder = tmp_path / "istella-full" / "full"
    folder.mkdir(parents=True)
    lines = [f"{row % 2} qid:{query} 1:{row}" for query in range(10) for row in range(4)]
    for name in ("train.txt", "test.txt"):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = open_set(folder.parent, queries=None, seed=0)
    train, valid = (found.read(part, 1) for part in (TRAIN, VALIDATION))
    assert (len(train.sizes), len(valid.sizes)) == (8, 2)
    assert not {*train.query_ids} & {*valid.query_ids}
