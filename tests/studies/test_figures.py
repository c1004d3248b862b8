"""The pictures of the papers: rankers trained once, the library's numbers, computed sentences."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.studies import adalia, marcuzzi, svore, tunys
from rankforce.studies.figure import Finding
from rankforce.studies.make import FIGURES, choose, count_held, make_figures
from rankforce.studies.sets import NO_VIEWS, TRAIN
from rankforce.studies.study import AGAINST, Study
from tests.studies.small import small_study


@pytest.fixture(scope="module")
def study() -> Study:
    made = small_study()
    made.plan([*svore.wants(made), *svore.click_wants(made)])
    return made


def test_every_picture_has_its_name_source_and_caption() -> None:
    assert len(FIGURES) == 4 + 7 + 8 + 5
    for name, figure in FIGURES.items():
        assert name == figure.name
        assert figure.caption.endswith(".")
        assert re.search(r"20(05|10|11|15|23|25)", figure.source)


def test_pictures_that_share_a_ranker_plan_it_once() -> None:
    made = small_study()
    for name in ("adalia-3", "adalia-4", "adalia-a1"):
        made.plan(FIGURES[name].wants(made))
    assert len(made.planned) == len(adalia.NAMES) == 14
    made.plan(FIGURES["adalia-6"].wants(made))
    # Four hybrids at four more mu: mu = 1 and the parts are there already.
    assert len(made.planned) == 14 + 4 * 4


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
    made = small_study(trees=3)
    made.plan(FIGURES["tunys-training"].wants(made))
    axes = tunys.draw_training(made).axes.figure.axes
    shown = [one.get_xlabel().removeprefix("trees (learning rate ") for one in axes]
    assert shown == ["1)", "0.5)", "0.1)", "0.01)"]
    for one, rate in zip(axes, (1.0, 0.5, 0.1, 0.01), strict=True):
        found = [line.get_ydata()[-1] for line in one.lines if len(line.get_ydata()) == 3]
        expected = made.history(tunys.at_rate(rate), TRAIN, "ndcg@3")[-1]
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


def test_clicks_against_grades_by_hand() -> None:
    """Svore et al. 2011, section 4.2: all pairs, where unseen documents have 0 clicks, and pairs of
    clicked documents of one grade."""
    scores, grades, clicks = [3, 2, 1, 0], [2, 1, 1, 0], [math.nan, 0.2, 0.6, 0.1]
    seen = [0.0 if math.isnan(click) else click for click in clicks]
    rows = range(len(scores))

    def forces(gains: list[float], pairs: list[tuple[int, int]]) -> list[float]:
        best = sorted(gains, reverse=True)
        ideal = sum(gain / math.log2(2 + rank) for rank, gain in enumerate(best))
        lam = [0.0] * len(rows)
        for hi, lo in pairs:
            apart = abs(1 / math.log2(2 + hi) - 1 / math.log2(2 + lo))  # ranks are rows
            weight = (gains[hi] - gains[lo]) * apart / ideal
            force = weight / (1 + math.exp(scores[hi] - scores[lo]))
            lam[hi] += force
            lam[lo] -= force
        return lam

    every = [(j, k) for j in rows for k in rows if seen[j] > seen[k]]
    one_grade = [(j, k) for j, k in every if seen[k] > 0 and grades[j] == grades[k]]
    worth = [2 ** (4 * click) - 1 for click in seen]
    labels = {"grade": grades, "clicks": clicks, NO_VIEWS: seen}
    both = [forces(worth, every), forces(worth, one_grade)]
    by_grades = [(j, k) for j in rows for k in rows if grades[j] > grades[k]]
    wanted = forces([2.0**grade - 1 for grade in grades], by_grades)
    baseline = svore.baseline().objective
    assert baseline.gradients(scores, labels)[0] == pytest.approx(wanted, abs=1e-6)
    shares = []
    for objective, expected in zip(AGAINST.values(), both, strict=True):
        assert objective.gradients(scores, labels)[0] == pytest.approx(expected, abs=1e-6)
        shares.append(rf.agreement(baseline, objective, scores, labels))
    # Grades push the first document up and the others down.
    assert shares == [1 / 4, 3 / 4]


def test_documents_never_shown_have_no_clicks(study: Study) -> None:
    sources = study.data("made:mslr", TRAIN).sources
    unseen = np.isnan(sources["clicks"])
    assert unseen.any()
    assert not sources[NO_VIEWS][unseen].any()
    assert np.array_equal(sources[NO_VIEWS][~unseen], sources["clicks"][~unseen])


def test_a_page_counts_the_claims_of_the_papers_apart() -> None:
    claim, ours = Finding("a", "b", True), Finding("a", "b", False, is_of_paper=False)
    assert count_held([claim]) == "Of the papers' claims 1 of 1 hold."
    assert count_held([claim, ours, claim]) == (
        "Of the papers' claims 2 of 2 hold. Of our own expectations 0 of 1 hold."
    )


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
