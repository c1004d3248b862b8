"""How much memory is left: synthetic groups of both versions, and this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankforce.common.memory import available_memory

FREE = "MemTotal: 9000 kB\nMemAvailable: 1000 kB\n"
CASES: dict[str, tuple[str, dict[str, str], int]] = {
    "no limit": ("0::/a\n", {"a/memory.max": "max", "a/memory.current": "9"}, 1000 << 10),
    "a limit": ("0::/a\n", {"a/memory.max": "5000", "a/memory.current": "2000"}, 3000),
    "files can go": (
        "0::/a\n",
        {
            "a/memory.max": "5000",
            "a/memory.current": "4000",
            "a/memory.stat": "active_file 7\ninactive_file 500\n",
        },
        1500,
    ),
    "around": ("0::/a/b\n", {"a/memory.max": "700", "a/memory.current": "800"}, 0),
    "first version": (
        "4:memory:/a\n3:cpu:/b\n",
        {"memory/a/memory.limit_in_bytes": "900", "memory/a/memory.usage_in_bytes": "100"},
        800,
    ),
}


@pytest.mark.parametrize(("own", "files", "expected"), CASES.values(), ids=CASES)
def test_what_is_left(tmp_path: Path, own: str, files: dict[str, str], expected: int) -> None:
    for name, text in {"memory": FREE, "own": own}.items():
        (tmp_path / name).write_text(text)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    found = available_memory(tmp_path / "memory", tmp_path / "own", tmp_path / "groups")
    assert found == expected


def test_where_nothing_is_told(tmp_path: Path) -> None:
    found = available_memory(tmp_path / "no", tmp_path / "no", tmp_path / "no")
    assert found == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
