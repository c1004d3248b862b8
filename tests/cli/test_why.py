"""explain --pair and --enter as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.diagnostics.why import enter_several, show_entries
from rankforce.formats.write import write
from tests.cli.inside import run_inside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data file, a model, and its scores."""
    place = tmp_path_factory.mktemp("why")
    write(rf.make_data("mslr", queries=8, seed=2), place / "vali.txt")
    data = rf.read(place / "vali.txt")
    ranker = rf.Ranker(n_estimators=8, num_leaves=5, progress=False).fit(data)
    ranker.save(place / "run")
    (place / "scores.txt").write_text(
        "".join(f"{one!r}\n" for one in ranker.predict(data).tolist())
    )
    return place


@pytest.fixture(scope="module")
def opened(folder: Path) -> tuple[rf.Ranker, rf.RankingData]:
    return rf.load(folder / "run"), rf.read(folder / "vali.txt")


def shown(folder: Path, *options: str) -> str:
    files = ("--model", folder / "run", "--data", folder / "vali.txt", "--query", "4")
    answer = run_inside("explain", *files, *options, COLUMNS="80")
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_pair(folder: Path, opened: tuple[rf.Ranker, rf.RankingData]) -> None:
    found = rf.why(*opened, query=4, pair=("#1", "#9"))
    text = shown(folder, "--pair", "#1", "#9", "--top", "3")
    assert text == found.table(80, top=3, encoding="utf-8") + "\n"
    record = json.loads(shown(folder, "--pair", "#1", "#9", "--json"))
    assert record == json.loads(json.dumps(found.record()))


def test_a_document_that_would_enter(
    folder: Path, opened: tuple[rf.Ranker, rf.RankingData]
) -> None:
    found = rf.enter(*opened, query=4, document="#12")
    assert shown(folder, "--enter", "#12") == found.table(80, top=20, encoding="utf-8") + "\n"
    names = [one.feature for one in found.changes[:2]]
    options = ("--enter", "#12", "-k", "9", "--fixed", ",".join(names), "--json")
    fixed = rf.enter(*opened, query=4, document="#12", k=9, fixed=names)
    assert json.loads(shown(folder, *options)) == json.loads(json.dumps(fixed.record()))
    assert fixed.features == found.features - len(names)


def test_the_next_documents(folder: Path, opened: tuple[rf.Ranker, rf.RankingData]) -> None:
    several = enter_several(*opened, query=4, k=3)
    assert shown(folder, "--enter", "-k", "3") == show_entries(several, encoding="utf-8") + "\n"
    records = json.loads(shown(folder, "--enter", "-k", "3", "--json"))
    assert [one["document"]["rank"] for one in records] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "run", "--pair", "#1", "x"], "there are 8 queries: give the id of one"),
        (["--model", "run", "--query", "4", "--pair", "#1", "x"], "no document 'x' among the"),
        (["--model", "run", "--pair", "#1", "#2", "--enter"], "give --pair or --enter, one of"),
        (["--scores", "scores.txt", "--pair", "#1", "#2"], "--pair and --enter need --model"),
        (["--model", "run", "--pair", "#1", "#2", "--fixed", "3"], "--fixed is for --enter"),
        (["--model", "run", "--fixed", "3"], "--fixed is for --enter"),
        (["--model", "run", "--enter", "--norm", "std"], "--objective and --norm are for forces"),
        (["--model", "run", "--query", "4", "--enter", "-k", "0"], "k is 0: it must be an int"),
    ],
)
def test_a_mistake_is_one_line(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder / one) if one in ("run", "scores.txt") else one for one in options]
    assert main(["explain", *given, "--data", str(folder / "vali.txt")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
