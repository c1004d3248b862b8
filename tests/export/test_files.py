"""Models as files of other programs: those programs score as `predict` does, or are refused."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.models.export.registry import EXPORTERS, export
from rankforce.models.export.rows import SHOWN
from rankforce.models.forest.tree import MISSING_SHIFT, MISSING_ZERO
from rankforce.models.load import plain_model
from tests.export.cases import (
    CASES,
    COLUMNS,
    FORESTS,
    LARGEST,
    ROWS,
    Case,
    agrees,
    from_trees,
    leaf,
    make_case,
    make_rows,
    stump,
    train_set,
    with_holes,
)
from tests.export.runtimes import RUNTIMES, build, compiled_scores, onnx_scores

TREES = [*FORESTS, "linear on trees"]
# What a form cannot say, and a part of the sentence.
ZEROS, NETWORK = "takes zeros for missing values", "this model is a"
REFUSED = {(to, "zero as missing"): ZEROS for to in ("xgboost", "treelite")}
REFUSED |= {(to, name): NETWORK for to in ("c", "xgboost", "treelite") for name in CASES} | REFUSED
REFUSED = {key: why for key, why in REFUSED.items() if why is ZEROS or key[1] not in TREES}
REFUSED["onnx", "mlp upon trees"] = "begin with those of another model"
EXACT = ("onnx", "c", "treelite")  # to the bit, of trees
FLOAT = 1e-5  # of the largest score: sums in float32


# PyTorch takes its time with the pieces of quantiles, and with attention.
LONG = [("linear", "onnx"), ("attention", "onnx")]
PAIRS = [
    pytest.param(name, to, marks=[pytest.mark.slow] if (name, to) in LONG else [])
    for name in CASES
    for to in RUNTIMES
]


@pytest.mark.parametrize(("name", "to"), PAIRS)
def test_a_form_scores_as_predict_does_or_is_refused(name: str, to: str) -> None:
    case = make_case(name)
    if (to, name) in REFUSED:
        with pytest.raises(rf.RankforceError, match=REFUSED[to, name]) as told:
            export(case.model, to)
        assert "\n" not in str(told.value)
        return
    got = RUNTIMES[to](case, export(case.model, to))
    is_exact = to in EXACT and name in FORESTS
    agrees(case.expected, got, within=0.0 if is_exact else FLOAT * np.abs(case.expected).max())


def test_onnx_on_several_threads_adds_in_another_order() -> None:
    case = make_case("missing")
    got = onnx_scores(case, export(case.model, "onnx"), threads=2)
    assert agrees(case.expected, got, within=1e-13) < 1e-13


@pytest.mark.parametrize("to", RUNTIMES)
def test_zeros_that_go_with_their_neighbours_can_be_said_by_all(to: str) -> None:
    zero, left = MISSING_ZERO << MISSING_SHIFT, 2
    rules = [(1.5, zero | left), (-1.5, zero), (0.0, zero | left), (0.0, zero), (1e-35, zero)]
    stumps = [stump(n, at, rule, (2.0**n, -(3.0**n))) for n, (at, rule) in enumerate(rules)]
    case = made_by_hand(from_trees(stumps))
    leaves = case.ranker.predict(case.rows, pred_leaf=True)
    assert (np.ptp(leaves, axis=0) == 1).all()
    agrees(case.expected, RUNTIMES[to](case, export(case.model, to)), within=0.0)


@pytest.mark.parametrize("to", EXACT)
def test_the_largest_float32_is_on_the_right_side_too(to: str) -> None:
    ranker = make_case("edges").ranker
    rows = np.full((2 * 100, COLUMNS), LARGEST, np.float32)
    rows[::2] *= -1
    case = Case("ends", ranker, rows, ranker.predict(rows))
    assert np.array_equal(RUNTIMES[to](case, export(case.model, to)), case.expected)


@pytest.mark.parametrize("to", RUNTIMES)
def test_constants_alone_are_scores_and_so_is_nothing(to: str) -> None:
    for trees, score in (([leaf(-2.5), leaf(0.25)], -2.25), ([], 0.0)):
        case = made_by_hand(from_trees(trees))
        assert np.array_equal(RUNTIMES[to](case, export(case.model, to)), np.full(ROWS, score))


def made_by_hand(ranker: rf.Ranker) -> Case:
    rows = make_rows(ranker.model_)
    return Case("by hand", ranker, rows, ranker.predict(rows))


def test_a_module_of_ones_own_is_exported_or_the_reason_told() -> None:
    import torch

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weigh = torch.nn.Linear(COLUMNS, 1)

        def forward(self, rows: Any) -> Any:
            return self.weigh(rows)

    class Undecided(Plain):
        def forward(self, rows: Any) -> Any:
            return self.weigh(rows) * (1.0 if float(rows.detach().sum()) > 0 else 2.0)

    class Counting(Plain):
        def forward(self, rows: Any) -> Any:
            return self.weigh(rows) / len(rows)

    features, labels, group, _ = train_set()
    small: dict[str, Any] = {"epochs": 1, "threads": 1, "progress": False}
    ranker, *others = (
        rf.Ranker(model=kind(), **small).fit(features, labels, group=group)
        for kind in (Plain, Undecided, Counting)
    )
    case = Case("own", ranker, features, ranker.predict(features))
    got = onnx_scores(case, export(ranker.model_, "onnx"))
    assert got == pytest.approx(case.expected, rel=1e-5, abs=1e-5)
    for other, why in zip(others, ("Undecided: Could", "Counting: it takes"), strict=True):
        with pytest.raises(rf.RankforceError, match=rf"cannot export the module .*{why}"):
            export(other.model_, "onnx")


# What goes with a file.


def test_names_of_features_go_with_the_file() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    names = train_set()[3]
    model = make_case("plain").model
    session = onnxruntime.InferenceSession(export(model, "onnx").content)
    known = session.get_modelmeta().custom_metadata_map["feature_names"]
    assert json.loads(known) == names
    learner = json.loads(export(model, "xgboost").content)["learner"]
    assert learner["feature_names"] == names


def test_strange_names_are_no_danger_in_c(tmp_path: Path) -> None:
    features, labels, group, _ = train_set()
    names = ['a"; int x;//', "*/ #error", "??/", "\\", "größe", *map(str, range(COLUMNS - 5))]
    ranker = rf.Ranker(n_estimators=2, num_leaves=3, threads=1, progress=False)
    ranker.fit(features, labels, group=group, feature_name=names)
    library = build(export(ranker.model_, "c").content, tmp_path)
    assert np.array_equal(compiled_scores(library, features), ranker.predict(features))


def test_codes_of_categories_are_told() -> None:
    pandas = pytest.importorskip("pandas")
    features, labels, group, names = train_set()
    frame = pandas.DataFrame(features, columns=names)
    frame[names[0]] = pandas.Categorical([f"k{code:.0f}" for code in features[:, 0]])
    ranker = rf.Ranker(n_estimators=2, threads=1, progress=False).fit(frame, labels, group=group)
    told = export(ranker.model_, "onnx").told[-1]
    assert told.startswith(f"feature {names[0]!r} is given as its code: 0 for 'k0', 1 for 'k1', ")
    assert told.endswith(", ...")
    assert told.count(" for ") == SHOWN


@pytest.mark.slow
def test_a_thousand_trees_compile_in_seconds(tmp_path: Path) -> None:
    case = make_case("categorical")
    ranker = from_trees([*case.model.trees] * 10)
    start = time.perf_counter()
    library = build(export(ranker.model_, "c").content, tmp_path)
    assert time.perf_counter() - start < 20
    rows = case.rows[:300]
    assert np.array_equal(compiled_scores(library, rows), ranker.predict(rows))


def test_the_text_of_a_model_says_what_converters_ask_for() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.Booster(model_str=make_case("plain").model.text())
    # onnxmltools asks the parameters, then the dump, for an objective that it knows.
    assert booster.params["objective"] == "regression"
    assert booster.dump_model()["objective"] == "regression"
    for name in ("plain", "committee"):
        older = make_case(name).model.text().replace("objective=regression", "objective=custom")
        again = plain_model(older.encode(), Path("model.txt"))
        case = make_case(name)
        assert np.array_equal(again.scores(case.rows), case.expected)


# What is refused.


@pytest.mark.parametrize("to", RUNTIMES)
def test_more_than_the_file_can_hold_is_refused(to: str) -> None:
    features, labels, group, _ = train_set()
    small: dict[str, Any] = {"n_estimators": 2, "num_leaves": 3, "threads": 1, "progress": False}
    base = make_case("mlp").ranker
    upon = rf.Ranker(base=base, **small).fit(with_holes(features), labels, group=group)
    with pytest.raises(rf.RankforceError, match=f"to is '{to}': .*another model"):
        export(upon.model_, to)
    holes = rf.Ranker(missing=-1, **small).fit(features, labels, group=group)
    with pytest.raises(rf.RankforceError, match="missing=-1"):
        export(holes.model_, to)
    with pytest.raises(rf.RankforceError, match="leave out features"):
        make_case("one leaf").ranker.export("nowhere", to=to, features={"a": "b"})


def test_an_unknown_form_names_the_choices() -> None:
    with pytest.raises(rf.RankforceError, match=r"to is 'pmml': expected one of onnx, c, "):
        make_case("one leaf").ranker.export("nowhere", to="pmml")


@pytest.mark.parametrize(("to", "library"), [("onnx", "onnx"), ("treelite", "treelite")])
def test_a_missing_library_is_named(to: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(rf.RankforceError, match=rf"needs {library}: pip install 'rankforce\["):
        export(make_case("one leaf").model, to)


# The ranker and the command line.


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    ranker = make_case("zero as missing").ranker
    with pytest.raises(rf.RankforceError, match="node"):
        ranker.export(tmp_path / "ranker.json", to="xgboost")
    assert list(tmp_path.iterdir()) == []
    told = ranker.export(tmp_path / "ranker.c", to="c")
    assert told[0] == f"compile with: cc -std=c99 -O2 -c '{tmp_path}/ranker.c' (C99, no libraries)"
    assert [file.name for file in tmp_path.iterdir()] == ["ranker.c"]
    with pytest.raises(rf.RankforceError, match="cannot be written"):
        ranker.export(tmp_path / "no" / "ranker.c", to="c")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "rankforce", "export", *arguments]
    return subprocess.run(whole, capture_output=True, text=True, check=False)


def test_the_command_line_exports(tmp_path: Path) -> None:
    case = make_case("constants")
    case.ranker.save(tmp_path / "run")
    target = tmp_path / "ranker.onnx"
    answer = command(str(tmp_path / "run"), "--to", "onnx", "--out", str(target))
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(f"scores: onnxruntime.InferenceSession('{target}').run(")
    assert target.read_bytes() == export(case.model, "onnx").content


def test_the_command_line_lists_and_explains() -> None:
    listed = command("--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(EXPORTERS)
    answer = command("run/", "--to", "c")
    assert answer.returncode == 2
    assert answer.stderr.startswith("rankforce export: --out is missing")
