"""No kernel reads or writes outside its arrays: a run of the same kernels with checked indices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.diagnostics import contributions, incoherence
from tests.contract.cases import plain_cases, sparse_data

# One short query, and sizes at which runs of 16 documents meet the end of a tile of 2048.
SIZES = (3, 2031, 2032, 2033, 2047, 2048, 2049, 4090)
HOW = ({}, {"cost": "sigmoid"})


def run_everything() -> None:
    """Every objective and cost, narrow and wide scores; an index error ends the process."""
    for size in SIZES:
        scores, labels = sparse_data(size)
        for case in plain_cases():
            for how in filter(case.takes, HOW):
                ready = case.objective(**how).prepare(case.labels(labels))
                for spread in (4.0, 40.0):
                    ready.gradients(scores * spread, norm="lightgbm")
                ready.pairs(scores)
                ready.costs(scores)
        rf.objective("ranknet").loss(scores, labels, equal_labels=True)
    mine = rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: y_hi / (rank_hi + rank_lo), tau=5)
    mine.gradients(*sparse_data(2048))


def run_tiers() -> None:
    """Runs of pairs that begin and end anywhere, and explicit pairs."""
    for size in SIZES:
        scores, labels = sparse_data(size)
        click = np.where(np.arange(size) % 5 > 0, np.arange(size) % 4, np.nan)
        pairs = np.arange(size - 1), np.arange(1, size)
        sources = {"grade": labels % 2, "click": click, "preferences": pairs}
        for name in ("lambdarank-ndcg", "lambdaloss-ndcg", "ndcg-loss1", "lambdagap-x", "ranknet"):
            for how in HOW:
                first, second = (
                    rf.objective(name, k=5, source=source, **how) for source in ("grade", "click")
                )
                whole = rf.graded([first, second], leave_out_zeros=False)
                ready = (whole + rf.objective("preferences")).prepare(sources)
                for spread in (4.0, 40.0):
                    ready.gradients(scores * spread, norm="lightgbm")
                ready.pairs(scores)
                ready.costs(scores)
                incoherence(whole, scores, sources, k=5, restricted=name == "ranknet")
                contributions(whole + rf.objective("preferences"), scores, sources, high=1)
    leaf = np.arange(size, dtype=np.int32) % 7
    ready.shared_hessians(scores, leaf, 7, norm="lightgbm", iteration=0, row_weight=None, threads=1)


@pytest.mark.slow
def test_indices_stay_inside_their_arrays() -> None:
    """Machine code with checks has a cache folder of its own, beside the usual one."""
    from rankforce.kernels.compile import cache_folder

    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "RANKFORCE_CACHE_DIR": str(cache_folder().parent / "checked"),
    }
    program = (
        "from tests.contract.test_bounds import run_everything, run_tiers\n"
        "run_everything()\nrun_tiers()"
    )
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
