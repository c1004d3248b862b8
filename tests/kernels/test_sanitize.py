"""Kernels under sanitizers of the compiler: nothing is found, and what is planted is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.sanitize import FOUND, SANITIZERS, library_of

pytestmark = pytest.mark.slow

WHAT = {"thread": "RACES OF KERNELS", "address": "KERNELS THAT LEAVE THEIR MEMORY"}
LACKING = {name: library_of(one) is None for name, one in SANITIZERS.items()}
MARKS = {
    name: pytest.mark.skipif(
        LACKING[name],
        reason=f"{what} WERE NOT LOOKED FOR: no g++, or no {SANITIZERS[name].library}",
    )
    for name, what in WHAT.items()
}

# Two blocks of 64 threads, each with room for 64 floats, on an array of 100.
RIGHT = """
extern __shared__ __align__(16) unsigned char memory[];

extern "C" __global__ void planted(float* values, int count) {
    float* own = (float*)memory;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    own[t] = t;
    __syncwarp();
    float near = own[t ^ 1];
    __syncwarp();
    own[t] = near;
    __syncthreads();
    if (i < count) values[i] = own[(t + 1) % blockDim.x];
}
"""
RACE = "ThreadSanitizer: data race"
BEYOND = "AddressSanitizer: heap-buffer-overflow"
# Whose it is, what is written instead of what, and what is said.
PLANTED = {
    "no barrier of a block": ("thread", "__syncthreads();", "", RACE),
    "no barrier of a warp": ("thread", "__syncwarp();", "", RACE),
    "votes are no barrier": ("thread", "__syncwarp();", "__ballot_sync(~0u, true);", RACE),
    "shuffles are no barrier": ("thread", "__syncwarp();", "__shfl_xor_sync(~0u, i, 1);", RACE),
    "a barrier of warps alone": ("thread", "__syncthreads();", "__syncwarp();", RACE),
    "blocks at the same place": ("thread", "values[i]", "values[t]", RACE),
    "barriers are of a block": (
        "thread",
        "own[t] = near;",
        "own[t] = near; if (!blockIdx.x && t < 36) values[64 + t] = near;",
        RACE,
    ),
    "beside atomic operations": (
        "thread",
        "own[t] = near;",
        "own[t] = near; atomicAdd((int*)values, 1);",
        RACE,
    ),
    "not for all": ("thread", "__syncthreads();", "if (t) __syncthreads();", "not all reach"),
    "behind an array": ("address", "i < count", "i <= count", BEYOND),
    "behind shared memory": ("address", "(t + 1) % blockDim.x", "t + 1", BEYOND),
    "no whole number": ("address", "(float*)memory", "(float*)(memory + 1)", "misaligned address"),
}


def sanitize(name: str, *cases: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.kernels.sanitize", name, *cases]
    root = Path(__file__).parents[2]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=600, check=False
    )


names = pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS[name]) for name in MARKS])


@names
def test_nothing_is_found_in_any_kernel(name: str) -> None:
    done = sanitize(name)
    assert done.returncode == 0, done.stderr


@names
def test_nothing_is_found_where_all_is_right(name: str, tmp_path: Path) -> None:
    path = tmp_path / "right.cu"
    path.write_text(RIGHT)
    done = sanitize(name, str(path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "which", [pytest.param(which, marks=MARKS[name]) for which, (name, *_) in PLANTED.items()]
)
def test_what_is_planted_is_found(which: str, tmp_path: Path) -> None:
    name, right, wrong, message = PLANTED[which]
    path = tmp_path / "planted.cu"
    assert right in RIGHT
    path.write_text(RIGHT.replace(right, wrong))
    done = sanitize(name, str(path))
    assert message in done.stderr, done.stderr
    assert done.returncode == FOUND
