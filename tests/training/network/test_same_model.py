"""One seed, one model: killed, interrupted, in another order of queries, on several threads."""

from __future__ import annotations

import json
import math
import shutil
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.files import name_beside
from tests import ctrl_c
from tests.training.network.small import (
    KINDS,
    QID,
    SGD,
    TRAIN,
    VALID,
    X,
    Y,
    make_small,
    ranker,
    same_weights,
    weights,
)
from tests.training.test_checkpoint import ROOT, kill_runs, record_of

pytestmark = pytest.mark.slow  # CI runs it

KILLED_AFTER, SAVED = 5, 4  # epochs; a checkpoint is written every second
ONE_STEP = {"epochs": 1}
EPOCHS = 8
RANKNET, NDCG = rf.objective("ranknet"), rf.objective("lambdarank-ndcg", k=3)
RUNS: dict[str, dict[str, Any]] = {
    "linear": {},
    "mlp": {"kind": "mlp"},
    "attention": {"kind": "attention"},
    "sgd": SGD,
    "noise": {"kind": "mlp", "noise": 0.2},
    "random objective": {"objective": "lambdamart-ex random", "k": 5},
    "schedule": {"objective": rf.scheduled(RANKNET, NDCG, schedule="linear", start=0.1, rate=0.1)},
    "early stopping": {"kind": "mlp", "early_stopping_rounds": 4, "epochs": 40},
    "early stopping, sgd": SGD | {"early_stopping_rounds": 4, "epochs": 40},
}


def fit(run: dict[str, Any], folder: Any = None, **given: Any) -> rf.Ranker:
    more = {"epochs": EPOCHS, "seed": 1, "checkpoint": folder, "checkpoint_every": 2}
    return ranker(**more | run).fit(TRAIN, eval_set=[VALID], **given)


def file_of(folder: Any) -> bytes:
    return (Path(folder) / "model.safetensors").read_bytes()


