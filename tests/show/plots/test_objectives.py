"""Pictures of objectives: cells, counts, forces and functions are the library's own numbers."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.show.plots.style import DOWN, UP

SCORES, LABELS = [0.04, 0.03, 0.02, 0.01, 0.00], [1, 2, 0, 0, 0]


@pytest.mark.parametrize("name", ["lambdagap-x+", "lambdarank-arpbk", "lambdarank-ndcg", "ranknet"])
def test_cells_are_rank_weights(name: str) -> None:
    objective = rf.objective(name, k=3)
    axes = rf.plots.rank_weights(objective, n=7)
    cells = axes.collections[0].get_array().reshape(7, 7)
    weights = objective.rank_weights(7)
    assert np.array_equal(cells.filled(0.0), weights)
    assert np.array_equal(cells.mask, weights == 0.0)
    assert axes.patch.get_hatch()
    assert axes.yaxis_inverted()


def test_weights_by_name_and_mistakes() -> None:
    assert rf.plots.rank_weights("lambdagap-s", k=2).get_title() == "LambdaGap-S@2"
    with pytest.raises(ValueError, match="no function of the two ranks alone"):
        rf.plots.rank_weights("lambdarank(map)")
    with pytest.raises(ValueError, match="give a single objective"):
        rf.plots.rank_weights(0.5 * rf.objective("ranknet"))
    with pytest.raises(ValueError, match="n is 1"):
        rf.plots.rank_weights("ranknet", n=1)


def test_candidate_pairs_are_counted_by_the_formulas_of_the_paper() -> None:
    n, names = 10, ["binranknet", "lambdarank-p@k", "lambdagap-s", "lambdagap-x"]
    axes = rf.plots.candidate_pairs(names, n=n)
    drawn = {line.get_label(): line.get_ydata() for line in axes.lines}
    k = np.arange(1, n)
    assert axes.lines[0].get_xdata().tolist() == k.tolist()
    # Adalia et al. 2025, section 5.5
    assert np.array_equal(drawn["BinRankNet"], np.full(n - 1, n * (n - 1) / 2))
    assert np.array_equal(drawn["LambdaRank-P@k"], k * (n - k))
    assert np.array_equal(drawn["LambdaGap-S"], n - k)
    assert np.array_equal(drawn["LambdaGap-X"], (n - k) * (n - k + 1) / 2)


def test_arrows_point_where_the_forces_do() -> None:
    objective = rf.objective("lambdarank-ndcg", k=1)
    axes = rf.plots.forces(SCORES, LABELS, {"mine": objective}, reach=0.8)
    lam, _ = objective.gradients(SCORES, LABELS)
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == len(lam)
    for arrow, force, rank in zip(arrows, lam, range(1, 6), strict=True):
        assert arrow.xyann[1] == rank
        assert rank - arrow.xy[1] == pytest.approx(0.8 * force / np.abs(lam).max())
    numbers = [text for text in axes.texts if text.get_text().startswith(("+", "-"))]
    assert [float(text.get_text()) for text in numbers] == lam.round(3).tolist()
    assert {text.get_color() for text in numbers} == {UP, DOWN}


def test_documents_stand_by_rank_whatever_the_order_of_rows() -> None:
    order = [3, 0, 4, 2, 1]
    axes = rf.plots.forces(
        [SCORES[row] for row in order],
        [LABELS[row] for row in order],
        "lambdarank-ndcg",
        k=1,
        ids=[f"d{row}" for row in order],
    )
    shown = [text.get_text() for text in axes.texts if ":" in text.get_text()]
    assert shown == ["d0: 1", "d1: 2", "d2: 0", "d3: 0", "d4: 0"]


def test_incoherent_objectives_are_named() -> None:
    names = ["lambdarank-ndcg", "lambdamart-ex static"]
    axes = rf.plots.forces(SCORES, LABELS, names, k=1)
    titles = [tick.get_text().split("\n") for tick in axes.get_xticklabels()]
    assert titles[0][-1] == "incoherent"  # Marcuzzi et al. 2023, Table 1
    assert titles[1][-1] != "incoherent"


def test_arrows_of_one_lane_do_not_meet() -> None:
    axes = rf.plots.forces(SCORES[::-1], [2, 0, 1, 0, 1], "ranknet", reach=3.0)
    spans: dict[float, list[tuple[float, float]]] = {}
    for text in axes.texts:
        if getattr(text, "arrow_patch", None) is not None:
            ends = sorted((text.xy[1], text.xyann[1]))
            spans.setdefault(round(text.xy[0], 6), []).append((ends[0], ends[1]))
    assert len(spans) > 1
    for several in spans.values():
        ordered = sorted(several)
        for (_, end), (start, _) in itertools.pairwise(ordered):
            assert end < start


def test_only_relevant_documents_and_those_without_force() -> None:
    axes = rf.plots.forces(SCORES, LABELS, "ranknet", arrows="relevant", numbers=False)
    assert sum(getattr(text, "arrow_patch", None) is not None for text in axes.texts) == 2
    still = rf.plots.forces([1, 0], [1, 1], "ranknet")
    assert len(still.lines) == 2  # a dot each


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [1, 0]}, "give one of each per document"),
        ({"arrows": "some"}, "arrows is 'some': choose 'all' or 'relevant'"),
        ({"ids": ["a"]}, "there are 1 ids for 5 documents"),
        ({"objectives": "ranknot"}, "unknown objective"),
        ({"k": 0}, "k is 0"),
    ],
)
def test_mistakes_are_one_sentence(options: dict[str, object], message: str) -> None:
    given = {"scores": SCORES, "labels": LABELS, "objectives": "ranknet"} | options
    with pytest.raises(ValueError, match=message):
        rf.plots.forces(**given)  # type: ignore[arg-type]


def test_costs_are_the_derivatives() -> None:
    logistic, sigmoid = rf.plots.pair_costs(center=1.0).lines[:2]
    x = logistic.get_xdata()
    assert logistic.get_ydata() == pytest.approx(1.0 / (1.0 + np.exp(x)), rel=1e-5)
    u = x + 1.0  # Svore et al. 2011, eq. 14
    assert sigmoid.get_ydata() == pytest.approx(np.exp(u) / (1.0 + np.exp(u)) ** 2, rel=1e-5)


def test_schedules_are_those_of_the_objective() -> None:
    moving = rf.scheduled("ranknet", "lambdarank-ndcg", schedule="exponential", rate=20)
    axes = rf.plots.schedules({"mine": moving}, trees=30)
    assert axes.lines[0].get_ydata().tolist() == [moving.weights(m)[1] for m in range(30)]
    assert len(rf.plots.schedules(trees=5).lines) == 6
    with pytest.raises(ValueError, match=r"must be made by rf\.scheduled"):
        rf.plots.schedules({"still": rf.objective("ranknet")})


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_saved_pictures_are_whole_and_the_same_again(
    ending: str, start: bytes, tmp_path: Path
) -> None:
    files = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}.{ending}"
        assert rf.plots.save(rf.plots.rank_weights("lambdagap-x", k=2), path) == path
        files.append(path.read_bytes())
    assert files[0].startswith(start)
    assert files[0] == files[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{ending}", f"b.{ending}"]


def test_pictures_that_cannot_be_saved(tmp_path: Path) -> None:
    axes = rf.plots.pair_costs()
    with pytest.raises(ValueError, match="'png', 'pdf' or 'svg'"):
        rf.plots.save(axes, tmp_path / "a.bmp")
    with pytest.raises(ValueError, match="a folder that exists"):
        rf.plots.save(axes, tmp_path / "none" / "a.png")


def test_text_of_names_is_no_formula() -> None:
    names = ["$\\bad{$", "a_b", "_hidden"]
    runs = {name: {"valid": {"NDCG@5": [0.1, 0.2]}} for name in names}
    axes = rf.plots.metric_curves(runs)
    axes.figure.savefig(io.BytesIO(), format="png")
    assert [text.get_text().strip() for text in axes.get_legend().get_texts()] == names
    listed = rf.plots.forces([1, 0], [1, 0], {names[0]: rf.objective("ranknet")}, ids=names[:2])
    listed.figure.savefig(io.BytesIO(), format="png")
