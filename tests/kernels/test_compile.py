"""The cache of machine code, and imports that happen only when used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankforce.kernels import compile as kernel_compile


def write_sources(folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("y = 2\n")


def test_hash_is_that_of_the_contents(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        write_sources(folder)
    assert kernel_compile.sources_hash(first) == kernel_compile.sources_hash(second)


@pytest.mark.parametrize("name", ["a.py", "b.py"])
def test_hash_changes_with_any_file(tmp_path: Path, name: str) -> None:
    write_sources(tmp_path)
    before = kernel_compile.sources_hash(tmp_path)
    (tmp_path / name).write_text((tmp_path / name).read_text() + "# a comment\n")
    assert kernel_compile.sources_hash(tmp_path) != before


def test_hash_changes_when_files_come_go_or_change_names(tmp_path: Path) -> None:
    write_sources(tmp_path)
    hashes = {kernel_compile.sources_hash(tmp_path)}
    (tmp_path / "c.py").write_text("")
    hashes.add(kernel_compile.sources_hash(tmp_path))
    (tmp_path / "c.py").rename(tmp_path / "d.py")
    hashes.add(kernel_compile.sources_hash(tmp_path))
    (tmp_path / "a.py").unlink()
    hashes.add(kernel_compile.sources_hash(tmp_path))
    assert len(hashes) == 4


def test_hash_does_not_mix_names_and_contents(tmp_path: Path) -> None:
    """The same bytes, cut into files in another way."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    (one / "a.py").write_text("xy")
    (one / "b.py").write_text("z")
    (other / "a.py").write_text("x")
    (other / "b.py").write_text("yz")
    assert kernel_compile.sources_hash(one) != kernel_compile.sources_hash(other)


def test_folder_of_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = kernel_compile.sources_hash(Path(kernel_compile.__file__).parent)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("RANKFORCE_CACHE_DIR", str(tmp_path))
    assert kernel_compile.cache_folder() == tmp_path / f"kernels-{own}"
    monkeypatch.delenv("RANKFORCE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert kernel_compile.cache_folder() == tmp_path / "home" / "rankforce" / f"kernels-{own}"


def run_python(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_light() -> None:
    """`import rankforce` loads neither NumPy nor Numba, nor anything of the package itself."""
    program = (
        "import sys; before = set(sys.modules); import rankforce;"
        "print(*sorted(m for m in set(sys.modules) - before))"
    )
    loaded = run_python(program).split()
    assert "rankforce" in loaded
    heavy = {"numpy", "numba", "llvmlite", "lightgbm", "scipy"}
    assert not heavy & {module.split(".")[0] for module in loaded}
    assert [module for module in loaded if module.startswith("rankforce.")] == []


def test_making_an_objective_needs_no_numba() -> None:
    program = (
        "import sys, rankforce as rf; rf.objective('lambdagap-x+', k=5); rf.objectives();"
        "print('numba' in sys.modules, 'numpy' in sys.modules)"
    )
    assert run_python(program).split() == ["False", "True"]


def test_public_names() -> None:
    import rankforce as rf

    assert {"objective", "objectives", "additive", "Objective", "Pairs", "Prepared"} <= set(dir(rf))
    assert all(getattr(rf, name) is not None for name in dir(rf))
    with pytest.raises(AttributeError, match="no attribute 'objektive'"):
        rf.objektive  # noqa: B018


def test_read_only_cache_still_works(tmp_path: Path) -> None:
    """A cache folder that cannot be made: a warning, and the hash of nothing else changes."""
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    program = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import rankforce.kernels.compile\n"
        "print(*[w.message for w in caught])\n"
    )
    printed = run_python(program, RANKFORCE_CACHE_DIR=str(blocked))
    assert "cannot write to" in printed
    assert "RANKFORCE_CACHE_DIR" in printed
