"""`rankforce figures`: all pictures at once, on few queries, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

from rankforce.studies.make import FIGURES

pytestmark = pytest.mark.slow  # CI runs it

SMALL = ("--queries", "6", "--trees", "3")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankforce", "figures", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("figures")
    answer = run("--out", str(out), *SMALL)
    assert answer.returncode == 0, answer.stderr
    told = [line for line in answer.stderr.splitlines() if str(out) in line]
    assert len(told) == len(FIGURES) + 1
    return out


def test_all_pictures_and_the_page_are_there(folder: Path) -> None:
    expected = {f"{name}.png" for name in FIGURES} | {"index.md"}
    assert {path.name for path in folder.iterdir()} == expected


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_is_one(name: str, folder: Path) -> None:
    pixels = matplotlib.image.imread(folder / f"{name}.png")
    assert min(pixels.shape[:2]) > 300
    assert pixels[..., :3].min() < 0.2  # something is drawn
    assert pixels[..., :3].max() == 1.0


def test_the_page_has_each_picture_and_what_holds(folder: Path) -> None:
    text = (folder / "index.md").read_text(encoding="utf-8")
    for name, figure in FIGURES.items():
        part = text.split(f"## {name}\n")[1].split("\n## ")[0]
        assert f"![{name}]({name}.png)" in part
        assert f"{figure.source}. {figure.caption}" in part
        findings = [line for line in part.splitlines() if line.startswith("- ")]
        assert findings
        assert all(line.endswith(("as in the paper.", "as expected.")) for line in findings)
    assert "Rankers of 3 trees on 6 synthetic queries, seed 0" in text


def test_some_pictures_in_another_format(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    answer = run("--out", str(out), "--only", "adalia-2, svore-5", "--format", "pdf")
    assert answer.returncode == 0, answer.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        "adalia-2.pdf",
        "index.md",
        "svore-5.pdf",
    ]
    assert (out / "svore-5.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--only", "adalia-9"), "the name of a picture is 'adalia-9': choose 'marcuzzi-1', "),
        (("--format", "gif"), "format is 'gif': choose 'png', 'pdf' or 'svg'"),
        (("--queries", "1"), "queries is 1: it must be an integer from 2 up"),
        (("--trees", "0"), "trees is 0"),
        (("--seed", "-1"), "seed is -1"),
    ],
)
def test_a_mistake_is_one_line(options: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    answer = run("--out", str(tmp_path / "out"), *options)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    for out in (path, path / "below"):
        answer = run("--out", str(out), "--only", "svore-5")
        assert answer.returncode == 2
        assert "pictures need a folder" in answer.stderr
        assert answer.stderr.count("\n") == 1
    assert path.read_text() == "mine"


# A module that is None cannot be imported: as if it were not installed.
WITHOUT = "import sys; sys.modules['matplotlib'] = None; "


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    code = f"{WITHOUT}from rankforce.cli import main; sys.exit(main(['figures', '--out', {out!r}]))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert answer.stderr == (
        "rankforce figures: pictures need matplotlib: pip install 'rankforce[plots]'\n"
    )
    assert not (tmp_path / "out").exists()


def test_plots_import_without_matplotlib_and_every_function_says_what_it_needs() -> None:
    code = f"""{WITHOUT}
import rankforce as rf
from rankforce.diagnostics import Curves
run = Curves([1], {{}}, {{}})
calls = {{
    "rank_weights": ("ranknet",), "candidate_pairs": (["ranknet"],), "pair_costs": (),
    "schedules": (), "forces": ([1, 0], [1, 0], "ranknet"), "save": (None, "a.png"),
}}
for name in rf.plots.__all__:
    try:
        getattr(rf.plots, name)(*calls.get(name, (run,)))
    except ValueError as error:
        print(name, error)
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    import rankforce as rf

    assert answer.stdout.splitlines() == [
        f"{name} pictures need matplotlib: pip install 'rankforce[plots]'"
        for name in rf.plots.__all__
    ]
