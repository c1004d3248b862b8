"""What goes wrong with networks is one sentence each."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rankforce as rf
from tests.training.network.small import KINDS, QID, SAID, SGD, TRAIN, VALID, X, Y, ranker

ROOT = Path(__file__).parents[3]


def refused(message: str) -> Any:
    return pytest.raises(rf.RankforceError, match=f"^{re.escape(message)}")


# Settings.

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another model": ({"model": "cnn"}, "model is 'cnn': choose 'trees', 'linear', 'mlp'"),
    "the word module": ({"model": "module"}, "model is 'module': choose 'trees'"),
    "a class": ({"model": torch.nn.Linear}, "model is the class Linear: choose 'trees'"),
    "trees": ({"num_leaves": 5}, "num_leaves is a setting of trees, and the model is 'linear'"),
    "their number": ({"n_estimators": 5}, "n_estimators is a setting of trees"),
    "their engine": ({"max_bin": 31}, "max_bin is a setting of trees, and the model is 'linear'"),
    "committee": ({"members": 3}, "members is a setting of trees"),
    "regressor": ({"base": "regressor"}, "base is 'regressor', which is made of trees"),
    "rates": ({"learning_rate": [0.1, 0.2]}, "learning_rate is a number for networks"),
    "a rate of one's own": ({"learning_rate": lambda epoch: 0.1}, "learning_rate is a number for"),
    "rate": ({"learning_rate": 0.0}, "learning_rate is 0.0: it must be a number above 0"),
    "hidden": ({"hidden": [3]}, "hidden is [3]: a model 'linear' has none"),
    "no width": ({"model": "mlp", "hidden": [0]}, "hidden is 0: it must be"),
    "heads": ({"model": "mlp", "heads": 2}, "heads is 2: a model 'mlp' has none"),
    "many heads": ({"model": "attention", "heads": 7}, "heads is 7: it must divide"),
    "dropout": ({"model": "mlp", "dropout": 1.0}, "dropout is 1.0: it must be a number from 0"),
    "scaling": ({"scaling": "minmax"}, "unknown scaling 'minmax': choose 'log', 'standard'"),
    "optimiser": ({"optimiser": "adam"}, "unknown optimiser 'adam': choose 'adamw', 'sgd'"),
    "epochs": ({"epochs": 0}, "epochs is 0: it must be an integer from 1"),
    "device": ({"device": "tpu"}, "unknown device 'tpu': choose 'cpu', 'cuda'"),
    "stopping": ({"early_stopping_rounds": 2}, "early_stopping_rounds needs a validation set"),
}


@pytest.mark.parametrize("name", WRONG)
def test_settings(name: str) -> None:
    given, message = WRONG[name]
    with refused(message):
        rf.Ranker(**SAID | {"model": "linear"} | given).fit(TRAIN)


@pytest.mark.parametrize("name", ["epochs", "batch_size", "hidden", "scaling", "optimiser", "clip"])
def test_settings_of_networks_given_to_trees(name: str) -> None:
    value = {"hidden": [4], "scaling": "log", "optimiser": "sgd"}.get(name, 3)
    with refused(f"{name} is a setting of networks, and the model is 'trees': leave it out"):
        rf.Ranker(**{name: value}).fit(TRAIN)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu() -> None:
    with refused("device is 'cuda', and PyTorch sees no GPU here: choose 'cpu'"):
        ranker(device="cuda").fit(TRAIN)
    with refused("device is 'cuda', and engine 'lightgbm' grows trees on the CPU"):
        rf.Ranker(device="cuda", engine="lightgbm").fit(TRAIN)


# Without PyTorch.

HIDDEN = """
import sys

class Hidden:
    names = {"torch", "safetensors"}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
import numpy as np, rankforce as rf
rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
trees = rf.Ranker(n_estimators=2, num_leaves=3, min_child_samples=2, progress=False)
print(len(trees.fit(X, y, group=[20, 20]).predict(X)))

def ask(what):
    try:
        what()
    except rf.RankforceError as error:
        print(error)

