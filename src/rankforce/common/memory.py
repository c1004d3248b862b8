"""How much memory a process may still take: what the machine has left, and what its group may."""

from __future__ import annotations

import os
from pathlib import Path

from rankforce.common.threads import own_groups

MEMORY, OWN, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")

NO_LIMIT = 1 << 62
# The limit of a group and what it uses, in the second version of groups and in the first.
NAMES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_memory(memory: Path = MEMORY, own: Path = OWN, groups: Path = GROUPS) -> int:
    """Bytes that can be taken without pushing anything out; very many where that is not told."""
    try:
        lines = memory.read_text().splitlines()
        words = next(line.split() for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return _all_pages()
    return min([int(words[1]) << 10, *_left_in_groups(own, groups)])


def _all_pages() -> int:
    """All memory of a Unix that is not Linux."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return NO_LIMIT


def _left_in_groups(own: Path, groups: Path) -> list[int]:
    """What each control group around this process has left of its limit."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    folders = [folder for line in lines for folder in own_groups(groups, line, "memory")]
    left = [_left(folder, *names) for folder in folders for names in NAMES]
    return [one for one in left if one is not None]


def _left(folder: Path, limit: str, used: str) -> int | None:
    try:
        left = int((folder / limit).read_text()) - int((folder / used).read_text())
    except (OSError, ValueError):  # not there, or "max"
        return None
    return max(left + _cached(folder), 0)


def _cached(folder: Path) -> int:
    """Bytes of files in a group's memory, which it gives up when it needs them."""
    try:
        words = (folder / "memory.stat").read_text().split()
        return int(words[words.index("inactive_file") + 1])
    except (OSError, ValueError):
        return 0
