"""Files of networks: safetensors and a manifest, the same bytes each time, damage noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

import rankforce as rf
from tests.training.network.small import KINDS, QID, TRAIN, VALID, X, Y, ranker, same_weights

FILE, MANIFEST = "model.safetensors", "manifest.json"


@pytest.fixture(scope="module", params=KINDS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A ranker, and the folder it is in."""
    folder = tmp_path_factory.mktemp("saved") / request.param
    one = ranker(request.param).fit(TRAIN, eval_set=[VALID])
    one.save(folder)
    return one, folder


def test_it_comes_back_bit_for_bit(saved: Any) -> None:
    one, folder = saved
    found = rf.load(folder)
    assert same_weights(found, one)
    assert np.array_equal(found.predict(VALID), one.predict(VALID))
    assert found.evals_result_ == one.evals_result_
    assert found.best_iteration_ == one.best_iteration_
    assert (found.settings().kind, found.settings().epochs) == (one.settings().kind, 4)
    assert same_weights(found.fit(TRAIN), one)  # it has the settings too


def test_saved_twice_it_is_the_same_bytes(saved: Any, tmp_path: Path) -> None:
    one, folder = saved
    one.save(tmp_path / "again")
    rf.load(folder).save(tmp_path / "loaded")
    for file in (FILE, MANIFEST):
        first = (folder / file).read_bytes()
        assert (tmp_path / "again" / file).read_bytes() == first
        assert (tmp_path / "loaded" / file).read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, FILE]