for model in ("linear", "mlp", "attention"):
    ask(lambda: rf.Ranker(model=model, progress=False).fit(X, y, group=[20, 20]))
ask(lambda: rf.load(sys.argv[1]))
Hidden.names = {"torch"}
ask(lambda: rf.load(sys.argv[1]).predict(np.zeros((2, 6))))
"""


@pytest.mark.slow
def test_no_pytorch(tmp_path: Path) -> None:
    """A process of its own hides it."""
    ranker().fit(TRAIN).save(tmp_path)
    command = [sys.executable, "-c", HIDDEN, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    install = "pip install 'rankforce[torch]'"
    expected = ["40", *[f"networks need PyTorch: {install}"] * 3]
    assert done.stdout.splitlines()[:4] == expected, done.stderr
    without_files, without_torch = done.stdout.splitlines()[4:]
    assert without_files.endswith(f"networks need safetensors: {install}")
    assert without_torch.endswith(f"networks need PyTorch: {install}")


# Numbers that run away.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("optimiser", ["adamw", "sgd"])
def test_a_huge_learning_rate(kind: str, optimiser: str) -> None:
    with refused("scores or weights are not finite in epoch 1: a smaller learning_rate than 1e+38"):
        ranker(kind, learning_rate=1e38, optimiser=optimiser).fit(TRAIN)


def test_the_last_step_of_all() -> None:
    """Nobody looks at scores behind it."""
    given = SGD | {"epochs": 1, "scaling": "none", "learning_rate": 1e38}
    big = rf.RankingData(X[:9] * np.float32(1e9), Y[:9] + np.arange(9), group=[9])
    with refused("scores or weights are not finite in epoch 1"):
        ranker(**given).fit(big)


def test_gradients_that_float32_does_not_hold() -> None:
    """Clipped, they would be steps of 0, and nothing would be learnt."""
    with refused("scores or weights are not finite in epoch 1: a smaller learning_rate"):
        ranker(scaling="none").fit(X * np.float32(1e37), Y, qid=QID)
    for scaling in ("log", "standard", "quantile"):
        one = ranker(scaling=scaling).fit(X * np.float32(1e37), Y, qid=QID)
        assert len(np.unique(one.predict(X * np.float32(1e37)))) > 10


def test_a_module_that_gives_nan() -> None:
    with refused("scores or weights are not finite in epoch 1"):
        ranker(Changed(lambda scores: scores * torch.nan)).fit(TRAIN)


# Data.


def test_nothing_to_learn() -> None:
    with refused("all labels are the same: there is nothing to learn (30 queries)"):
        ranker().fit(X, np.ones(len(Y)), qid=QID)
    with refused("no query has a pair of documents that push each other: there is nothing to"):
        ranker().fit(X, Y, qid=np.arange(len(Y)))


def test_features_without_variance() -> None:
    one = ranker("mlp").fit(np.full_like(X, 3.0), Y, qid=QID)
    scores = one.predict(X)
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) == 1


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("kind", ["linear", "attention"])
def test_numbers_that_float32_does_not_hold(kind: str, value: float) -> None:
    wrong = X.astype(np.float64)
    wrong[3, 2] = value
    with refused("row 3, column 2 is "):
        ranker(kind).fit(wrong, Y, qid=QID)
    with refused("row 3, column 2 is "):
        ranker(kind).fit(TRAIN).predict(wrong, qid=QID)


@pytest.mark.parametrize("kind", KINDS)
def test_another_number_of_features(kind: str) -> None:
    one = ranker(kind).fit(TRAIN)
    with refused("the data has 3 features, the model was trained on 6"):
        one.predict(VALID.features[:, :3], qid=VALID.qid)
    with refused("eval_set[0]: the data has 5 features, the model was trained on 6"):
        ranker(kind).fit(X, Y, qid=QID, eval_set=[(X[:, :5], Y)], eval_qid=[QID])


def test_attention_without_lists() -> None:
    one = ranker("attention").fit(TRAIN)
    message = "a score of this network depends on the whole list: give qid or group"
    for ask in (one.predict, lambda features: one.predict(features, num_iteration=4)):
        with refused(message):
            ask(X)
    assert np.array_equal(one.predict(X, qid=QID), one.predict(TRAIN))


def test_epochs_that_are_gone() -> None:
    one = ranker().fit(TRAIN)
    with refused("weights behind 2 epochs are not kept, only behind 4"):
        one.predict(X, num_iteration=2)
    with pytest.raises(rf.RankforceError, match="have no scores by themselves: begin with the"):
        one.predict(X, start_iteration=2)


# Modules of one's own.


class Changed(torch.nn.Module):
    """A linear ranker, and something done to its scores."""

    def __init__(self, change: Any = None) -> None:
        super().__init__()
        self.weight = torch.nn.Linear(6, 1)
        self.change = change

    def forward(self, x: torch.Tensor) -> Any:
        scores = self.weight(x).squeeze(1)
        return scores if self.change is None else self.change(scores)


class Wide(torch.nn.Module):
    """The same under other names."""

    def __init__(self) -> None:
        super().__init__()
        self.other = torch.nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.other(x)


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda scores: torch.stack([scores, scores], dim=1), r"\((\d+), 2\)"),
        (lambda scores: scores[:-1], r"\(\d+,\)"),
        (lambda scores: scores.sum(), r"\(\)"),
        (lambda scores: [scores], r"\(\)"),
        (lambda scores: scores[None], r"\(1, \d+\)"),
    ],
)
def test_a_wrong_shape(change: Any, shape: str) -> None:
    expected = rf"^the module Changed gives shape {shape} for (\d+) rows: expected one score for"
    with pytest.raises(rf.RankforceError, match=expected):
        ranker(Changed(change)).fit(TRAIN)


def test_a_batch_larger_than_memory() -> None:
    def ask(scores: torch.Tensor) -> torch.Tensor:
        return scores + torch.empty(10**15)[0]

    with pytest.raises(rf.RankforceError, match=r"^a batch of \d+ documents does not fit into"):
        ranker(Changed(ask)).fit(TRAIN)


def test_another_device() -> None:
    with refused("the module Changed is on 'meta', and the data on 'cpu': move it with .to('cpu')"):
        ranker(Changed().to("meta")).fit(TRAIN)


def test_nothing_that_could_learn() -> None:
    frozen = Changed()
    frozen.requires_grad_(False)
    for module in (frozen, torch.nn.Identity()):
        with refused(f"the module {type(module).__name__} has no weights that could learn"):
            ranker(module).fit(TRAIN)


def test_a_module_comes_back_only_with_its_code(tmp_path: Path) -> None:
    one = ranker(Changed()).fit(TRAIN)
    one.save(tmp_path / "own")
    found = rf.load(tmp_path / "own", module=Changed())
    assert np.array_equal(found.predict(VALID), one.predict(VALID))
    with pytest.raises(rf.RankforceError, match="module of the class Changed, which no file holds"):
        rf.load(tmp_path / "own")
    with pytest.raises(rf.RankforceError, match=r"weights do not belong to this network: .*other"):
        rf.load(tmp_path / "own", module=Wide())
    ranker().fit(TRAIN).save(tmp_path / "linear")
    with pytest.raises(rf.RankforceError, match="not made from a module of one's own: leave"):
        rf.load(tmp_path / "linear", module=Changed())


def test_a_module_with_counts_among_its_weights(tmp_path: Path) -> None:
    """BatchNorm counts batches: an array without an axis."""
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 1))
    one = ranker(module, batch_size=200).fit(TRAIN)
    one.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path, module=module).predict(VALID), one.predict(VALID))


def test_a_module_that_takes_lists() -> None:
    class Listwise(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Linear(6, 1)

        def forward(self, x: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
            parts = torch.split(x, sizes.tolist())
            middle = torch.cat([part.mean(0, keepdim=True).expand_as(part) for part in parts])
            return self.weight(x - middle)

    one = ranker(Listwise()).fit(TRAIN)
    assert one.needs_lists
    with refused("a score of this network depends on the whole list"):
        one.predict(X)
    assert np.isfinite(one.predict(TRAIN)).all()
