"""rankforce compare, and rankforce evaluate on runs, as a user runs them: real files."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.formats.write import write
from tests.cli.inside import said

QRELS = {f"q{n}": {f"d{d}": (d + n) % 3 for d in range(5)} for n in range(6)}


class Answer(NamedTuple):
    code: Any
    out: str
    err: str


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, two files of scores, a saved model, LightGBM's text of it, qrels and two runs."""
    place = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    sizes = [6] * 10
    labels = rng.integers(0, 3, 60)
    features = rng.normal(size=(60, 3)) + labels[:, None] * [1.0, 0.5, 0.0]
    data = rf.RankingData(features, labels, qid=np.repeat(np.arange(101, 111), sizes))
    write(data, place / "test.txt")
    ranker = rf.Ranker(n_estimators=3, num_leaves=4, min_child_samples=2, progress=False)
    ranker.fit(data).save(place / "model")
    (place / "lightgbm.txt").write_text(ranker.model_.text())
    for name, noise in (("old", 2.0), ("new", 0.5)):
        scores = (labels + noise * rng.normal(size=60)).tolist()
        write_scores(place / f"{name}.txt", scores)
        (place / name).mkdir()
        write_scores(place / name / "scores.txt", scores)
    rf.write_qrels(QRELS, place / "test.qrels")
    for name in ("bm25", "bert"):
        run = {q: {d: float(rng.normal()) for d in documents} for q, documents in QRELS.items()}
        rf.write_run(run, place / f"{name}.run")
    return place


def write_scores(path: Path, scores: list[float]) -> None:
    path.write_text("".join(f"{score!r}\n" for score in scores))


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(home)

    def call(*arguments: str) -> Answer:
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = stop.code
        return Answer(code, *capsys.readouterr())

    return call


def compared(run: Any, *arguments: str) -> Any:
    """What the verb says in JSON."""
    answer = run("compare", *arguments, "--format", "json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def told_systems(record: Any) -> list[str]:
    return [system["system"] for system in record["systems"]]


DATA = ("--data", "test.txt")
RUNS = ("bm25.run", "bert.run", "--qrels", "test.qrels")


class TestSystems:
    def test_scores(self, run: Any, home: Path) -> None:
        data = rf.read(home / "test.txt")
        systems = {name: np.loadtxt(home / f"{name}.txt") for name in ("old", "new")}
        expected = rf.compare(systems, data, metric="ndcg@10").record()
        assert compared(run, "old.txt", "new.txt", *DATA) == expected

    def test_a_real_process(self, home: Path) -> None:
        command = [sys.executable, "-m", "rankforce", "compare", "old.txt", "new.txt", *DATA]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home)
        assert answer.returncode == 0, answer.stderr
        data = rf.read(home / "test.txt")
        systems = {name: np.loadtxt(home / f"{name}.txt") for name in ("old", "new")}
        assert answer.stdout == rf.compare(systems, data).table() + "\n"
        assert said(answer.stderr) == ""

    def test_models(self, run: Any, home: Path) -> None:
        found = compared(run, "model/", "lightgbm.txt", "old.txt", *DATA, "--metric", "p@3")
        data = rf.read(home / "test.txt")
        scores = rf.load(home / "model").predict(data)
        expected = rf.metric("p@3")(scores, data.labels, qid=data.qid).mean()
        assert told_systems(found) == ["model", "lightgbm", "old"]
        assert [system["mean"] for system in found["systems"][:2]] == [expected] * 2

    def test_runs(self, run: Any, home: Path) -> None:
        found = compared(run, *RUNS, "--metric", "ndcg@3", "--preset", "trec_eval")
        systems = {name: home / f"{name}.run" for name in ("bm25", "bert")}
        metric = rf.metric("ndcg@3", preset="trec_eval")
        assert found == rf.compare(systems, home / "test.qrels", metric=metric).record()
        assert found["metric"] == "NDCG@3(trec_eval)"

    def test_options_reach_the_library(self, run: Any, home: Path) -> None:
        found = compared(
            run, "old.txt", "new.txt", "model", *DATA,
            "--metric", "mrr", "--no-relevant", "skip", "--test", "bootstrap", "--correction", "bh",
            "--alternative", "better", "--resamples", "500", "--confidence", "0.9", "--seed", "4",
            "--threads", "2",
        )  # fmt: skip
        data = rf.read(home / "test.txt")
        systems: dict[str, Any] = {n: np.loadtxt(home / f"{n}.txt") for n in ("old", "new")}
        systems["model"] = rf.load(home / "model")
        expected = rf.compare(
            systems,
            data,
            metric=rf.metric("mrr", no_relevant="skip"),
            test="bootstrap",
            correction="bh",
            alternative="better",
            resamples=500,
            confidence=0.9,
            seed=4,
        )
        assert found == expected.record()

    @pytest.mark.parametrize("missing", ["zero", "skip"])
    def test_missing(self, run: Any, home: Path, missing: str) -> None:
        lines = (home / "bert.run").read_text().splitlines()
        kept = [line for line in lines if not line.startswith("q2 ")]
        (home / "part.run").write_text("\n".join(kept) + "\n")
        told = ("bm25.run", "part.run", "--qrels", "test.qrels")
        found = compared(run, *told, "--missing", missing)
        assert found["queries"] == {"zero": 6, "skip": 5}[missing]
        answer = run("compare", *told)
        assert answer.code == 2
        assert "query 'q2' is judged, but run 'part' has no document for it" in answer.err


