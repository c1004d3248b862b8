from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce import diagnostics
from rankforce.diagnostics.recorder import MEANINGS, MEASURES
from rankforce.models.curves import Curves

TRAIN = rf.make_data("mslr", queries=40, seed=3)
OTHER = rf.make_data("mslr", queries=25, seed=4)


class Watcher:
    """Keeps what a callback sees."""

    def __init__(self) -> None:
        self.scores: list[np.ndarray] = []
        self.moments: list[Any] = []

    def __call__(self, moment: Any) -> None:
        self.scores.append(moment.scores.copy())
        self.moments.append(moment)


def trained(*callbacks: Any, trees: int = 8, **settings: Any) -> rf.Ranker:
    ranker = rf.Ranker(
        **{"k": 5, "n_estimators": trees, "num_leaves": 7, "progress": False, "seed": 2} | settings
    )
    return ranker.fit(TRAIN, callbacks=list(callbacks))


def test_records_what_the_pure_functions_give() -> None:
    watcher, other = Watcher(), rf.objective("ranknet")
    recorder = rf.Recorder(every=3, metrics="ndcg@5, p@3", against=other, top=4)
    ranker = trained(watcher, recorder)
    curves = recorder.curves
    assert curves.trees == [1, 4, 7, 8]
    assert [*curves.series] == [*MEASURES, "metrics", "agreement"]
    assert {*curves.series} == {*MEANINGS}
    objective = ranker.settings().make_objective()
    # Ties go by the order of training, in which the pure functions get the rows.
    rows = watcher.moments[0].queries.row
    labels, ids = TRAIN.labels[rows], TRAIN.qid[rows]
    for number, trees in enumerate(curves.trees):
        scores = watcher.scores[trees - 1][rows]
        now = {"qid": ids, "norm": "lightgbm", "iteration": trees - 1}
        wide = diagnostics.incoherence(objective, scores, labels, restricted=False, **now)
        restricted = diagnostics.incoherence(objective, scores, labels, **now)
        found = {
            name: {k: v[number] for k, v in own.items()} for name, own in curves.series.items()
        }
        assert found["incoherence"]["restricted"] == restricted.share
        assert found["incoherence"]["unrestricted"] == wide.share
        assert found["incoherence"]["violations"] == restricted.violations.mean()
        assert found["incoherence"]["violations_unrestricted"] == wide.violations.mean()
        size = wide.size[wide.violations > 0].mean()
        assert found["incoherence"]["size_unrestricted"] == pytest.approx(size)
        pairs = diagnostics.effective_pairs(objective, scores, labels, qid=ids)
        assert found["pairs"]["absolute"] == pairs.counts.mean()
        assert found["pairs"]["relative"] == pytest.approx(pairs.relative.mean())
        assert found["pairs"]["without_force"] == pairs.without_force.mean()
        by_size = diagnostics.contributions_by_size(objective, scores, labels, **now)
        assert [*found["contributions_by_size"].values()] == pytest.approx(by_size.shares)
        bare = {"qid": ids, "iteration": trees - 1}
        from_labels = diagnostics.contributions(objective, scores, labels, **bare)
        assert [*found["contributions"].values()] == pytest.approx(from_labels.shares)
        mixed = diagnostics.label_mix(scores, labels, qid=ids, top=4)
        assert [*found["label_mix"].values()] == pytest.approx(mixed.shares)
        before = watcher.scores[trees - 2][rows] if trees > 1 else np.zeros(len(scores))
        changes = diagnostics.rank_changes(before, scores, qid=ids, top=4)
        assert (found["rank_changes"]["top"], found["rank_changes"]["overall"]) == changes
        factors = diagnostics.norm_factors(objective, scores, labels, qid=ids)
        assert tuple(found["norm_factors"].values()) == pytest.approx(factors.quantiles)
        means = rf.evaluate(scores, labels, "ndcg@5, p@3", qid=ids).means
        assert found["metrics"] == pytest.approx(means)
        share = diagnostics.agreement(objective, other, scores, labels, **now)
        assert found["agreement"]["share"] == share


def test_recording_does_not_change_the_model() -> None:
    assert trained(rf.Recorder(every=1)).model_.text() == trained().model_.text()


def test_a_sample_is_the_same_in_every_order_of_queries() -> None:
    one, two = (rf.Recorder(every=4, queries=10) for _ in range(2))
    trained(one)
    order = np.random.default_rng(0).permutation(len(TRAIN.sizes))
    turned = TRAIN.take_queries(order)
    named = rf.RankingData(TRAIN.features, TRAIN.labels, qid=TRAIN.qid)
    named_turned = rf.RankingData(
        turned.features, turned.labels, qid=np.repeat(TRAIN.query_ids[order], TRAIN.sizes[order])
    )
    ranker = rf.Ranker(k=5, n_estimators=4, num_leaves=7, progress=False, seed=2)
    for recorder, data in ((one, named), (two, named_turned)):
        ranker.fit(data, callbacks=[recorder])
    assert one.curves.about["data"] == "training, 10 of 40"
    for name, own in one.curves.series.items():
        for key, values in own.items():
            assert two.curves.series[name][key] == pytest.approx(values, rel=1e-6), (name, key)


