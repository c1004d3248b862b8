"""Diagnostics of a run that was killed at any tree, and taken up again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import rankforce as rf

ROOT = Path(__file__).parents[2]
TRAIN = rf.make_data("yahoo", queries=20, seed=1)
VALID = rf.make_data("yahoo", queries=10, seed=2)
TREES = 9
# every how many trees: a look, a checkpoint
RHYTHMS = [(1, 1), (2, 1), (3, 1), (2, 3), (4, 3), (100, 2)]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "regressor first": {"base": "regressor", "base_estimators": 3},
    "stops early": {"early_stopping_rounds": 2, "learning_rate": 1.0, "n_estimators": 40},
}


def fit(
    kind: str,
    rhythm: tuple[int, int],
    folder: Path,
    *callbacks: Any,
    first: Any = None,
    **more: Any,
) -> rf.Ranker:
    look, save = rhythm
    params = {"n_estimators": TREES, "num_leaves": 4, "min_child_samples": 5, "threads": 1}
    params |= {"progress": False, "subsample": 0.7, "checkpoint": folder, "checkpoint_every": save}
    recorder = rf.Recorder(["rank_changes", "pairs"], every=look, queries=12)
    return rf.Ranker(**params | KINDS[kind] | more).fit(
        TRAIN, eval_set=[VALID], callbacks=[*([first] if first else []), recorder, *callbacks]
    )


def manifest(folder: Path) -> bytes:
    return (folder / "manifest.json").read_bytes()


def rhythms(kind: str) -> list[tuple[int, int]]:
    return RHYTHMS if kind == "plain" else RHYTHMS[1::2]


def kill_all(place: Path, kind: str, counts: range) -> None:
    """One process for each rhythm and number of trees, killed when that tree is there."""
    script = """
    import os, signal, sys
    from pathlib import Path
    from tests.training import test_resumed_diagnostics as tests

    place, kind, first, last = sys.argv[1:]
    tests.fit(kind, (1, 1), Path(place) / "warm")  # compile and load everything once
    for rhythm in tests.rhythms(kind):
        for count in range(int(first), int(last)):
            def kill(moment):
                if moment.iteration + 1 == count:
                    os.kill(os.getpid(), signal.SIGKILL)

            child = os.fork()
            if child == 0:
                tests.fit(kind, rhythm, Path(place) / f"{rhythm} {count}", kill)
                os._exit(0)
            print(os.waitpid(child, 0)[1], flush=True)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(place), kind]
    command += [str(counts.start), str(counts.stop)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # no threads that a fork would lose
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    expected = [str(int(signal.SIGKILL))] * len(counts) * len(rhythms(kind))
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_manifests_after_a_kill_at_any_tree(kind: str, tmp_path: Path) -> None:
    trees = len(fit(kind, (1, 1), tmp_path / "whole").model_.trees)
    counts = range(1, trees + 1)
    kill_all(tmp_path, kind, counts)
    for rhythm in rhythms(kind):
        fit(kind, rhythm, tmp_path / f"whole {rhythm}")
        for count in counts:
            folder = tmp_path / f"{rhythm} {count}"
            fit(kind, rhythm, folder)
            assert manifest(folder) == manifest(tmp_path / f"whole {rhythm}"), (rhythm, count)


@pytest.mark.slow
@pytest.mark.parametrize("rhythm", RHYTHMS, ids=str)
def test_a_run_of_fewer_trees_that_goes_on(rhythm: tuple[int, int], tmp_path: Path) -> None:
    """Its last look was only there because it was the last tree."""
    fit("plain", rhythm, tmp_path / "whole")
    for trees in range(1, TREES):
        folder = tmp_path / str(trees)
        fit("plain", rhythm, folder, n_estimators=trees)
        fit("plain", rhythm, folder)
        assert manifest(folder) == manifest(tmp_path / "whole"), trees


@pytest.mark.slow
@pytest.mark.parametrize("rhythm", RHYTHMS, ids=str)
def test_interrupted_before_the_look(rhythm: tuple[int, int], tmp_path: Path) -> None:
    """The tree stays, and what was to be seen of it is looked at later."""
    fit("plain", rhythm, tmp_path / "whole")
    for count in range(1, TREES + 1):

        def interrupt(moment: Any, count: int = count) -> None:
            if moment.iteration + 1 == count:
                raise KeyboardInterrupt

        folder = tmp_path / str(count)
        ranker = fit("plain", rhythm, folder, first=interrupt)
        assert not ranker.model_.finished
        fit("plain", rhythm, folder)
        assert manifest(folder) == manifest(tmp_path / "whole"), count


def test_rank_changes_begin_at_the_scores_of_a_base(tmp_path: Path) -> None:
    """The trees of a base are no change from nothing."""
    first = fit("plain", (1, 1), tmp_path / "first")
    second = fit("plain", (1, 1), tmp_path / "second", base=first)
    whole = fit("plain", (1, 1), tmp_path / "whole", n_estimators=2 * TREES)
    curves, expected = second.model_.diagnostics, whole.model_.diagnostics
    assert curves is not None
    assert expected is not None
    assert curves.trees == list(range(TREES + 1, 2 * TREES + 1))
    assert curves.series["rank_changes"] == {
        name: values[TREES:] for name, values in expected.series["rank_changes"].items()
    }
