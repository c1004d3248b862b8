"""Work on blocks of queries in threads. A query belongs to one block: results do not depend on
the number of threads."""

from __future__ import annotations

import functools
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.pool import Pool

BLOCKS_PER_THREAD = 4
MOST = 4096  # threads
SMALL = 200_000.0  # cost below which handing work to threads takes longer than doing it
ROWS = 1 << 15  # of a block of rows
FEW = 4  # blocks of rows below which threads do not pay


def check_threads(threads: int) -> int:
    """A number of threads from 1 up."""
    return check_whole("threads", threads, least=1)


def count_threads(wish: int | None) -> int:
    """Number of threads: as asked, or as OMP_NUM_THREADS says, or one per usable core.

    >>> count_threads(3)
    3
    """
    if wish is not None:
        is_whole = isinstance(wish, (int, np.integer)) and not isinstance(wish, bool)
        if not is_whole or not -1 <= wish <= MOST:
            raise RankforceError(f"threads is {wish!r}: it must be an integer from -1 to {MOST}")
        if wish > 0:
            return int(wish)
    # "4,2" is 4 for us: the rest is about loops inside loops.
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(said) if said.isdigit() and int(said) > 0 else usable_cores()


def usable_cores(
    *, groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int:
    """Cores that this process may use: its affinity, and the quota of each cgroup that it is in.

    A quota that is no integer is rounded up. `groups` is where cgroups are mounted, `own` says
    which ones are this process's.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return math.ceil(min(cores, _least_quota(groups, own)))


@functools.cache  # reading them takes a millisecond, and every prediction asks
def _least_quota(groups: Path, own: Path) -> float:
    try:
        lines = own.read_text().splitlines()
    except OSError:  # not Linux
        return math.inf
    folders = [folder for line in lines for folder in own_groups(groups, line, "cpu")]
    return min(map(_quota, folders), default=math.inf)


def own_groups(groups: Path, line: str, controller: str) -> list[Path]:
    """Folders of the cgroup in a line of /proc/self/cgroup, and of those around it.

    Joblib reads the outermost alone, where a service of systemd or a job of a cluster has no quota.
    """
    _, controllers, path = line.split(":", 2)
    if controllers and controller not in controllers.split(","):
        return []
    mounts = (
        [groups / controllers, groups / controller] if controllers else [groups, groups / "unified"]
    )
    inner = [mount / path.lstrip("/") for mount in mounts]
    around = [folder for place in inner for folder in (place, *place.parents)]
    return [folder for folder in around if folder.is_relative_to(groups)]


def _quota(folder: Path) -> float:
    """Cores that a cgroup may use, in its second version or its first; infinite without a limit."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            words = " ".join((folder / name).read_text() for name in names).split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError):  # not there, or "max"
            continue
        if quota > 0:  # -1 is no limit
            return quota / period
    return math.inf


_POOLS: dict[int, Pool] = {}
_OWN = threading.local()  # the pools of a thread that shares none
# Threads do not survive a fork: a child that waited for them would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOLS.clear)


def get_pool(threads: int) -> Pool:
    """A pool of that many threads, kept: starting threads for every pass cost 1 ms a tree."""
    pools: dict[int, Pool] = getattr(_OWN, "pools", _POOLS)
    if threads not in pools:
        pools[threads] = Pool(threads)
    return pools[threads]


@contextmanager
def own_pools() -> Iterator[None]:
    """Inside, this thread shares no pool with others: each has all the threads that it asks for."""
    pools: dict[int, Pool] = {}
    _OWN.pools = pools
    try:
        yield
    finally:
        del _OWN.pools
        for pool in pools.values():
            pool.end()


def balanced_blocks(cost: NDArray[np.float64], blocks: int) -> list[tuple[int, int]]:
    """Cut queries into contiguous blocks of about equal cost.

    >>> balanced_blocks(np.array([1.0, 1.0, 2.0, 4.0]), 2)
    [(0, 3), (3, 4)]
    """
    total = np.cumsum(cost)
    if not len(total) or blocks <= 1:
        return [(0, len(total))]
    targets = total[-1] * np.arange(1, blocks) / blocks
    cuts = np.unique(np.concatenate([[0], np.searchsorted(total, targets) + 1, [len(total)]]))
    cuts = cuts[cuts <= len(total)]
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def run_blocks(
    work: Callable[[int, int], int], cost: NDArray[np.float64], threads: int
) -> list[int]:
    """Call `work(first, last)` for blocks that cover all queries; its answers in query order."""
    if threads == 1 or cost.sum() < SMALL:
        return [work(0, len(cost))]
    blocks = balanced_blocks(cost, threads * BLOCKS_PER_THREAD)
    return get_pool(threads).map(lambda block: work(*block), blocks)


def run_parts(
    work: Callable[[int, int, int], Any], cost: NDArray[np.float64], parts: int, threads: int
) -> None:
    """Call `work(part, first, last)` for a fixed number of parts, whatever the threads."""
    blocks = enumerate(balanced_blocks(cost, parts))
    get_pool(threads).map(lambda numbered: work(numbered[0], *numbered[1]), blocks)


def run_rows(
    work: Callable[[int, int], Any], rows: int, threads: int, *, at_once: int | None = None
) -> list[Any]:
    """Call `work(first, last)` for blocks of `at_once` rows, or ROWS; its answers in order.

    The blocks are the same for every number of threads, and so are sums over them.
    """
    step = at_once or ROWS
    blocks = [(first, min(first + step, rows)) for first in range(0, rows, step)]
    if threads == 1 or len(blocks) < FEW:
        return [work(*block) for block in blocks]
    return get_pool(threads).map(lambda block: work(*block), blocks)