def test_threads_do_not_change_what_is_recorded() -> None:
    one, two = rf.Recorder(every=2), rf.Recorder(every=2)
    trained(one, threads=1)
    trained(two, threads=2)
    assert one.curves == two.curves


@pytest.mark.parametrize(
    "objective",
    [
        rf.graded([rf.objective("lambdarank-ndcg", k=5), rf.objective("ranknet", source="clicks")]),
        rf.scheduled("lambdarank-ndcg@5", "lambdagap-x@5", rate=0.1),
        rf.objective("lambdarank-ndcg", k=5, cost="sigmoid", norm="std"),
        rf.objective("lambdamart-ex random", k=5),
    ],
)
def test_every_kind_of_objective_can_be_recorded(objective: Any) -> None:
    recorder = rf.Recorder(every=2)
    rf.Ranker(objective, n_estimators=4, num_leaves=7, progress=False).fit(
        TRAIN, callbacks=[recorder]
    )
    assert recorder.curves.trees == [1, 3, 4]
    values = [v for own in recorder.curves.series.values() for one in own.values() for v in one]
    assert np.isfinite(values).all()


def test_a_base_model_of_trees_comes_first() -> None:
    recorder = rf.Recorder("pairs", every=2)
    trained(recorder, base="regressor", base_estimators=3, trees=4)
    assert recorder.curves.trees == [1, 3, 5, 7]


def test_a_saved_model_keeps_the_curves(tmp_path: Path) -> None:
    recorder = rf.Recorder(["incoherence", "label_mix"], every=4)
    ranker = trained(recorder)
    ranker.save(tmp_path / "run")
    again = rf.load(tmp_path / "run").model_
    assert again.diagnostics == recorder.curves
    assert Curves.from_record(json.loads(json.dumps(recorder.curves.record()))) == recorder.curves


def test_records_from_before_contributions_had_signs_are_those_by_size() -> None:
    recorder = rf.Recorder("contributions", every=4, metrics="")
    trained(recorder)
    record = recorder.curves.record()
    assert [*Curves.from_record(record).series] == ["contributions"]
    old = record | {"about": {"k": "5"}}
    assert Curves.from_record(old).series == {
        "contributions_by_size": record["series"]["contributions"]
    }


def test_a_run_that_goes_on_keeps_what_was_recorded(tmp_path: Path) -> None:
    whole = rf.Recorder(["pairs", "rank_changes"], every=2)
    trained(whole)
    parts = {"checkpoint": tmp_path / "part", "checkpoint_every": 1}
    trained(rf.Recorder(["pairs", "rank_changes"], every=2), trees=5, **parts)
    second = rf.Recorder(["pairs", "rank_changes"], every=2)
    model = trained(second, **parts).model_
    assert second.curves.trees == [1, 3, 5, 7, 8]
    assert second.curves.series == whole.curves.series
    assert model.diagnostics is second.curves
    # One that records something else cannot go on with the same curves.
    third = rf.Recorder("pairs", every=2)
    with pytest.raises(ValueError, match="not those that were recorded before"):
        trained(third, trees=10, **parts)


def test_a_recorder_can_watch_one_run_after_another() -> None:
    recorder = rf.Recorder("pairs", every=4)
    trained(recorder)
    first = recorder.curves
    trained(recorder)
    assert recorder.curves == first
    assert recorder.curves is not first


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="diagnostic is 'pear': choose 'incoherence', 'pairs'"):
        rf.Recorder("pear")
    with pytest.raises(ValueError, match="every is 0"):
        rf.Recorder(every=0)
    with pytest.raises(ValueError, match="queries is -1"):
        rf.Recorder(queries=-1)


@pytest.mark.parametrize(
    "record",
    [
        [],
        {"trees": [1], "series": {}},
        {"trees": ["1"], "series": {}, "about": {}},
        {"trees": [1], "series": [], "about": {}},
        {"trees": [1], "series": {"pairs": [1.0]}, "about": {}},
        {"trees": [1], "series": {"pairs": {"a": [1.0, 2.0]}}, "about": {}},
        {"trees": [1], "series": {"pairs": {"a": ["<b>"]}}, "about": {}},
    ],
)
def test_a_damaged_record_is_refused(record: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"diagnostic"):
        Curves.from_record(record)
    trained(trees=1).save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"diagnostics": record}))
    with pytest.raises(ValueError, match=r"manifest.json: .*diagnostic"):
        rf.load(tmp_path)


def test_a_model_of_an_earlier_version_has_no_diagnostics(tmp_path: Path) -> None:
    trained(trees=1).save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    del manifest["diagnostics"], manifest["files"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    model = rf.load(tmp_path).model_
    assert model.diagnostics is None
    assert model.files == {}