class TestNames:
    def test_given(self, run: Any) -> None:
        found = compared(run, "before=old.txt", "new.txt", *DATA)
        assert told_systems(found) == ["before", "new"]
        assert found["baseline"] == "before"

    def test_a_path_with_an_equals_sign(self, run: Any, home: Path) -> None:
        (home / "k1=0.9.txt").write_text((home / "old.txt").read_text())
        found = compared(run, "k1=0.9.txt", "k=k1=0.9.txt", *DATA)
        assert told_systems(found) == ["k1=0.9.txt", "k"]

    def test_same_stems_in_different_folders(self, run: Any) -> None:
        found = compared(run, "old/scores.txt", "new/scores.txt", *DATA)
        assert told_systems(found) == ["old/scores.txt", "new/scores.txt"]

    def test_same_name_twice(self, run: Any) -> None:
        answer = run("compare", "x=old.txt", "x=new.txt", *DATA)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "two systems are called 'x': name them, as in new=new.txt" in answer.err

    @pytest.mark.parametrize(
        ("baseline", "expected"),
        [
            ("new", "new"),
            ("new.txt", "new"),
            ("model", "model"),
            ("model/", "model"),
            ("./model", None),
            ("scores", None),
        ],
    )
    def test_baseline(self, run: Any, baseline: str, expected: str | None) -> None:
        told = ("old.txt", "new.txt", "model/", *DATA, "--baseline", baseline)
        if expected is not None:
            assert compared(run, *told)["baseline"] == expected
            return
        answer = run("compare", *told)
        assert answer.code == 2
        assert f"baseline {baseline!r} is none of the systems: old, new, model\n" in answer.err

    @pytest.mark.parametrize("given", ["m=model", "m=model/"])
    @pytest.mark.parametrize("baseline", ["m", "model", "model/"])
    def test_baseline_by_path_of_a_named_system(self, run: Any, given: str, baseline: str) -> None:
        assert compared(run, "old.txt", given, *DATA, "--baseline", baseline)["baseline"] == "m"

    def test_baseline_among_same_stems(self, run: Any) -> None:
        told = ("old/scores.txt", "new/scores.txt", *DATA)
        found = compared(run, *told, "--baseline", "new/scores.txt")
        assert found["baseline"] == "new/scores.txt"


