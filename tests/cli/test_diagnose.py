from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankforce as rf
from rankforce.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("diagnose")
    for number, name in enumerate(("train.txt", "vali.txt")):
        from rankforce.formats.write import write

        write(rf.make_data("yahoo", queries=25, seed=number), place / name)
    arguments = ["--trees", "6", "--num-leaves", "5", "-k", "5", "--diagnose", "2", "--quiet"]
    files = ["--train", str(place / "train.txt"), "--valid", str(place / "vali.txt")]
    assert main(["train", *files, *arguments, "--out", str(place / "run")]) == 0
    return place


def test_prints_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--model", str(folder / "run"), "--data", str(folder / "vali.txt")]
    assert main(["diagnose", *files, "--every", "2", "--metric", "ndcg@5,p@5"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("vali.txt, 25 queries: objective LambdaRank-NDCG, k 5, top 3")
    assert shown.splitlines()[2].split() == ["trees", "1", "3", "5", "6"]
    for name in ("restricted", "without_force", "overall", "NDCG@5", "P@5"):
        assert name in shown
    assert "rank_changes: share of positions" in shown


def test_json_is_what_the_library_gives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--model", str(folder / "run"), "--data", str(folder / "vali.txt")]
    out = folder / "curves.json"
    options = ["--what", "pairs", "--objective", "lambdagap-x", "--against", "ranknet"]
    options += ["--missed", "label"]
    assert main(["diagnose", *files, *options, "--json", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    curves = rf.diagnose(
        folder / "run",
        rf.read(folder / "vali.txt"),
        objective=rf.objective("lambdagap-x", k=5),
        against=rf.objective("ranknet"),
        what="pairs",
        missed="label",
        name="vali.txt",
        queries=None,
    )
    assert json.loads(out.read_text()) == curves.record()


def test_training_records_and_remembers_its_files(folder: Path) -> None:
    model = rf.load(folder / "run").model_
    assert model.diagnostics is not None
    assert model.diagnostics.trees == [1, 3, 5, 6]
    files = {"training": "train.txt", "valid_0": "vali.txt"}
    assert model.files == {name: {"file": str(folder / file)} for name, file in files.items()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--what", "pears"], "diagnostic is 'pears': choose 'incoherence'"),
        (["--objective", "rankent"], "unknown objective 'rankent'"),
        (["--every", "0"], "every is 0: it must be an integer from 1 up"),
        (["--top", "0"], "top is 0"),
        (["-k", "0"], "k is 0"),
        (["--metric", "ndgc@5"], "ndgc"),
        (["--data", "nowhere.txt"], "cannot read nowhere.txt"),
        (["--model", "nowhere"], "cannot read a model from nowhere"),
    ],
)
def test_mistakes(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--model", str(folder / "run"), "--data", str(folder / "vali.txt")]
    assert main(["diagnose", *files, *options]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("rankforce diagnose: ")
    assert message in shown
    assert len(shown.splitlines()) == 1


def test_a_wrong_setting_for_training() -> None:
    data = rf.make_data("yahoo", queries=5)
    with pytest.raises(ValueError, match=r"diagnose is \{'evry': 3\}: .*evry"):
        rf.train({"train": data, "diagnose": {"evry": 3}})
    with pytest.raises(ValueError, match="diagnose is -1: every is -1"):
        rf.train({"train": data, "diagnose": -1})


def test_training_logs_to_tensorboard(folder: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    files = ["--train", str(folder / "train.txt"), "--valid", str(folder / "vali.txt")]
    options = ["--trees", "3", "--diagnose", "2", "--quiet", "--out", str(tmp_path / "run")]
    assert main(["train", *files, *options, "--log-to", f"tensorboard:{tmp_path / 'log'}"]) == 0
    events = EventAccumulator(str(tmp_path / "log")).Reload()
    seen = [event.step for event in events.Scalars("incoherence/restricted")]
    assert seen == [1, 3]
    assert [event.step for event in events.Scalars("valid_0/ndcg@10")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("wandb", "log_to: where is 'wandb': choose 'tensorboard' or 'mlflow'"),
        ("tensorboard", "log_to: TensorBoard reads a folder: give folder="),
        ({"where": "tensorboard", "place": "x"}, "log_to: .*place"),
    ],
)
def test_wrong_places_to_log_to(wanted: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.train({"train": rf.make_data("yahoo", queries=5), "log_to": wanted})
