"""Machine code on disk that was damaged, cannot be written, or is not there yet."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rankforce.kernels import cache

pytestmark = pytest.mark.slow  # CI runs it

# Kernels that compile in a moment, in a file of their own.
SOURCE = """
from rankforce.kernels.compile import entry

@entry
def add(a, b):
    return a + b

@entry
def double(a):
    return a + a
"""
PROGRAM = """
import small
answers = small.add(1, 2), small.add(0.25, 0.5), small.double(4)
print(*answers, "hits", sum(sum(k.stats.cache_hits.values()) for k in (small.add, small.double)))
"""
RIGHT = "3 0.75 8 hits"
COMPILING = cache.COMPILING + "\n"


class Answer(NamedTuple):
    """What a process printed; `notes` are the lines of its warnings that say something."""

    out: str
    err: str

    @property
    def notes(self) -> list[str]:
        return [line.split("Note: ")[1] for line in self.err.splitlines() if "Note: " in line]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Answer]:
    (tmp_path / "small.py").write_text(SOURCE)

    def start(program: str = PROGRAM, *, file_size: int | None = None, **more: str) -> Answer:
        def limit() -> None:
            if file_size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        place = {"RANKFORCE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | place | more,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limit,
        )
        assert done.returncode == 0, done.stderr
        return Answer(done.stdout.strip(), done.stderr)

    return start


def files(folder: Path, ending: str) -> list[Path]:
    return sorted((folder / "cache").rglob(f"small.*{ending}"))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "a flipped bit": flip,
    "garbage": lambda path: path.write_bytes(b"\x80\x04garbage" * 50),
    # A pickle that is whole, and runs what it likes.
    "a pickle of another": lambda path: path.write_bytes(b"cos\n_exit\n(I7\ntR."),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files_are_thrown_away_and_made_anew(
    run: Callable[..., Answer], tmp_path: Path, damage: Callable[[Path], object], ending: str
) -> None:
    first = run()
    assert first == (f"{RIGHT} 0", COMPILING)
    assert len(files(tmp_path, "nbc")) == 3
    for path in files(tmp_path, ending):
        damage(path)
    second = run()
    assert second.out == f"{RIGHT} 0"
    [told] = second.notes
    assert told.startswith(f"the kernel cache {tmp_path / 'cache'}")
    assert told.endswith("was damaged: what is lost is compiled anew")
    assert "Traceback" not in second.err
    assert run() == (f"{RIGHT} 3", "")


def test_one_damaged_file_costs_one_compilation(run: Callable[..., Answer], tmp_path: Path) -> None:
    run()
    flip(files(tmp_path, "nbc")[0])
    second = run()
    assert second.out == f"{RIGHT} 2"
    assert len(second.notes) == 1
    assert run() == (f"{RIGHT} 3", "")


def test_machine_code_of_other_types_is_not_taken(
    run: Callable[..., Answer], tmp_path: Path
) -> None:
    """Two processes that start with an empty cache may write two overloads to one file."""
    run()
    one, other = files(tmp_path, "nbc")[:2]
    assert one.name.startswith("small.add")
    assert other.name.startswith("small.add")
    other.write_bytes(one.read_bytes())
    assert run() == (f"{RIGHT} 2", COMPILING)
    assert run() == (f"{RIGHT} 3", "")


@pytest.mark.parametrize("limit", [0, 1000])
def test_a_full_disk_means_code_in_memory(
    run: Callable[..., Answer], tmp_path: Path, limit: int
) -> None:
    """The index has room below 1000 bytes, machine code has not."""
    first = run(file_size=limit)
    assert first.out == f"{RIGHT} 0"
    [told] = first.notes
    assert f"cannot write to {tmp_path / 'cache'}" in told
    assert "File too large" in told
    assert "RANKFORCE_CACHE_DIR" in told
    assert list((tmp_path / "cache").rglob("*.tmp.*")) == []
    assert run().out == f"{RIGHT} 0"
    assert run() == (f"{RIGHT} 3", "")


def test_a_full_disk_is_read(run: Callable[..., Answer]) -> None:
    run()
    assert run(file_size=0) == (f"{RIGHT} 3", "")


def test_another_numba_has_its_own_cache(run: Callable[..., Answer], tmp_path: Path) -> None:
    """Where Numba's insides are not what they were, its own cache serves."""
    before = "from numba.core import caching\ndel caching.IndexDataCacheFile._load_data\n"
    keep = "caching.IndexDataCacheFile._load_data = lambda self, name: None\n"
    first = run(before + "import small\n" + keep + PROGRAM)
    assert first == (f"{RIGHT} 0", "")
    assert len(files(tmp_path, "nbc")) == 3


def test_without_compilation(run: Callable[..., Answer], tmp_path: Path) -> None:
    program = "import small\nprint(small.add(1, 2))"
    assert run(program, NUMBA_DISABLE_JIT="1") == ("3", "")


def test_the_command_line_says_that_it_compiles(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("2 qid:7 1:0.5\n1 qid:7 1:0.25\n")
    command = [sys.executable, "-m", "rankforce", "convert", "a.txt", "b.csv", "--quiet"]
    environment = os.environ | {"RANKFORCE_CACHE_DIR": str(tmp_path / "cache")}
    for expected in (COMPILING, ""):
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr == expected