class TestOutput:
    TOLD = ("compare", "old.txt", "new.txt", *DATA)

    @pytest.mark.parametrize(
        ("format", "begins"),
        [
            ("text", "system "),
            ("markdown", "| system | NDCG@10 |"),
            ("latex", r"% needs \usepackage{booktabs"),
            ("html", "<table>\n"),
            ("csv", "system,mean,"),
            ("json", "{\n"),
        ],
    )
    def test_formats(self, run: Any, tmp_path: Path, format: str, begins: str) -> None:
        answer = run(*self.TOLD, "--format", format)
        assert answer.code == 0
        assert answer.out.startswith(begins)
        path = tmp_path / "table"
        quiet = run(*self.TOLD, "--format", format, "--out", str(path))
        assert (quiet.code, quiet.out) == (0, "")
        assert path.read_bytes().decode() == answer.out

    def test_several_metrics_as_csv(self, run: Any) -> None:
        text = run(*self.TOLD, "--format", "csv", "--metric", "ndcg@5,mrr,arpb@2").out
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert [(row["metric"], row["system"]) for row in rows] == [
            (metric, system) for metric in ("NDCG@5", "MRR", "ARPb@2") for system in ("old", "new")
        ]

    def test_several_metrics_as_json(self, run: Any) -> None:
        found = compared(run, *self.TOLD[1:], "--metric", "ndcg@5, p@3(rel=2, over=k)")
        assert [record["metric"] for record in found] == ["NDCG@5", "P@3(rel=2, over=k)"]

    @pytest.mark.parametrize("format", ["text", "markdown", "latex", "html"])
    def test_several_metrics_as_tables(self, run: Any, format: str) -> None:
        answer = run(*self.TOLD, "--format", format, "--metric", "ndcg@5,mrr")
        assert answer.out.index("NDCG@5") < answer.out.index("MRR")

    @pytest.mark.parametrize("format", ["text", "markdown", "latex", "html"])
    def test_moved(self, run: Any, format: str) -> None:
        answer = run(*self.TOLD, "--moved", "3", "--format", format)
        plain = run(*self.TOLD, "--format", format)
        assert answer.out.startswith(plain.out.rstrip("\n"))
        more = answer.out[len(plain.out) :]
        assert "Queries whose NDCG@10 moved most, old to new" in more
        assert len(re.findall(r"\b1(?:0[1-9]|10)\b", more)) == 3

    def test_moved_as_json(self, run: Any, home: Path) -> None:
        found = compared(run, *self.TOLD[1:], "--moved", "2")
        data = rf.read(home / "test.txt")
        systems = {name: np.loadtxt(home / f"{name}.txt") for name in ("old", "new")}
        expected = rf.compare(systems, data).moved("new", 2)
        assert found["moved"] == {
            "new": [one._asdict() | {"difference": one.difference} for one in expected]
        }

    def test_moved_has_no_place_in_csv(self, run: Any) -> None:
        answer = run(*self.TOLD, "--moved", "2", "--format", "csv")
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert "CSV has no place for the queries that moved" in answer.err

    def test_percent_and_digits(self, run: Any) -> None:
        answer = run(*self.TOLD, "--percent", "--digits", "1", "--metric", "ndcg@10,arpb@2")
        share, ranks = answer.out.split("\n\nsystem")
        assert "NDCG@10 (%)" in share
        assert "(%)" not in ranks


