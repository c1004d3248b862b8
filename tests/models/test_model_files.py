"""Models in files: what comes back, what other tools read, what is refused."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rankforce as rf

lgb = pytest.importorskip("lightgbm")

DATA = rf.make_data("mslr", queries=15, seed=1)
VALID = rf.make_data("mslr", queries=8, seed=2)
RNG = np.random.default_rng(3)
X = DATA.features.copy()
X[:, 0] = RNG.integers(0, 60, DATA.rows)  # a column of categories
Y = np.clip(DATA.labels + 2 * (X[:, 0] % 4 == 1), 0, 4)
HOLES = X.copy()
HOLES[RNG.random(X.shape) < 0.2] = np.nan
G = DATA.group
PARAMS: dict[str, Any] = {
    "n_estimators": 6,
    "num_leaves": 7,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "seed": 1,
    "threads": 1,
    "progress": False,
}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "plain": ({}, {}, X),
    "missing": ({}, {}, HOLES),
    "zeros missing": ({"zero_as_missing": True}, {}, X),
    "categories": (
        {"min_data_per_group": 5, "cat_smooth": 1.0},
        {"categorical_feature": [0]},
        X,
    ),
    "regressor first": ({"base": "regressor", "base_estimators": 3}, {}, X),
}


def fit(kind: str = "plain", **more: Any) -> rf.Ranker:
    params, given, features = KINDS[kind]
    return rf.Ranker(**PARAMS | params | more).fit(features, Y, group=G, **given)


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> tuple[str, rf.Ranker, Any]:
    ranker = fit(request.param)
    has_sets = "cat_threshold" in ranker.model_.text()
    assert has_sets == (request.param == "categories")
    return request.param, ranker, KINDS[request.param][2]


# Round trips.


def test_scores_come_back_to_the_bit(case: Any, tmp_path: Path) -> None:
    _, ranker, features = case
    ranker.save(tmp_path)
    again = rf.load(tmp_path)
    for count in (None, 1, 3):
        expected = ranker.predict(features, num_iteration=count)
        assert np.array_equal(again.predict(features, num_iteration=count), expected)
    again.save(tmp_path / "twice")
    for name in ("model.txt", "manifest.json"):
        assert (tmp_path / "twice" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_the_folder_holds_two_text_files_and_no_pickle(case: Any, tmp_path: Path) -> None:
    _, ranker, _ = case
    ranker.save(tmp_path / "deep" / "down")
    names = {path.name for path in (tmp_path / "deep" / "down").iterdir()}
    assert names == {"model.txt", "manifest.json"}
    for name in names:
        content = (tmp_path / "deep" / "down" / name).read_bytes()
        content.decode("utf-8")
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever pickle says
            pickle.loads(content)


def test_loading_runs_no_code(tmp_path: Path) -> None:
    """No reader of Python objects is imported by the files that load, and none is called."""
    source = Path(rf.__file__).parent
    own = [
        *source.glob("models/**/*.py"),
        source / "common/files.py",
        source / "training/ranker.py",
    ]
    assert len(own) > 5
    for file in own:
        words = re.findall(r"\b(pickle|joblib|eval|exec|marshal|shelve)\b\(?", file.read_text())
        assert words == [], file
    fit().save(tmp_path)
    record = json.loads((tmp_path / "manifest.json").read_text())
    marker = tmp_path / "ran"
    record["objective"] = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    record["parameters"]["gain"] = record["objective"]
    (tmp_path / "manifest.json").write_text(json.dumps(record))
    rf.load(tmp_path).predict(X)
    assert not marker.exists()


def test_the_manifest_says_what_the_text_does_not(tmp_path: Path) -> None:
    ranker = rf.Ranker("lambdarank-ndcg", k=7, max_bin=63, **PARAMS).fit(
        X,
        Y,
        group=G,
        feature_name=[f"f{column}" for column in range(X.shape[1])],
        eval_set=[(VALID.features, VALID.labels)],
        eval_group=[VALID.group],
        eval_metric=["ndcg@7", "p@3"],
        early_stopping_rounds=4,
    )
    ranker.save(tmp_path)
    record = json.loads((tmp_path / "manifest.json").read_text())
    assert record["format"] == 1
    assert record["objective"] == repr(rf.objective("lambdarank-ndcg", k=7, seed=1))
    expected = {"k": 7, "num_leaves": 7, "learning_rate": 0.3, "seed": 1, "max_bin": 63}
    assert expected.items() <= record["parameters"].items()
    assert record["parameters"]["early_stopping_rounds"] == 4
    assert record["trees"] == record["used"] == record["best_iteration"] == ranker.best_iteration_
    assert record["metrics"] == ranker.evals_result_
    assert record["feature_names"] == [f"f{column}" for column in range(X.shape[1])]
    assert record["data"]["training"]["rows"] == len(Y)
    assert record["data"]["training"]["queries"] == len(G)
    assert record["versions"]["lightgbm"] == lgb.__version__
    assert record["finished"] is True
    assert "parameters:\n[boosting: gbdt]" in (tmp_path / "model.txt").read_text()


def test_the_settings_come_back(tmp_path: Path) -> None:
    params = {"objective": "lambdagap-x+", "k": 5, "max_bin": 31}
    ranker = rf.Ranker(**PARAMS | params | {"subsample": 0.7, "min_split_gain": 0.01})
    ranker.fit(X, Y, group=G).save(tmp_path)
    again, settings = rf.load(tmp_path).settings(), ranker.settings()
    assert again.make_objective() == settings.make_objective()
    for name in ("learning_rate", "num_leaves", "subsample", "min_split_gain", "engine", "seed"):
        assert getattr(again, name) == getattr(settings, name)
    assert rf.load(tmp_path).score(VALID) == ranker.score(VALID)
    assert rf.load(tmp_path).fit(X, Y, group=G).model_.trees[0].leaves > 1


@pytest.mark.parametrize("tau", [np.inf, 4])
def test_truncation_comes_back(tau: float, tmp_path: Path) -> None:
    ranker = fit(tau=tau, k=3)
    ranker.save(tmp_path)
    assert rf.load(tmp_path).settings().make_objective() == ranker.settings().make_objective()


def pair_weight(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return y_hi - y_lo


OWN: dict[str, dict[str, Any]] = {
    "pair weight": {"objective": pair_weight},
    "gain": {"gain": lambda label: 3.0 * label},
    "table of gains": {"gain": [0.0, 1.0, 5.0, 9.0, 20.0]},
    "made objective": {"objective": rf.objective("lambdarank-ndcg", k=3)},
}


@pytest.mark.parametrize("given", OWN.values(), ids=OWN)
def test_models_of_a_users_functions_still_score(given: dict[str, Any], tmp_path: Path) -> None:
    ranker = fit(**given)
    ranker.save(tmp_path)
    again = rf.load(tmp_path)
    assert np.array_equal(again.predict(X), ranker.predict(X))
    expected = ranker.score(X, Y, group=G, metric="ndcg@5")
    assert again.score(X, Y, group=G, metric="ndcg@5") == expected


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(ValueError, match="taken is a file: a model is saved into a folder"):
        fit().save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


# Other tools.


def test_lightgbm_reads_it(case: Any, tmp_path: Path) -> None:
    _, ranker, features = case
    ranker.save(tmp_path)
    booster = lgb.Booster(model_file=tmp_path / "model.txt")
    assert booster.num_trees() == len(ranker.model_.trees)
    assert booster.feature_name() == ranker.feature_name_
    assert np.array_equal(booster.predict(features), ranker.predict(features))
    assert np.array_equal(booster.predict(sp.csr_matrix(X)), ranker.predict(X))


def test_treelite_reads_it(case: Any, tmp_path: Path) -> None:
    treelite = pytest.importorskip("treelite")
    kind, ranker, features = case
    if kind == "zeros missing":
        pytest.skip("treelite does not know zero_as_missing, in LightGBM's own models either")
    ranker.save(tmp_path)
    model = treelite.frontend.load_lightgbm_model(tmp_path / "model.txt")
    got = treelite.gtil.predict(model, features, nthread=1).reshape(-1)
    assert got == pytest.approx(ranker.predict(features), rel=1e-6, abs=1e-6)


class NoPasses:
    """In place of LLVM's old pass manager: lleaves 1.3 asks for it, llvmlite 0.50 has
    none. Code that is not optimised computes the same."""

    def populate(self, manager: Any) -> None:
        pass

    def run(self, module: Any) -> None:
        pass


def test_lleaves_reads_it(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lleaves = pytest.importorskip("lleaves")
    import llvmlite.binding as llvm

    if not hasattr(llvm, "PassManagerBuilder"):
        monkeypatch.setattr(llvm, "PassManagerBuilder", NoPasses, raising=False)
        monkeypatch.setattr(llvm, "ModulePassManager", NoPasses)
        monkeypatch.setattr(llvm, "initialize", lambda: None)  # is automatic there, and refused
    _, ranker, features = case
    ranker.save(tmp_path)
    model = lleaves.Model(model_file=tmp_path / "model.txt")
    model.compile()
    got = model.predict(features.astype(np.float64), n_jobs=1)
    assert got == pytest.approx(ranker.predict(features), rel=1e-12, abs=1e-12)


PLAIN: dict[str, dict[str, Any]] = {
    "lambdarank": {"objective": "lambdarank"},
    "regression": {"objective": "regression"},
    "dart": {"objective": "lambdarank", "boosting": "dart"},
    "binary": {"objective": "binary"},
    "one leaf": {"objective": "regression", "min_gain_to_split": 1e9},
    "forest": {
        "objective": "regression",
        "boosting": "rf",
        "bagging_fraction": 0.5,
        "bagging_freq": 1,
    },
}


def train_lightgbm(params: dict[str, Any], labels: Any = None, features: Any = X) -> Any:
    fixed = {"num_leaves": 6, "num_threads": 1, "verbosity": -1, "deterministic": True}
    labels = Y if labels is None else labels
    return lgb.train(fixed | params, lgb.Dataset(features, labels, group=G), 4)


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_lightgbm_models_load(kind: str, tmp_path: Path) -> None:
    labels = (Y > 0).astype(float) if kind == "binary" else Y
    booster = train_lightgbm(PLAIN[kind], labels)
    booster.save_model(tmp_path / "plain.txt")
    ranker = rf.load(tmp_path / "plain.txt")
    expected = booster.predict(HOLES, raw_score=True)
    assert np.array_equal(ranker.predict(HOLES), expected)
    assert ranker.feature_name_ == booster.feature_name()
    ranker.save(tmp_path / "again")
    assert np.array_equal(rf.load(tmp_path / "again").predict(HOLES), expected)
    best = ranker.rank(X, group=G, top=1)
    assert len(best.row) == len(G)


def test_plain_lightgbm_models_with_pandas_categories(tmp_path: Path) -> None:
    letters = RNG.choice([*"abcd"], len(Y))
    frame = pd.DataFrame(X[:, 1:5]).rename(columns=str)
    frame["c"] = pd.Categorical(letters, categories=[*"abcd"])
    other = frame.assign(c=pd.Categorical(letters, categories=[*"dcba"]))
    booster = train_lightgbm(
        {"objective": "regression", "min_data_per_group": 5, "cat_smooth": 1.0},
        Y + 3.0 * (letters == "b"),
        frame,
    )
    booster.save_model(tmp_path / "plain.txt")
    ranker = rf.load(tmp_path / "plain.txt")
    assert np.array_equal(ranker.predict(frame), booster.predict(frame))
    assert np.array_equal(ranker.predict(other), booster.predict(other))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "several classes": ({"objective": "multiclass", "num_class": 5}, "several classes"),
    "linear leaves": ({"objective": "regression", "linear_tree": True}, "linear leaves"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_models_that_do_not_rank(kind: str, tmp_path: Path) -> None:
    params, message = REFUSED[kind]
    train_lightgbm(params).save_model(tmp_path / "other.txt")
    with pytest.raises(ValueError, match=f"other\\.txt.*{message}"):
        rf.load(tmp_path / "other.txt")


# Damage.


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    fit("categories", n_estimators=3).save(folder)
    return folder


def lay(saved: Path, tmp_path: Path, **changed: str | None) -> Path:
    """A copy of the folder with another text or manifest; None leaves the file out."""
    for key, name in (("text", "model.txt"), ("manifest", "manifest.json")):
        content = changed.get(key, (saved / name).read_text())
        if content is not None:
            (tmp_path / name).write_text(content)
    return tmp_path


def edit(name: str, number: int, value: str, tree: int = 1) -> Callable[[str], str]:
    """Set one number of a field of a tree."""

    def change(text: str) -> str:
        blocks = text.split("\nTree=")
        lines = blocks[tree + 1].split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{name}="))
        values = lines[at].partition("=")[2].split(" ")
        values[number] = value
        lines[at] = f"{name}=" + " ".join(values)
        blocks[tree + 1] = "\n".join(lines)
        return "\nTree=".join(blocks)

    return change


def drop(pattern: str) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, "", text, count=1, flags=re.MULTILINE)


TEXT_DAMAGE: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "half": lambda text: text[: len(text) // 2],
    "cut before the end": lambda text: text[: text.index("end of trees")],
    "another kind of file": lambda text: "<html>\n" + text,
    "child that is its own parent": edit("left_child", 0, "0"),
    "child before its parent": edit("right_child", 3, "1"),
    "child beyond the nodes": edit("left_child", 1, "6"),
    "leaf beyond the leaves": edit("left_child", 2, "-9"),
    "child far away": edit("left_child", 1, "2000000000"),
    "child beyond 64 bits": edit("left_child", 1, "9" * 30),
    "child that is no number": edit("left_child", 1, "x"),
    "feature out of range": edit("split_feature", 0, "136"),
    "feature below 0": edit("split_feature", 0, "-1"),
    "feature beyond 64 bits": edit("split_feature", 0, "9" * 30),
    "kind beyond 64 bits": edit("decision_type", 0, "9" * 30),
    "one child less": edit("left_child", 0, ""),
    "one threshold more": edit("threshold", 0, "0.5 0.5"),
    "another number of leaves": edit("num_leaves", 0, "6"),
    "leaves below 0": edit("num_leaves", 0, "-7"),
    "leaves that are no number": edit("num_leaves", 0, "seven"),
    "value that is no number": edit("leaf_value", 0, "abc"),
    "no names": drop("^feature_names=.*\n"),
    "one name": lambda text: re.sub("feature_names=.*", "feature_names=only", text),
    "no values": drop("^leaf_value=.*\n"),
    "no children": drop("^left_child=.*\n"),
    "no sets of categories": drop("^cat_threshold=.*\n"),
    "no bounds of categories": drop("^cat_boundaries=.*\n"),
    "set of categories that is not there": lambda text: re.sub(
        "^cat_boundaries=.*$", "cat_boundaries=0 99999", text, count=1, flags=re.MULTILINE
    ),
    "set of categories backwards": lambda text: re.sub(
        "^cat_boundaries=.*$", "cat_boundaries=2 0", text, count=1, flags=re.MULTILINE
    ),
    "value that is NaN": edit("leaf_value", 0, "nan"),
    "value that is infinite": edit("leaf_value", 0, "inf"),
    "threshold that is NaN": edit("threshold", 5, "nan", tree=0),
}


def test_the_damaged_model_has_categories_in_its_first_tree(saved: Path) -> None:
    first, second = (saved / "model.txt").read_text().split("\nTree=")[1:3]
    assert "cat_boundaries=" in first
    assert "num_leaves=7" in second


@pytest.mark.parametrize("alone", [True, False], ids=["text alone", "folder"])
@pytest.mark.parametrize("damage", TEXT_DAMAGE.values(), ids=TEXT_DAMAGE)
def test_a_damaged_text_is_refused(
    damage: Callable[[str], str], alone: bool, saved: Path, tmp_path: Path
) -> None:
    before = (saved / "model.txt").read_text()
    text = damage(before)
    assert text != before
    more: dict[str, Any] = {"manifest": None} if alone else {}
    folder = lay(saved, tmp_path, text=text, **more)
    # Where the text is sound in itself, the manifest notices that it is another.
    with pytest.raises(ValueError, match=r"model\.txt|manifest\.json"):
        rf.load(folder / "model.txt" if alone else folder)


def test_any_edit_of_a_tree_is_noticed_by_the_manifest(saved: Path, tmp_path: Path) -> None:
    text = edit("leaf_value", 2, "0.125")((saved / "model.txt").read_text())
    with pytest.raises(ValueError, match=r"manifest\.json: it does not belong to the trees"):
        rf.load(lay(saved, tmp_path, text=text))


def field(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda record: record | {name: value}


MANIFEST_DAMAGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda record: [record],
    "a number": lambda record: 5,
    "null": lambda record: None,
    "empty": lambda record: {},
    "no digest": lambda record: {k: v for k, v in record.items() if k != "digest"},
    "another digest": field("digest", "0" * 32),
    "another format": field("format", 99),
    "more trees": field("trees", 4),
    "fewer trees": field("trees", 2),
    "trees below 0": field("trees", -1),
    "infinite trees": field("trees", float("inf")),
    "no number of trees": field("trees", "many"),
    "more used": field("used", 99),
    "used below 0": field("used", -1),
    "infinitely many used": field("used", float("inf")),
    "parameters that are a list": field("parameters", [1]),
    "parameters that Python knows better": field("parameters", {"self": 1}),
    "categories that are a list": field("categories", [1]),
    "categories that are a number": field("categories", {"0": 5}),
    "categories of no column": field("categories", {"x": []}),
    "categorical that is a number": field("categorical", 3),
    "metrics that are a number": field("metrics", 3),
    "best iteration that is text": field("best_iteration", "many"),
    "categories of a column beyond": field("categories", {"999": ["a"]}),
    "metrics that are text": field("metrics", {"valid_0": "high"}),
}


@pytest.mark.parametrize("damage", MANIFEST_DAMAGE.values(), ids=MANIFEST_DAMAGE)
def test_a_damaged_manifest_is_refused(
    damage: Callable[[dict[str, Any]], Any], saved: Path, tmp_path: Path
) -> None:
    record = json.loads((saved / "manifest.json").read_text())
    folder = lay(saved, tmp_path, manifest=json.dumps(damage(record)))
    with pytest.raises(ValueError, match=r"manifest\.json"):
        rf.load(folder)


@pytest.mark.parametrize(
    "content",
    ["", "{", '{"format": 1', "not json", "[" * 100_000, '{"format": 1}', "\x00"],
    ids=["empty", "open", "half", "text", "deep", "little", "zero"],
)
def test_a_manifest_that_is_no_json_is_refused(content: str, saved: Path, tmp_path: Path) -> None:
    """Nor what no parser gets to the end of."""
    with pytest.raises(ValueError, match=r"manifest\.json"):
        rf.load(lay(saved, tmp_path, manifest=content))


def test_bytes_that_are_no_text_are_refused(saved: Path, tmp_path: Path) -> None:
    for name in ("manifest.json", "model.txt"):
        folder = lay(saved, tmp_path)
        (folder / name).write_bytes(b"\xff\xfe\x00" + bytes(range(256)))
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            rf.load(folder)


def test_a_manifest_of_another_model_is_refused(saved: Path, tmp_path: Path) -> None:
    fit(seed=9).save(tmp_path / "other")
    manifest = (tmp_path / "other" / "manifest.json").read_text()
    (tmp_path / "mixed").mkdir()
    with pytest.raises(ValueError, match=r"manifest\.json: it does not belong to the trees"):
        rf.load(lay(saved, tmp_path / "mixed", manifest=manifest))


def test_a_folder_in_place_of_a_file(saved: Path, tmp_path: Path) -> None:
    folder = lay(saved, tmp_path, manifest=None)
    (folder / "manifest.json").mkdir()
    with pytest.raises(ValueError, match=r"manifest\.json"):
        rf.load(folder)


def test_what_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(ValueError, match=re.escape(str(path))):
            rf.load(path)


def test_a_text_without_its_manifest_still_scores(saved: Path, tmp_path: Path) -> None:
    folder = lay(saved, tmp_path, manifest=None)
    assert np.array_equal(rf.load(folder).predict(X), rf.load(saved).predict(X))


def test_lines_of_another_system(saved: Path, tmp_path: Path) -> None:
    folder = lay(saved, tmp_path)
    (folder / "model.txt").write_bytes((saved / "model.txt").read_bytes().replace(b"\n", b"\r\n"))
    assert np.array_equal(rf.load(folder).predict(X), rf.load(saved).predict(X))


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_never_crash(seed: int, saved: Path, tmp_path: Path) -> None:
    """Refused by a ValueError with the file's name, or loaded into something that scores."""
    rng = np.random.default_rng(seed)
    before = (saved / "model.txt").read_text()
    start = before.index("Tree=0")
    path = tmp_path / "edited.txt"
    refused = 0
    for _ in range(40):
        text = before
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(start, before.index("end of trees")))
            new = rng.choice([*"0123456789-. \n=x", "99", "-1", "1e9", ""])
            text = text[:at] + str(new) + text[at + int(rng.integers(0, 3)) :]
        path.write_text(text)
        try:
            scores = rf.load(path).predict(X[:200])
        except ValueError as error:
            refused += 1
            if path.name not in str(error):
                raise
        else:
            assert scores.shape == (200,)
    assert refused > 0
