"""The pictures of the papers: rankers trained once, the library's numbers, computed sentences."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.studies import adalia, marcuzzi, svore, tunys
from rankforce.studies.make import FIGURES, choose, make_figures
from rankforce.studies.study import TRAIN, VALIDATION, Finding, Study, Trial, Want


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def study(said: list[str]) -> Study:
    made = Study(queries=8, trees=4, seed=0, say=said.append)
    made.plan([Want(Trial(rf.objective("lambdarank-ndcg", k=5), "yahoo"), ("incoherence",))])
    made.plan([Want(Trial(rf.objective("lambdarank-ndcg", k=5), "yahoo"), ("pairs",))])
    made.plan(svore.wants())
    return made


def test_a_ranker_is_trained_once_and_records_all_that_is_wanted(
    study: Study, said: list[str]
) -> None:
    run = Trial(rf.objective("lambdarank-ndcg", k=5), "yahoo")
    first = study.train(run)
    assert study.train(Trial(rf.objective("LambdaRank NDCG", k=5), "yahoo")) is first
    assert said == ["training 1 of 2: LambdaRank-NDCG@5 on yahoo, learning rate 0.1"]
    assert sorted(first.curves.series) == ["incoherence", "pairs"]
    assert first.curves.trees == [1, 2, 3, 4]
    assert len(study.history(run, VALIDATION, "p@5")) == 4
    expected = first.ranker.score(study.data("yahoo", TRAIN), metric="ndcg@3")
    assert study.history(run, TRAIN, "NDCG@3")[-1] == pytest.approx(expected)


def test_training_validation_and_test_queries_differ(study: Study) -> None:
    parts = [study.data("mslr", part).labels for part in (TRAIN, VALIDATION, "test")]
    assert len({part.tobytes() for part in parts}) == 3
    assert study.data("mslr", TRAIN) is study.data("mslr", TRAIN)


def test_every_picture_has_its_name_source_and_caption() -> None:
    assert len(FIGURES) == 4 + 7 + 7 + 5
    for name, figure in FIGURES.items():
        assert name == figure.name
        assert figure.caption.endswith(".")
        assert re.search(r"20(05|10|11|15|23|25)", figure.source)


def test_pictures_that_share_a_ranker_plan_it_once() -> None:
    made = Study(queries=8, trees=4, seed=0)
    for name in ("adalia-3", "adalia-4", "adalia-a1"):
        made.plan(FIGURES[name].wants())
    assert len(made._records) == len(adalia.NAMES) == 14
    made.plan(FIGURES["adalia-6"].wants())
    # Four hybrids at four more mu: mu = 1 and the parts are there already.
    assert len(made._records) == 14 + 4 * 4


def test_forces_of_the_four_examples() -> None:
    lists = marcuzzi.examples()
    is_incoherent = {}
    for name, labels in lists.items():
        scores = marcuzzi.ramp(len(labels))
        lam, _ = rf.objective("lambdarank-ndcg", k=1).gradients(scores, labels)
        is_incoherent[name] = bool(lam[0] > lam[labels.index(2)])
    assert is_incoherent == {"(a)": True, "(b)": False, "(c)": True, "(d)": False}
    shorter = [label for number, label in enumerate(lists["(c)"]) if number != 1]
    assert not marcuzzi.is_incoherent(shorter)  # (c) is the shortest such list


def test_full_sets_are_those_of_the_strategies() -> None:
    found = {
        name: marcuzzi.full_set(rf.objective(f"lambdamart-ex {name}", k=2), marcuzzi.EXAMPLE)
        for name in marcuzzi.EX
    }
    missed = {row for row, grade in enumerate(marcuzzi.EXAMPLE) if grade == 2}
    assert found["static"] == {0, 1, min(missed)}
    assert found["all"] == {0, 1} | missed
    assert len(found["random"] & missed) == 1


def test_training_is_shown_at_the_four_shrinkages_of_the_slides() -> None:
    made = Study(queries=8, trees=3, seed=0)
    made.plan(FIGURES["tunys-training"].wants())
    axes = tunys.draw_training(made).axes.figure.axes
    shown = [one.get_xlabel().removeprefix("trees (learning rate ") for one in axes]
    assert shown == ["1)", "0.5)", "0.1)", "0.01)"]
    for one, rate in zip(axes, (1.0, 0.5, 0.1, 0.01), strict=True):
        found = [line.get_ydata()[-1] for line in one.lines if len(line.get_ydata()) == 3]
        expected = made.history(svore.baseline(rate), TRAIN, "ndcg@3")[-1]
        assert expected in found


def test_pairwise_errors_of_the_two_lists() -> None:
    before, after = tunys.list_of(tunys.BEFORE), tunys.list_of(tunys.AFTER)
    assert tunys.count_errors(*before) == 13
    assert tunys.count_errors(*after) == 11
    assert rf.metric("ndcg")(*after)[0] < rf.metric("ndcg")(*before)[0]


def test_ndcg_of_the_example_by_hand(study: Study) -> None:
    axes = tunys.draw_ndcg(study).axes
    gains = np.array([2.0**grade - 1.0 for grade in tunys.GRADED])
    discounts = 1.0 / np.log2(1.0 + np.arange(1, len(gains) + 1))
    heights = [bar.get_height() for bar in axes.containers[0]]
    assert heights == pytest.approx(gains * discounts)
    value = (gains * discounts).sum() / (np.sort(gains)[::-1] * discounts).sum()
    assert axes.get_title("right") == f"NDCG = {value:.3f}"


def test_svore_pictures_show_the_recorded_curves(study: Study) -> None:
    trained = study.train(svore.baseline())
    drawn = svore.draw_agreement(study)
    for line, curves in zip(drawn.axes.lines, trained.agreement.values(), strict=True):
        assert line.get_ydata().tolist() == curves.series["agreement"]["share"]
    share = np.mean(svore.low_share(trained.curves, "contributions"))
    (finding,) = svore.draw_contributions(study).findings
    assert f"{100 * share:.0f} %" in finding.seen
    assert finding.holds == (share > 0.7)


def test_a_finding_says_whether_it_holds() -> None:
    assert str(Finding("a", "b", True)).endswith("Here: b: as in the paper.")
    assert str(Finding("a", "b", False)).endswith("Here: b: not as in the paper.")
    assert (
        str(Finding("a", "b", False, is_of_paper=False)) == "Expected: a. Here: b: not as expected."
    )


def test_pictures_by_name_come_in_the_order_of_the_table() -> None:
    assert [one.name for one in choose(["svore-5", "ADALIA-1"])] == ["adalia-1", "svore-5"]
    assert len(choose(None)) == len(FIGURES)
    with pytest.raises(ValueError, match="there is no picture to draw"):
        choose([])


def test_progress_tells_of_each_picture(tmp_path: Path) -> None:
    stream = io.StringIO()
    paths = make_figures(tmp_path / "new" / "folder", only=["svore-6"], format="svg", stream=stream)
    assert [path.name for path in paths] == ["svore-6.svg", "index.md"]
    lines = stream.getvalue().splitlines()
    assert all(str(path) in line for path, line in zip(paths, lines, strict=True))
    assert "![svore-6](svore-6.svg)" in paths[1].read_text(encoding="utf-8")
