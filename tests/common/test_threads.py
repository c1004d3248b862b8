"""How many cores a process may use: synthetic cgroups, of both versions, one inside the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankforce.common import threads
from rankforce.training.settings import make_settings

CORES = 8


@pytest.fixture(autouse=True)
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(CORES)), raising=False)


def cores(folder: Path, own: str, quotas: dict[str, str]) -> int:
    """The answer where `quotas` are the contents of files, and `own` says where the process is."""
    groups = folder / "cgroup"
    groups.mkdir()
    for name, text in quotas.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text + "\n")
    (folder / "own").write_text(own)
    return threads.usable_cores(groups=groups, own=folder / "own")


FIRST = "5:memory:/a/b\n4:cpu,cpuacct:/a/b\n0::/x\n"


def first(quota: str, place: str = "") -> dict[str, str]:
    """Files of the first version's cpu controller."""
    base = f"cpu,cpuacct/{place}/cpu.cfs_"
    return {base + "quota_us": quota, base + "period_us": "100000"}


CASES: dict[str, tuple[str, dict[str, str], int]] = {
    "second, none": ("0::/\n", {"cpu.max": "max 100000"}, CORES),
    "second, a container": ("0::/\n", {"cpu.max": "200000 100000"}, 2),
    "second, rounded up": ("0::/\n", {"cpu.max": "250000 100000"}, 3),
    "second, less than a core": ("0::/\n", {"cpu.max": "20000 100000"}, 1),
    "second, more than there are": ("0::/\n", {"cpu.max": "9900000 100000"}, CORES),
    "second, inside": ("0::/a/b\n", {"a/b/cpu.max": "300000 100000"}, 3),
    "second, around": (
        "0::/a/b\n",
        {"a/b/cpu.max": "max 100000", "a/cpu.max": "400000 100000", "cpu.max": "max 100000"},
        4,
    ),
    "second, beside": ("0::/a\n", {"b/cpu.max": "100000 100000"}, CORES),
    "second, of a host": ("0::/docker/0a1b\n", {"cpu.max": "200000 100000"}, 2),
    "second, out of sight": ("0::/../a\n", {"cpu.max": "200000 100000"}, 2),
    "both mounted": ("1:cpu:/a\n0::/\n", {"unified/cpu.max": "200000 100000"}, 2),
    "first, none": (FIRST, first("-1", "a/b"), CORES),
    "first, inside": (FIRST, first("150000", "a/b"), 2),
    "first, around": (FIRST, first("-1", "a/b") | first("300000", "a"), 3),
    "first, a container": (FIRST, first("50000"), 1),
    "nothing mounted": (FIRST, {}, CORES),
}


@pytest.mark.parametrize(("own", "quotas", "expected"), CASES.values(), ids=CASES)
def test_quotas(tmp_path: Path, own: str, quotas: dict[str, str], expected: int) -> None:
    assert cores(tmp_path, own, quotas) == expected


def test_without_cgroups(tmp_path: Path) -> None:
    assert threads.usable_cores(own=tmp_path / "none") == CORES


@pytest.mark.parametrize(
    ("variable", "asked", "expected"),
    [(None, None, 2), (None, -1, 2), ("5", None, 5), ("4,2", None, 4), ("0", None, 2), ("5", 3, 3)],
)
def test_who_decides(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, asked: int | None, expected: int
) -> None:
    """What was asked, then OMP_NUM_THREADS, then the quota."""
    monkeypatch.setattr(threads, "_quota", lambda _: 2.0)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert make_settings({"threads": asked}).thread_count == expected