class TestEvaluate:
    def test_run(self, run: Any, home: Path) -> None:
        told = ("evaluate", "--run", "bm25.run", "--qrels", "test.qrels", "--metric", "ndcg@3,map")
        metrics = [rf.metric(name, preset="trec_eval") for name in ("ndcg@3", "map")]
        expected = rf.evaluate(home / "bm25.run", home / "test.qrels", metrics)
        answer = run(*told, "--preset", "trec_eval")
        assert answer == Answer(0, expected.table() + "\n", "")
        answer = run(*told, "--preset", "trec_eval", "--json", "--per-query")
        assert json.loads(answer.out) == expected.record(per_query=True)
        answer = run(*told, "--preset", "trec_eval", "--per-query")
        assert answer.out.splitlines()[0].split("\t") == ["query", *expected.means]
        assert [line.split("\t")[0] for line in answer.out.splitlines()[1:]] == list(QRELS)

    def test_model_and_scores_as_json(self, run: Any, home: Path) -> None:
        data = rf.read(home / "test.txt")
        for key, path, system in (
            ("--model", "model", rf.load(home / "model")),
            ("--model", "lightgbm.txt", rf.load(home / "model")),
            ("--scores", "old.txt", np.loadtxt(home / "old.txt")),
        ):
            answer = run("evaluate", key, path, *DATA, "--metric", "ndcg@5,arp", "--json")
            assert json.loads(answer.out) == rf.evaluate(system, data, "ndcg@5,arp").record()

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--data", "test.txt"), "give --model or --scores"),
            (("--model", "model", "--scores", "old.txt", *DATA), "one of them"),
            (("--run", "bm25.run", *DATA), "--run goes with --qrels"),
            (("--model", "model", "--qrels", "test.qrels"), "--run goes with --qrels"),
            (("--run", "bm25.run", "--qrels", "test.qrels", *DATA), "one of the two"),
            (("--run", "test.qrels", "--qrels", "test.qrels"), "test.qrels, line 1"),
            (("--run", "bm25.run", "--qrels", "bm25.run"), "bm25.run, line 1"),
            (("--scores", "old.txt", *DATA, "--metric", "p@5,p@5"), "two metrics are called P@5"),
            (("--scores", "old.txt", *DATA, "--preset", "lucene"), "preset is 'lucene': choose"),
        ],
    )
    def test_mistakes(self, run: Any, arguments: tuple[str, ...], words: str) -> None:
        answer = run("evaluate", *arguments)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert words in answer.err


BROKEN = {
    "short.txt": "1.0\n2.0\n3.0\n",
    "long.txt": "1.0\n" * 61,
    "text.txt": "1.0\n2.0\nthree\n" + "1.0\n" * 57,
    "two.txt": "1.0 2.0\n" * 60,
    "nan.txt": "1.0\n" * 7 + "nan\n" + "1.0\n" * 52,
    "empty.txt": "",
    "twice.run": "q0 Q0 d1 1 2.0 t\nq0 Q0 d2 2 1.5 t\nq0 Q0 d1 3 1.0 t\n",
    "word.run": "q0 Q0 d1 1 2.0 t\nq0 Q0 d2 2 high t\n",
    "few.run": "q0 Q0 d1 1 2.0 t\nq0 Q0 d2 2\n",
    "narrow.csv": "qid,label,age\n1,1,2\n1,0,3\n",
}