def assert_same_run(one: rf.Ranker, other: rf.Ranker, data: rf.RankingData = VALID) -> None:
    assert same_weights(one, other)
    assert one.best_iteration_ == other.best_iteration_
    assert one.evals_result_ == other.evals_result_
    assert np.array_equal(one.predict(data), other.predict(data))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return kill_runs(tmp_path_factory.mktemp("killed"), __name__, RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_killed_and_resumed(name: str, killed: dict[str, Path], tmp_path: Path) -> None:
    run, folder = RUNS[name], tmp_path / "killed"
    shutil.copytree(killed[name], folder)
    assert record_of(folder)["epochs"] == SAVED
    assert not record_of(folder)["finished"]
    whole, resumed = fit(run, tmp_path / "whole"), fit(run, folder)
    assert whole.model_.steps > KILLED_AFTER
    assert_same_run(resumed, whole)
    assert file_of(folder) == file_of(tmp_path / "whole")
    assert record_of(folder) == record_of(tmp_path / "whole")


def test_a_checkpoint_is_a_model(killed: dict[str, Path]) -> None:
    found = rf.load(killed["mlp"])
    assert (found.model_.steps, found.model_.finished) == (SAVED, False)
    assert np.isfinite(found.predict(VALID)).all()


@pytest.mark.parametrize("name", ["early stopping", "early stopping, sgd"])
def test_a_run_that_stopped_early(name: str, tmp_path: Path) -> None:
    whole = fit(RUNS[name], tmp_path)
    assert whole.best_iteration_ == whole.n_estimators_ == whole.model_.steps - 4 < 36
    before = file_of(tmp_path)
    assert np.array_equal(rf.load(tmp_path).predict(VALID), whole.predict(VALID))
    assert_same_run(fit(RUNS[name], tmp_path), whole)  # it is over already
    assert file_of(tmp_path) == before
    patient = RUNS[name] | {"early_stopping_rounds": None}
    assert_same_run(fit(patient, tmp_path), fit(patient))


@pytest.mark.parametrize("name", ["mlp", "sgd", "early stopping"])
def test_interrupted_by_the_user(name: str, tmp_path: Path) -> None:
    def interrupt(moment: Any) -> None:
        if moment.iteration == 4:
            raise KeyboardInterrupt

    short = fit(RUNS[name], tmp_path / "a", callbacks=[interrupt])
    assert (short.model_.steps, short.model_.finished) == (5, False)
    assert np.isfinite(short.predict(VALID)).all()
    assert_same_run(rf.load(tmp_path / "a"), short)
    assert_same_run(fit(RUNS[name], tmp_path / "a"), fit(RUNS[name]))


def test_interrupted_while_measuring(tmp_path: Path) -> None:
    """The epoch that was not measured is made again, from what AdamW knew before it."""
    calls = 0

    def top(scores: Any, labels: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 4 * len(VALID.sizes) + 2:
            raise KeyboardInterrupt
        return float(labels[np.argmax(scores)])

    run = RUNS["mlp"] | {"eval_metric": rf.metric(top, name="top")}
    short = fit(run, tmp_path)
    assert short.model_.steps == 4
    assert np.isfinite(short.predict(VALID)).all()
    assert_same_run(fit(run, tmp_path), fit(run))


def test_interrupted_before_the_first_epoch() -> None:
    def top(scores: Any, labels: Any) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit({"eval_metric": rf.metric(top, name="top")})


def test_killed_between_the_two_files(tmp_path: Path) -> None:
    """The arrays are of an epoch that the manifest does not know yet, and another one waits."""

    def keep(moment: Any) -> None:
        if moment.iteration in (3, 4):  # the checkpoint of the epoch before
            shutil.copytree(tmp_path / "a", tmp_path / str(moment.iteration))

    run = RUNS["mlp"] | {"checkpoint_every": 1}
    whole = fit(run, tmp_path / "a", callbacks=[keep])
    old, new = tmp_path / "3", tmp_path / "4"
    shutil.copy(new / "model.safetensors", old)
    shutil.copy(new / "manifest.json", name_beside(old / "manifest.json", "next"))
    assert record_of(old)["epochs"] == 3
    found = rf.load(old).model_.steps
    assert_same_run(fit(run, old), whole)
    assert found == 4


def test_ctrl_c_leaves_a_usable_model(tmp_path: Path) -> None:
    script = """
    import sys
    from tests.training.network.test_same_model import VALID, fit
    run = {"kind": "mlp", "epochs": 10**6, "checkpoint_every": 1}
    one = fit(run, sys.argv[1], callbacks=[lambda moment: print(moment.iteration, flush=True)])
    print("usable", len(one.predict(VALID)), flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "run")]
    with ctrl_c.started(command, cwd=ROOT, stdout=-1, stderr=-1, text=True) as process:
        for _ in range(3):
            assert process.stdout.readline().strip().isdigit()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=ctrl_c.LONG)
    assert out.splitlines()[-1] == f"usable {VALID.rows}", errors
    assert process.returncode == 0
    done = record_of(tmp_path / "run")["epochs"]
    assert done >= 3
    assert np.isfinite(rf.load(tmp_path / "run").predict(VALID)).all()


def test_a_saved_model_is_no_run_to_go_on_from(tmp_path: Path) -> None:
    one = fit(RUNS["early stopping"])
    one.save(tmp_path)
    run = RUNS["early stopping"] | {"early_stopping_rounds": None}
    with pytest.raises(ValueError, match=f"holds a model, and no run .* {one.n_estimators_} epoch"):
        fit(run, tmp_path)


OTHER_RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "model": ({"kind": "mlp"}, "model was 'linear', now 'mlp'"),
    "epochs": ({"epochs": 9}, "epochs was 8, now 9"),
    "rate": ({"learning_rate": 0.2}, "learning_rate was 0.03, now 0.2"),
    "batches": ({"batch_size": 9}, "batch_size was 60, now 9"),
    "seed": ({"seed": 2}, "seed was 1, now 2"),
}


@pytest.mark.parametrize("name", OTHER_RUNS)
def test_another_run_is_refused(name: str, tmp_path: Path) -> None:
    fit({}, tmp_path)
    before = file_of(tmp_path)
    other, message = OTHER_RUNS[name]
    with pytest.raises(ValueError, match=f"belongs to another run: {message}"):
        fit(other, tmp_path)
    assert file_of(tmp_path) == before


def test_a_run_of_trees_is_another_one(tmp_path: Path) -> None:
    fit({}, tmp_path)
    with pytest.raises(ValueError, match="another run: model was 'linear', now 'trees'"):
        rf.Ranker(checkpoint=tmp_path, progress=False).fit(TRAIN, eval_set=[VALID])


def test_a_scorecard_with_levels_has_no_checkpoint(tmp_path: Path) -> None:
    card = rf.scorecard(["ndcg@3", "ndcg@10"], level=0.2)
    assert fit({"eval_metric": card, "early_stopping_rounds": 3}).n_estimators_ >= 1
    with pytest.raises(ValueError, match="looks at single queries of earlier epochs"):
        fit({"eval_metric": card}, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
class TestOneSeed:
    def test_two_runs(self, kind: str) -> None:
        assert_same_run(fit({"kind": kind}), fit({"kind": kind}))

    def test_random_numbers_of_others_do_not_matter_nor_change(self, kind: str) -> None:
        import torch

        torch.manual_seed(5)
        before = torch.get_rng_state()
        one = fit({"kind": kind})
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(6)
        assert same_weights(fit({"kind": kind}), one)

    def test_another_seed_is_another_model(self, kind: str) -> None:
        assert not same_weights(fit({"kind": kind}), fit({"kind": kind, "seed": 2}))

    def test_order_of_the_queries(self, kind: str) -> None:
        """Each keeps its id and the order of its documents."""
        ids = np.random.default_rng(0).permutation(np.unique(QID))
        row = np.concatenate([np.flatnonzero(one == QID) for one in ids])
        assert (row != np.arange(len(row))).mean() > 0.9
        one, other = (
            ranker(kind, seed=1, epochs=3).fit(X[rows], Y[rows], qid=QID[rows])
            for rows in (np.arange(len(row)), row)
        )
        assert same_weights(one, other)

    def test_threads(self, kind: str) -> None:
        """Batches of many rows and of few, lists of all lengths, wide layers."""
        data = make_small(40, seed=7, columns=40, longest=40)
        more = {} if kind == "linear" else {"hidden": [64, 32]}
        more |= {"heads": 4} if kind == "attention" else {}
        for batches in ({"batch_size": 90}, {"optimiser": "sgd", "learning_rate": 1e-3}):
            given = {"epochs": 2} | more | batches
            one, two = (ranker(kind, **given, threads=n).fit(data, eval_set=[data]) for n in (1, 2))
            assert_same_run(one, two, data)
            assert np.array_equal(one.predict(data), one.set_params(threads=2).predict(data))

    def test_one_list_has_the_same_scores_at_any_number_of_threads(self, kind: str) -> None:
        one = fit({"kind": kind, "epochs": 1})
        for size in (1, 5, 7, 9, 10, 11, 14):
            few = VALID.features[:size]
            first = one.set_params(threads=1).predict(few, group=[size])
            assert np.array_equal(first, one.set_params(threads=2).predict(few, group=[size]))


@pytest.mark.parametrize("is_seen", [True, False])
def test_recording_goes_on(is_seen: bool, tmp_path: Path) -> None:
    """And does not change the model, also if the interrupt comes before the look at an epoch."""

    def run(folder: Any, *callbacks: Any) -> rf.Ranker:
        recorder = rf.Recorder(["pairs", "rank_changes"], every=2)
        each = [recorder, *callbacks] if is_seen else [*callbacks, recorder]
        return fit(RUNS["mlp"], folder, callbacks=each)

    def interrupt(moment: Any) -> None:
        if moment.iteration == 4:
            raise KeyboardInterrupt

    run(tmp_path / "a", interrupt)
    resumed, whole = run(tmp_path / "a"), run(tmp_path / "b")
    assert whole.model_.diagnostics.steps == [1, 3, 5, 7, 8]
    first, second = (
        json.dumps(one.model_.diagnostics.record(), sort_keys=True) for one in (resumed, whole)
    )
    assert first == second
    assert_same_run(resumed, fit(RUNS["mlp"]))


def test_the_weights_of_epochs_differ() -> None:
    """What is above is only worth something if an epoch does move them."""
    for kind in KINDS:
        one, two = (weights(fit({"kind": kind, "epochs": n})) for n in (1, 2))
        assert all(math.isfinite(float(np.abs(v).sum())) for v in two.values())
        assert any(not np.array_equal(values, two[name]) for name, values in one.items())
