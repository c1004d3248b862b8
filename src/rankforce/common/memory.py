"""How much memory there is for a program that asks."""

from __future__ import annotations

import os
import re
from pathlib import Path


def available_memory(
    *, facts: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")
) -> int:
    """Bytes that can be had now: of the machine, and of the cgroup that a container is.

    >>> available_memory() > 0
    True
    """
    return min(_of_machine(facts), _of_group(group))


def _of_machine(facts: Path) -> int:
    try:
        found = re.search(r"MemAvailable:\s*(\d+) kB", facts.read_text())
        return int(found[1]) * 1024 if found else _NO_LIMIT
    except OSError:  # not Linux
        return _all_pages()


def _all_pages() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not a Unix
        return _NO_LIMIT


def _of_group(group: Path) -> int:
    """What is left of the limit of a cgroup, in its second version or its first."""
    new = _left(group / "memory.max", group / "memory.current")
    old = group / "memory"
    return min(new, _left(old / "memory.limit_in_bytes", old / "memory.usage_in_bytes"))


def _left(most: Path, used: Path) -> int:
    try:
        return max(int(most.read_text()) - int(used.read_text()), 0)
    except (OSError, ValueError):  # not there, or "max"
        return _NO_LIMIT


_NO_LIMIT = 1 << 62