class TestBrokenFiles:
    """Exit code 2, nothing printed, one line that names the file and where in it."""

    @pytest.fixture(autouse=True)
    def broken(self, home: Path) -> None:
        for name, text in BROKEN.items():
            (home / name).write_text(text)

    def check(self, answer: Answer, *words: str) -> None:
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1), answer
        assert answer.err.startswith("rankforce compare: ")
        for word in words:
            assert word in answer.err

    @pytest.mark.parametrize(
        ("system", "words"),
        [
            ("short.txt", ["short.txt: 3 scores, but the data has 60 rows"]),
            ("x=short.txt", ["short.txt: 3 scores, but the data has 60 rows"]),
            ("long.txt", ["long.txt: 61 scores, but the data has 60 rows"]),
            ("empty.txt", ["empty.txt: 0 scores, but the data has 60 rows"]),
            ("text.txt", ["text.txt, line 3: 'three': expected one number"]),
            ("two.txt", ["two.txt, line 1: '1.0 2.0': expected one number"]),
            ("nan.txt", ["system 'nan'", "row 7 (query 102) is nan"]),
            ("nowhere.txt", ["nowhere.txt", "No such file"]),
            ("bm25.run", ["bm25.run, line 1", "expected one number"]),
            ("old", ["old/model.txt", "No such file"]),  # a folder without a model
        ],
    )
    def test_scores_and_models(self, run: Any, system: str, words: list[str]) -> None:
        self.check(run("compare", "old.txt", system, *DATA), *words)
        self.check(run("compare", system, "old.txt", *DATA), *words)

    def test_a_model_of_other_features(self, run: Any) -> None:
        answer = run("compare", "model", "--data", "narrow.csv")
        self.check(answer, "narrow.csv has 1 features, the model was trained on 3")

    @pytest.mark.parametrize(
        ("system", "words"),
        [
            ("twice.run", ["twice.run, line 3: document 'd1' of query 'q0'", "first on line 1"]),
            ("word.run", ["word.run, line 2: the score is 'high'"]),
            ("few.run", ["few.run, line 2", "4 columns, expected 6"]),
            ("test.qrels", ["test.qrels, line 1", "this looks like a qrels file"]),
            ("old.txt", ["old.txt, line 1", "1 columns, expected 6"]),
            ("empty.txt", ["empty.txt: holds no run"]),
            ("nowhere.run", ["nowhere.run: No such file"]),
            ("model", ["model: is a folder"]),
        ],
    )
    def test_runs(self, run: Any, system: str, words: list[str]) -> None:
        self.check(run("compare", "bm25.run", system, "--qrels", "test.qrels"), *words)

    @pytest.mark.parametrize(
        ("judge", "words"),
        [
            (("--qrels", "bm25.run"), ["bm25.run, line 1", "this looks like a run file"]),
            (("--qrels", "empty.txt"), ["empty.txt: holds no qrels"]),
            (("--qrels", "nowhere"), ["nowhere: No such file"]),
            (("--data", "nowhere"), ["nowhere", "no such file"]),
            (("--data", "empty.txt"), ["empty.txt: holds no rows"]),
            (("--data", "text.txt"), ["text.txt"]),
            ((), ["give --data (for models and scores) or --qrels (for runs)"]),
            (("--data", "test.txt", "--qrels", "test.qrels"), ["one of the two"]),
        ],
    )
    def test_what_judges(self, run: Any, judge: tuple[str, ...], words: list[str]) -> None:
        self.check(run("compare", "bm25.run", "bert.run", *judge), *words)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--format", "pdf"), "the format is 'pdf': choose one of text, markdown"),
            (("--test", "wilcoxon"), "test is 'wilcoxon': choose 'fisher', 'permutation'"),
            (("--correction", "tukey"), "correction is 'tukey': choose 'none', 'holm' or 'bh'"),
            (("--alternative", "more"), "alternative is 'more': choose 'two-sided', 'better'"),
            (("--missing", "drop"), "missing is 'drop': choose 'error', 'zero' or 'skip'"),
            (("--confidence", "95"), "confidence is 95.0: it must be a number between 0 and 1"),
            (("--resamples", "10"), "resamples is 10: it must be an integer from 100 up"),
            (("--digits", "-1"), "digits is -1: it must be an integer from 0 up"),
            (("--moved", "0"), "top is 0: it must be an integer from 1 up"),
            (("--moved", "few"), "argument --moved: invalid int value: 'few'"),
            (("--threads", "0"), "threads is 0: it must be an integer from 1 up"),
            (("--metric", "nndcg"), "unknown metric 'nndcg': did you mean 'NDCG'"),
            (("--metric", "err", "--preset", "trec_eval"), "trec_eval has no ERR"),
            (("--no-relevant", "2"), "no_relevant is '2': choose 1, 0 or 'skip'"),
            (("--baseline", "x"), "baseline 'x' is none of the systems: old, new"),
        ],
    )
    def test_options(self, run: Any, options: tuple[str, ...], words: str) -> None:
        self.check(run("compare", "old.txt", "new.txt", *DATA, *options), words)

    def test_a_real_process(self, home: Path) -> None:
        command = [sys.executable, "-m", "rankforce", "compare", "old.txt", "text.txt", *DATA]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert said(answer.stderr) == (
            "rankforce compare: text.txt, line 3: 'three': expected one number\n"
        )
