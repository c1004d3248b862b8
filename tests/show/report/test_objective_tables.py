"""Objectives as data: tables are shared, and what has none is left out with a reason."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.show.report.objective_tables import name_of, objective_data

GRADES = {None: [0.0, 1.0, 2.0, 4.0]}


def part(objective: Any, labels: Any = GRADES, longest: int = 6, **more: Any) -> dict[str, Any]:
    """The first part of one objective, with tables in place of their numbers."""
    written = objective_data([objective], labels=labels, longest=longest, **more)
    assert not written.notes
    found = dict(written.data["list"][0]["parts"][0])
    for key in ("labels", "gains", "position", "distance", "correction", "ideal_values"):
        if found[key] is not None:
            found[key] = written.data["tables"][found[key]]
    return found


def test_tables_are_formulas_of_the_rank() -> None:
    found = part(rf.objective("lambdaloss-ndcg top-k", k=2))
    d = [1 / np.log2(1 + r) for r in range(1, 8)]
    assert found["gains"] == [0.0, 1.0, 3.0, 15.0]
    assert found["distance"] == pytest.approx([0.0] + [d[m - 1] - d[m] for m in range(1, 6)])
    assert found["correction"] == pytest.approx([1.0, 1.0, *(1 / (1 - d[r]) for r in range(2, 6))])
    assert found["ideal_values"] == pytest.approx([d[0], d[1], 0.0, 0.0, 0.0, 0.0])
    assert found["pairs"] == {"cutoff": 2, "extended": None, "missed": "deficit"}
    assert found["position"] is None


def test_every_objective_is_json_without_infinity() -> None:
    made = [
        rf.objective(entry.name, k=5 if entry.needs_k else None)
        for entry in rf.objectives()
        if not entry.of_clicks
    ]
    written = objective_data(made, labels=GRADES, longest=9)
    assert not written.notes
    assert [one["name"] for one in written.data["list"]] == [name_of(one) for one in made]
    json.dumps(written.data, allow_nan=False)


def test_equal_tables_are_kept_once() -> None:
    made = [rf.objective("lambdarank-ndcg", k=k) for k in (3, 5)]
    first, second = (
        one["parts"][0] for one in objective_data(made, labels=GRADES, longest=9).data["list"]
    )
    assert first["position"] == second["position"]
    assert first["gains"] == second["gains"]
    assert first["ideal_values"] != second["ideal_values"]


def test_only_labels_that_are_shown_have_gains() -> None:
    """The largest label of the data still decides what ERR makes of the others."""
    found = part(rf.objective("lambdarank(err)"), shown={None: [1.0, 0.0]})
    assert found["labels"] == [0.0, 1.0]
    assert found["gains"] == [0.0, 1 / 16]


def test_binary_objectives_see_two_labels() -> None:
    found = part(rf.objective("lambdarank-p@k", k=3))
    assert (found["labels"], found["gains"]) == ([0.0, 1.0], [0.0, 1.0])


def test_sources_by_the_names_of_the_page() -> None:
    clicks = {None: [0.0, 1.0], "click": [0.5, float("nan")]}
    both = rf.graded(["lambdarank-ndcg@3", rf.objective("ranknet", source="click")])
    written = objective_data([both], labels=clicks, longest=3)
    parts = written.data["list"][0]["parts"]
    assert [one["source"] for one in parts] == [None, "click"]
    assert [one["above"] for one in parts] == [[], [None]]
    assert [one["leave_out_zeros"] for one in parts] == [False, True]
    named = rf.objective("ranknet", source="grade")
    assert part(named, clicks, label_name="grade")["source"] is None


def test_weights_are_those_of_the_iteration() -> None:
    moving = rf.scheduled("ranknet", "lambdarank-ndcg", schedule="linear", rate=0.25)
    written = objective_data([moving, moving], labels=GRADES, longest=3, iteration=[0, 1])
    weights = [[part["weight"] for part in one["parts"]] for one in written.data["list"]]
    assert weights == [[1.0, 0.0], [0.75, 0.25]]
    assert [one["iteration"] for one in written.data["list"]] == [0, 1]


def near(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return 1.0 / abs(rank_hi - rank_lo)


LEFT_OUT = {
    "function": (rf.objective(near), GRADES, "Python function"),
    "sum within a sum": (
        0.5 * rf.mix([(1.0, "ranknet"), (2.0, "lambdarank-ndcg")], norm="std"),
        GRADES,
        "a part of it is a sum with a norm",
    ),
    "source": (rf.objective("ranknet", source="clicks"), GRADES, "'clicks', but those there are"),
    "labels": (rf.objective("lambdarank-ndcg"), {None: [-1.0, 2.0]}, "label -1 is negative"),
    "gaps": (
        rf.objective("lambdamart-ex all", k=3, source="click"),
        {None: [1.0], "click": [float("nan"), 1.0]},
        "labels of all documents",
    ),
    "tier": (
        rf.graded(["ranknet", rf.objective("lambdarank(map)", source="click")]),
        {None: [1.0], "click": [1.0]},
        "labels of all documents",
    ),
}


@pytest.mark.parametrize("why", LEFT_OUT)
def test_what_a_page_cannot_compute_is_left_out_with_a_note(why: str) -> None:
    objective, labels, words = LEFT_OUT[why]
    given = [objective] if why == "labels" else [objective, rf.objective("ranknet")]
    written = objective_data(given, labels=labels, longest=4)
    (note,) = written.notes
    assert words in note
    assert note.startswith(name_of(objective))
    assert [one["name"] for one in written.data["list"]] == ["RankNet"] * (len(given) - 1)


@pytest.mark.parametrize(
    ("objective", "name"),
    [
        (rf.objective("lambdarank-p@k", k=3), "LambdaRank-P@3"),
        (rf.objective("ranknet", source="click"), "RankNet on click"),
        (rf.objective("lambdagap-x+", k=2, mu=0.5, seed=3), "LambdaGap-X+@2 (mu=0.5, seed=3)"),
        (
            rf.objective("lambdamart-ex all", k=2, missed="label"),
            "LambdaMART-eX all@2 (missed=label)",
        ),
        (rf.objective("preferences", sigma=2), "Preferences (sigma=2)"),
        (0.5 * rf.objective("ranknet"), "0.5 RankNet"),
    ],
)
def test_names(objective: Any, name: str) -> None:
    assert name_of(objective) == name
