"""LightGBM's library in real processes: how its threads wait, what a fork leaves, what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.engines.waits import SHORT_WAITS, WAITS

pytestmark = pytest.mark.slow  # CI runs it


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process that knows of no setting for waiting threads but those given."""
    usual = {name: value for name, value in os.environ.items() if name not in WAITS}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=usual | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # what hangs here would hang for ever
    )
    assert done.returncode == 0, done.stderr
    return done


LOAD = """
import os
from rankforce.engines.lightgbm.library import import_lightgbm
from rankforce.engines.waits import WAITS
before = [os.environ.get(name) for name in WAITS]
import_lightgbm()
assert [os.environ.get(name) for name in WAITS] == before
"""
GNU = pytest.mark.skipif(sys.platform != "linux", reason="asks GNU's OpenMP what it has understood")


@GNU
@pytest.mark.parametrize(
    ("given", "looks"),
    [
        ({}, int(SHORT_WAITS["GOMP_SPINCOUNT"])),
        ({"GOMP_SPINCOUNT": "77"}, 77),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, 0),
        ({"KMP_BLOCKTIME": "200"}, 300_000),  # GNU's own choice
    ],
)
def test_threads_wait_shortly_unless_told_otherwise(given: dict[str, str], looks: int) -> None:
    """GNU's OpenMP says what it has understood when it is loaded."""
    shown = run(LOAD, OMP_DISPLAY_ENV="VERBOSE", **given).stderr
    assert {int(found) for found in re.findall(r"GOMP_SPINCOUNT = '(\d+)'", shown)} == {looks}


def test_a_loaded_library_is_left_alone() -> None:
    run("import lightgbm\n" + LOAD)


FORK = """
import os, sys, warnings
import numpy as np
import rankforce as rf

data = rf.make_data("mslr", queries=40, seed=1)

def fit(threads):
    usual = {"n_estimators": 3, "num_leaves": 8, "progress": False, "engine": ENGINE}
    return rf.Ranker(**usual, threads=threads).fit(data)

mine = fit(2)
child = os.fork()
if child == 0:
    other = fit(2)
    assert other.model_.text() == mine.model_.text()
    scores = other.predict(data)
    assert np.array_equal(scores, mine.predict(data))
    assert np.allclose(other.booster_.predict(data.features), scores)
    grandchild = os.fork()
    if grandchild == 0:
        warnings.simplefilter("error")
        assert fit(1).model_.text() == mine.model_.text()
        print("grandchild", flush=True)
        sys.exit()
    assert os.waitpid(grandchild, 0)[1] == 0
    print("child", flush=True)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
warnings.simplefilter("error")
assert fit(2).model_.text() == mine.model_.text()
print("parent")
"""
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


BOOSTERS = pytest.mark.parametrize("name", ["LightGBM", "XGBoost"])


@FORKS
@BOOSTERS
def test_training_after_a_fork(name: str) -> None:
    done = run(FORK.replace("ENGINE", repr(name.lower())))
    assert done.stdout.split() == ["grandchild", "child", "parent"]
    assert done.stderr.count(f"Note: {name} was loaded before this process was forked") == 1
    assert "'spawn'" in done.stderr


POOL = """
import multiprocessing
import rankforce as rf

data = rf.make_data("mslr", queries=20, seed=1)

def fit(threads):
    usual = {"n_estimators": 2, "num_leaves": 4, "progress": False, "engine": ENGINE}
    return rf.Ranker(**usual, threads=threads).fit(data).model_.text()

if __name__ == "__main__":
    mine = fit(2)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(fit, [2, 2, 1]) == [mine] * 3
"""


@FORKS
@BOOSTERS
def test_a_pool_of_forked_processes(name: str) -> None:
    assert "'spawn'" in run(POOL.replace("ENGINE", repr(name.lower()))).stderr


@FORKS
@pytest.mark.parametrize("text", [FORK, POOL], ids=["fork", "pool"])
def test_our_trees_lose_no_threads(text: str) -> None:
    assert run(text.replace("ENGINE", "'histogram'")).stderr == ""


DATA = rf.make_data("yahoo", queries=30, seed=1)


def fit(**given: Any) -> rf.Ranker:
    usual = {"n_estimators": 2, "num_leaves": 4, "progress": False, "engine": "lightgbm"}
    return rf.Ranker(**usual, **given).fit(DATA)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_bin": 1}, "LightGBM: Check failed: (max_bin) > (1)"),
        ({"max_bin_by_feature": [5]}, "max_bin_by_feature.size())"),
        (
            {"bin_construct_sample_cnt": 0},
            "LightGBM: Check failed: (bin_construct_sample_cnt) > (0)",
        ),
        ({"min_child_samples": 10**6}, "no feature can tell documents apart"),
    ],
)
def test_a_mistake_is_told_once(
    capfd: pytest.CaptureFixture[str], given: dict[str, Any], words: str
) -> None:
    """LightGBM writes [Fatal] to standard error itself, at every verbosity."""
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        fit(**given)
    assert "\n" not in str(caught.value)
    assert ".cpp" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    print("still here", file=sys.stderr)
    assert capfd.readouterr().err == "still here\n"


def test_categories_below_zero_are_told_once() -> None:
    features = DATA.features.copy()
    features[:, 1] = np.arange(DATA.rows) % 5
    features[:, 2] = np.arange(DATA.rows) % 7 - 2
    given = {"qid": DATA.qid, "categorical_feature": [1, 2]}
    ranker = rf.Ranker(n_estimators=3, num_leaves=6, progress=False)
    with pytest.warns(Note) as told:
        ranker.fit(features, DATA.labels, **given)
    rows = int((features[:, 2] < 0).sum())
    expected = f"categories below 0 count as missing values: in 'Column_2' ({rows} rows)"
    assert [str(one.message) for one in told] == [expected]
    gaps = features.copy()
    gaps[features[:, 2] < 0, 2] = np.nan
    assert np.array_equal(ranker.predict(features), ranker.predict(gaps))
    assert np.allclose(ranker.predict(features), ranker.booster_.predict(features))
    assert ranker.fit(gaps, DATA.labels, **given).model_.text().count("Tree=") == 3
