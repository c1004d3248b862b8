"""rf.trade_off: rankers over a weight, the front of two metrics, its table and its picture."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import rankforce as rf
from rankforce.experiments.trade_off import WEIGHTS, TradeOff

METRICS = ("ndcg@3", "cndcg@3(source=clicks)")
TINY = {"n_estimators": 3, "num_leaves": 4, "progress": False, "threads": 1}
TRAIN, TEST = (rf.make_data("yahoo", queries=40, seed=seed) for seed in (0, 1))
CLICKS = rf.objective("lambdarank(cndcg)", source="clicks")


def graded(weight: float) -> rf.Mixed:
    return rf.graded(["lambdarank-ndcg", CLICKS], weights=[1.0 - weight, weight])


def never(weight: float) -> Any:
    raise AssertionError(f"an objective was made for {weight}, but the mistake is elsewhere")


def made(points: list[tuple[float, float]], metrics: tuple[str, str] = METRICS) -> TradeOff:
    """A trade-off whose means are known; the weights are 0, 1, 2, ..."""
    names = [f"w = {number}" for number in range(len(points))]
    first, second = (
        rf.compare_values(
            {name: [point[axis]] * 3 for name, point in zip(names, points, strict=True)},
            metric=metric,
        )
        for axis, metric in enumerate(metrics)
    )
    return TradeOff([float(number) for number in range(len(points))], (first, second))


def naive_front(points: list[tuple[float, float]], higher: tuple[bool, bool]) -> list[float]:
    """The numbers of the points that no other dominates, by the definition."""

    def at_least(a: float, b: float, is_higher: bool) -> bool:
        return a >= b if is_higher else a <= b

    front = []
    for number, point in enumerate(points):
        dominated = False
        for other in points:
            as_good = [at_least(other[axis], point[axis], higher[axis]) for axis in (0, 1)]
            if all(as_good) and other != point:
                dominated = True
        if not dominated:
            front.append(float(number))
    return front


@pytest.fixture(scope="module")
def trained() -> TradeOff:
    return rf.trade_off(graded, TRAIN, TEST, metrics=METRICS, weights=[0, 0.25, 0.9], **TINY)


class TestTraining:
    def test_points_are_means_of_rankers_of_ones_own(self, trained: TradeOff) -> None:
        assert trained.weights == [0.0, 0.25, 0.9]
        for weight, point in zip(trained.weights, trained.points, strict=True):
            scores = rf.Ranker(graded(weight), **TINY).fit(TRAIN).predict(TEST)
            found = [rf.compare({"one": scores}, TEST, metric=one).means["one"] for one in METRICS]
            assert point == tuple(found)

    def test_comparisons(self, trained: TradeOff) -> None:
        for found, metric in zip(trained.comparisons, METRICS, strict=True):
            assert found.metric == rf.metric(metric)
            assert found.baseline == "w = 0"
            assert list(found.values) == ["w = 0", "w = 0.25", "w = 0.9"]
            assert found.test.name == "t"

    def test_another_test_and_metrics_of_ones_own(self) -> None:
        metrics = (rf.metric("mrr"), rf.metric(lambda scores, labels: float(len(labels))))
        found = rf.trade_off(
            lambda weight: rf.objective("lambdarank-ndcg", sigma=weight), TRAIN, TEST,
            metrics=metrics, weights=(0.5, 2), significance="bootstrap", **TINY,
        )  # fmt: skip
        assert found.comparisons[0].test.name == "bootstrap"
        assert [one.metric for one in found.comparisons] == list(metrics)
        mean_length = np.mean(TEST.sizes)
        assert [second for _, second in found.points] == pytest.approx([mean_length] * 2)

    def test_the_usual_weights(self) -> None:
        asked = []

        def objective(weight: float) -> Any:
            asked.append(weight)
            return graded(weight)

        one = TINY | {"n_estimators": 1}
        found = rf.trade_off(objective, TRAIN, TEST, metrics=METRICS, **one)
        assert asked == found.weights == list(WEIGHTS)

    def test_weights_that_look_alike(self) -> None:
        weights = [0.1, 0.1000001]
        found = rf.trade_off(graded, TRAIN, TEST, metrics=METRICS, weights=weights, **TINY)
        assert found.weights == weights
        assert len(found.points) == 2


class TestFront:
    # Points on a small grid tie often, in one metric and in both.
    GRIDS = [  # noqa: RUF012 - nothing changes it
        [tuple(row) for row in np.random.default_rng(seed).integers(0, 5, (9, 2)) / 8.0]
        for seed in range(30)
    ]

    @pytest.mark.parametrize(
        ("metrics", "higher"),
        [
            (("ndcg@3", "mrr"), (True, True)),
            (("arp", "ndcg@3"), (False, True)),
            (("ndcg@3", "arpb@1"), (True, False)),
            (("arp", "arpb@1"), (False, False)),
        ],
    )
    def test_is_the_naive_one(self, metrics: tuple[str, str], higher: tuple[bool, bool]) -> None:
        assert tuple(rf.metric(name).higher_is_better for name in metrics) == higher
        for points in self.GRIDS:
            found = made(points, metrics)
            assert found.points == points
            assert found.front == naive_front(points, higher)

    def test_by_hand(self) -> None:
        points = [(0.5, 0.2), (0.5, 0.3), (0.4, 0.3), (0.3, 0.5), (0.3, 0.5), (0.2, 0.1)]
        assert made(points).front == [1.0, 3.0, 4.0]
        assert made(points, ("arp", "arpb@1")).front == [5.0]
        assert made(points, ("arp", "ndcg@3")).front == [3.0, 4.0, 5.0]

    def test_all_alike(self) -> None:
        assert made([(0.5, 0.2)] * 3).front == [0.0, 1.0, 2.0]

    def test_of_rankers(self, trained: TradeOff) -> None:
        front = naive_front(trained.points, (True, True))
        assert trained.front == [trained.weights[int(number)] for number in front]


class TestTable:
    def test_text(self, trained: TradeOff) -> None:
        head, _, *rows = trained.table().split("\n\n")[0].splitlines()
        assert head.split() == ["system", "NDCG@3", "CNDCG@3(source=clicks)"]
        for row, weight, point in zip(rows, trained.weights, trained.points, strict=True):
            assert row.startswith(f"w = {weight:g} ")
            shown = [float(number) for number in re.findall(r"\d\.\d{4}", row)]
            assert shown == pytest.approx(point, abs=5e-5)
        assert "better than w = 0" in trained.table()

    def test_programs(self, trained: TradeOff) -> None:
        rows = json.loads(trained.table("json", digits=6))
        assert [row["system"] for row in rows] == ["w = 0", "w = 0.25", "w = 0.9"]
        shown = [float(row["NDCG@3"].rstrip("*")) for row in rows]
        assert shown == pytest.approx([first for first, _ in trained.points], abs=5e-7)

    def test_stars_where_one_is_better(self) -> None:
        rng = np.random.default_rng(0)
        old = rng.random(200) / 2
        values = {"w = 0": old, "w = 1": old + 0.1 + rng.random(200) / 9}
        first, second = (rf.compare_values(values, metric=name, test="t") for name in METRICS)
        lines = TradeOff([0.0, 1.0], (first, second)).table().splitlines()
        assert lines[3].count("***") == 2
        assert "*" not in lines[2]


POINTS = [(0.5, 0.2), (0.45, 0.3), (0.4, 0.4), (0.3, 0.3)]


class TestPlot:
    def test_png(self, tmp_path: Path) -> None:
        from matplotlib.image import imread

        target = tmp_path / "front.png"
        assert made(POINTS).plot(target) == target
        assert target.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        picture = imread(target)
        assert picture.shape == (800, 1000, 4)  # 5 x 4 inches at 200 dots
        assert len(np.unique(picture.reshape(-1, 4), axis=0)) > 10  # not a blank sheet
        assert [file.name for file in tmp_path.iterdir()] == ["front.png"]

    def test_svg(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import matplotlib

        monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # letters, not curves
        root = ElementTree.parse(made(POINTS).plot(str(tmp_path / "front.svg"))).getroot()
        assert root.tag.endswith("svg")
        texts = {"".join(node.itertext()).strip() for node in root.iter() if "text" in node.tag}
        assert {"NDCG@3", "CNDCG@3(source=clicks)", "w = 0", "w = 1", "w = 2", "w = 3"} <= texts

    @pytest.mark.parametrize(
        ("name", "start"),
        [("front.pdf", b"%PDF"), ("FRONT.PNG", b"\x89PNG"), ("front", b"\x89PNG")],
    )
    def test_other_names(self, name: str, start: bytes, tmp_path: Path) -> None:
        assert made(POINTS).plot(tmp_path / name).read_bytes().startswith(start)

    @pytest.mark.parametrize(
        "points",
        [
            POINTS,
            [(0.61, 0.43)] * 2,
            [(0.5, 0.3), (0.5, 0.3), (0.5001, 0.3002), (0.48, 0.32), (0.42, 0.36), (0.2, 0.4)],
            [(0.5, 0.3 + number / 100) for number in range(8)],
            [(0.5 + number / 100, 0.3 - number / 30) for number in range(6)],
            [(0.5, 0.5)] * 20,
        ],
    )
    def test_labels_lie_in_the_frame_and_not_on_each_other(
        self, points: list[tuple[float, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from matplotlib.figure import Figure

        drawn: list[tuple[Any, list[Any]]] = []
        save = Figure.savefig

        def keep(figure: Figure, *arguments: Any, **options: Any) -> None:
            axes = figure.axes[0]
            drawn.append((axes, [label.get_window_extent() for label in axes.texts]))
            save(figure, *arguments, **options)

        monkeypatch.setattr(Figure, "savefig", keep)
        made(points).plot(tmp_path / "front.png")
        axes, boxes = drawn[0]
        named = sorted(
            int(number) for label in axes.texts for number in re.findall(r"\d+", label.get_text())
        )
        assert named == list(range(len(points)))
        for number, box in enumerate(boxes):
            assert axes.bbox.count_contains(box.get_points()) == 2
            assert box.count_overlaps(boxes[:number]) == 0

    def test_of_metrics_that_are_better_when_lower(self, tmp_path: Path) -> None:
        points = [(120.0, 0.3), (130.0, 0.4), (140.0, 0.2)]
        assert made(points, ("arp", "ndcg@3")).plot(tmp_path / "front.svg").exists()

    def test_without_matplotlib(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("matplotlib", "matplotlib.figure"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ValueError, match=r"matplotlib") as caught:
            made(POINTS).plot(tmp_path / "front.png")
        assert str(caught.value) == "pictures need matplotlib: pip install 'rankforce[plots]'"
        assert caught.value.__suppress_context__
        assert not list(tmp_path.iterdir())

    def test_unknown_ending(self, tmp_path: Path) -> None:
        message = "the ending of a picture is 'xyz': choose 'png', 'pdf' or 'svg'"
        with pytest.raises(ValueError, match=re.escape(message)):
            made(POINTS).plot(tmp_path / "front.xyz")
        assert not list(tmp_path.iterdir())

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"expected the name of a file in a folder"):
            made(POINTS).plot(tmp_path / "nowhere" / "front.png")


class TestMistakes:
    """All of them show before anything is trained."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"weights": []}, "a trade-off needs two weights or more, got []"),
            ({"weights": [0.5]}, "a trade-off needs two weights or more, got [0.5]"),
            ({"weights": [0, 0.5, 0.0]}, "the weight 0.0 is given twice"),
            ({"weights": [0, "a"]}, "weight is 'a': it must be a finite number"),
            ({"weights": [0, float("nan")]}, "weight is nan: it must be a finite number"),
            ({"weights": 0.5}, "weights is 0.5: it must be a list of numbers"),
            ({"weights": "0,1"}, "weights is '0,1': it must be a list of numbers"),
            ({"metrics": "ndcg@3"}, "metrics is 'ndcg@3': a trade-off is between two metrics"),
            ({"metrics": ["mrr"]}, "metrics are MRR: a trade-off is between two metrics"),
            ({"metrics": []}, "metrics are none: a trade-off is between two metrics"),
            (
                {"metrics": ["mrr", "map", "err"]},
                "metrics are MRR, MAP, ERR: a trade-off is between two metrics",
            ),
            (
                {"metrics": ["ndcg@3", "NDCG@3"]},
                "both metrics are NDCG@3: a trade-off is between two metrics",
            ),
            ({"metrics": ["ndcg@3", "nothing@3"]}, "nothing"),
            ({"metrics": ["ndcg@3", "ndcg@3(source=sales)"]}, "sales"),
            ({"significance": "magic"}, "significance is 'magic': choose"),
        ],
    )
    def test_arguments(self, options: dict[str, Any], message: str) -> None:
        given = {"metrics": METRICS, "weights": [0, 0.5]} | options
        with pytest.raises(ValueError, match=re.escape(message)):
            rf.trade_off(never, TRAIN, TEST, **given)

    def test_parameters_of_the_ranker(self) -> None:
        with pytest.raises(ValueError, match="learning_rate is -1"):
            rf.trade_off(graded, TRAIN, TEST, metrics=METRICS, learning_rate=-1, **TINY)

    def test_an_objective_that_cannot_be_made(self) -> None:
        with pytest.raises(ValueError, match="weight is -1"):
            rf.trade_off(graded, TRAIN, TEST, metrics=METRICS, weights=[0, 2], **TINY)

    def test_format_of_the_table(self, trained: TradeOff) -> None:
        with pytest.raises(ValueError, match="pdf"):
            trained.table("pdf")
