"""No kernel reads or writes outside its arrays: a run of the same kernels with checked indices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from tests.contract.cases import plain_cases, sparse_data

# One short query, and sizes at which runs of 16 documents meet the end of a tile of 2048.
SIZES = (3, 2031, 2032, 2033, 2047, 2048, 2049, 4090)
HOW = ({}, {"cost": "sigmoid"})


def run_everything() -> None:
    """Every objective and cost, narrow and wide scores; an index error ends the process."""
    for size in SIZES:
        scores, labels = sparse_data(size)
        for case in plain_cases():
            for how in HOW:
                ready = case.objective(**how).prepare(labels)
                for spread in (4.0, 40.0):
                    ready.gradients(scores * spread, norm="lightgbm")
                ready.pairs(scores)
    mine = rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: y_hi / (rank_hi + rank_lo), tau=5)
    mine.gradients(*sparse_data(2048))


def test_indices_stay_inside_their_arrays() -> None:
    """Machine code with checks has a cache folder of its own, beside the usual one."""
    from rankforce.kernels.compile import cache_folder

    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "RANKFORCE_CACHE_DIR": str(cache_folder().parent / "checked"),
    }
    program = "from tests.contract import test_bounds; test_bounds.run_everything()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", SIZES)
def test_made_up_labels_differ(size: int) -> None:
    """What `run_everything` runs on has pairs."""
    assert rf.objective("ranknet").effective_pairs(*sparse_data(size)) > 0
    assert len(np.unique(sparse_data(size)[0])) == size