def test_nothing_is_pickled(saved: Any) -> None:
    """Eight bytes say how long the JSON behind them is; then come the arrays."""
    _, folder = saved
    content = (folder / FILE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    arrays = load_file(folder / FILE)
    assert {*head} == {*arrays, "__metadata__"}
    assert len(content) == 8 + size + sum(values.nbytes for values in arrays.values())
    assert json.loads((folder / MANIFEST).read_text())["kind"] == "network"


@pytest.mark.slow
def test_a_new_process_needs_no_training_data(tmp_path: Path) -> None:
    one, folder = ranker("attention").fit(TRAIN), tmp_path / "saved"
    one.save(folder)
    np.save(tmp_path / "x.npy", VALID.features)
    np.save(tmp_path / "qid.npy", VALID.qid)
    code = (
        "import sys, numpy as np, rankforce as rf\n"
        "model, place = sys.argv[1:]\n"
        "x, qid = np.load(place + '/x.npy'), np.load(place + '/qid.npy')\n"
        "ranker = rf.load(model).set_params(threads=1)\n"
        "np.save(place + '/scores.npy', ranker.predict(x, qid=qid))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder), str(tmp_path)], check=True)
    assert np.array_equal(np.load(tmp_path / "scores.npy"), one.predict(VALID))


@pytest.mark.parametrize("scaling", ["log", "standard", "quantile", "none"])
def test_scaling_and_categories_are_in_the_file(scaling: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    kinds = pd.Categorical(rng.choice(["a", "b", "c"], len(Y)))
    frame = pd.DataFrame(X).add_prefix("f").assign(kind=kinds)
    frame.loc[::7, "f2"] = np.nan
    one = ranker("mlp", scaling=scaling).fit(frame, Y, qid=QID)
    one.save(tmp_path)
    found = rf.load(tmp_path)
    assert np.array_equal(found.predict(frame), one.predict(frame))
    assert found.feature_name_ == [*frame.columns]


# Damage.


@pytest.fixture
def hurt(saved: Any, tmp_path: Path) -> Path:
    """A copy of a model, to be damaged."""
    shutil.copytree(saved[1], tmp_path / "hurt")
    return tmp_path / "hurt"


def assert_refused(folder: Path, match: str = r"model\.safetensors|manifest\.json") -> None:
    with pytest.raises(rf.RankforceError, match=match):
        rf.load(folder)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.2, 0.5, 0.9, 0.999])
def test_a_file_that_ends_too_early(share: float, hurt: Path) -> None:
    content = (hurt / FILE).read_bytes()
    (hurt / FILE).write_bytes(content[: int(share * len(content))])
    assert_refused(hurt, r"model\.safetensors holds no network")


def test_a_file_that_goes_on(hurt: Path) -> None:
    with (hurt / FILE).open("ab") as file:
        file.write(b"more")
    assert_refused(hurt, r"model\.safetensors holds no network")


def test_a_byte_of_the_header(saved: Any, hurt: Path) -> None:
    """Whichever it is: refused, or it says the same."""
    one, _ = saved
    content = (hurt / FILE).read_bytes()
    size = 8 + int.from_bytes(content[:8], "little")
    refused = 0
    for place in [*range(9), *range(9, size, max(size // 60, 1))]:
        wrong = bytearray(content)
        wrong[place] ^= 0x14
        (hurt / FILE).write_bytes(wrong)
        try:
            found = rf.load(hurt)
        except rf.RankforceError:
            refused += 1
        else:
            assert np.array_equal(found.predict(VALID), one.predict(VALID))
    assert refused > 50


@pytest.mark.parametrize("start", ["weights.", "encoder."])
def test_a_byte_of_an_array(start: str, hurt: Path) -> None:
    content = bytearray((hurt / FILE).read_bytes())
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    spans = [one["data_offsets"] for name, one in head.items() if name.startswith(start)]
    for first, last in spans:
        if first < last:
            wrong = content[:]
            wrong[8 + size + (first + last) // 2] ^= 1
            (hurt / FILE).write_bytes(wrong)
            assert_refused(hurt)


CHANGES: dict[str, Any] = {
    "no list of names": {"names": 3},
    "no shape": {"shape": None},
    "another kind": {"shape": {"model": "mlp", "lists": False, "hidden": [3]}},
    "no encoder": {"encoder": {}},
    "fewer names": {"names": ["a"]},
    "a forest of text": {"forest": "tree\n"},
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_file_tells_of_itself(name: str, hurt: Path) -> None:
    content = (hurt / FILE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    told = json.loads(head["__metadata__"]["rankforce"]) | CHANGES[name]
    head["__metadata__"]["rankforce"] = json.dumps(told)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    whole = len(text).to_bytes(8, "little") + text + content[8 + size :]
    (hurt / FILE).write_bytes(whole)
    assert_refused(hurt)


@pytest.mark.parametrize("told", ["no json", "[]", "3", '{"shape": {}}'])
def test_text_that_is_no_account(told: str, hurt: Path) -> None:
    content = (hurt / FILE).read_bytes()
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size]) | {"__metadata__": {"rankforce": told}}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    (hurt / FILE).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    assert_refused(hurt, r"model\.safetensors holds no network")


def test_arrays_of_others(hurt: Path) -> None:
    """Any file of safetensors."""
    from safetensors.numpy import save

    (hurt / FILE).write_bytes(save({"weight": np.zeros(3, np.float32)}))
    assert_refused(hurt, r"model\.safetensors holds no network")


def test_a_manifest_of_another_model(hurt: Path, tmp_path: Path) -> None:
    ranker(seed=9).fit(TRAIN).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / MANIFEST, hurt)
    assert_refused(hurt, r"manifest\.json: it does not belong to the epochs in model\.safetensors")
    trees = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(TRAIN)
    trees.save(tmp_path / "trees")
    shutil.copy(tmp_path / "trees" / MANIFEST, hurt)
    assert_refused(hurt, r"cannot read a model from .*model\.txt")


def test_a_manifest_that_is_wrong(hurt: Path) -> None:
    text = (hurt / MANIFEST).read_text()
    for wrong in (text[: len(text) // 2], "{}", "[]", text.replace('"network"', '"poem"')):
        (hurt / MANIFEST).write_text(wrong)
        # One that says no kind is of trees.
        assert_refused(hurt, r"model\.txt" if len(wrong) == 2 else r"manifest\.json|'poem'")


def test_files_without_each_other(hurt: Path) -> None:
    (hurt / MANIFEST).unlink()
    assert_refused(hurt, r"cannot read a model from .*model\.txt")


def test_trees_in_place_of_a_network(hurt: Path) -> None:
    """And back: no file of the other kind stays."""
    trees = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(TRAIN)
    trees.save(hurt)
    assert sorted(path.name for path in hurt.iterdir()) == [MANIFEST, "model.txt"]
    ranker().fit(TRAIN).save(hurt)
    assert sorted(path.name for path in hurt.iterdir()) == [MANIFEST, FILE]
