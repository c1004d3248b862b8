"""What a machine lacks is said before any file is read."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import rankforce as rf
from rankforce.engines.cuda import engine
from rankforce.experiments.auto import auto_from

NOWHERE = {"train": "no-such-file.txt"}
LACKING: dict[str, tuple[str, dict[str, Any], str]] = {
    "CuPy": ("cupy", {"device": "cuda"}, "work on a GPU needs CuPy: pip install"),
    "XGBoost": ("xgboost", {"engine": "xgboost"}, "engine='xgboost' needs XGBoost: pip install"),
    "PyTorch": ("torch", {"model": "mlp"}, "networks need PyTorch: pip install"),
}


@pytest.mark.parametrize("which", LACKING)
def test_a_library_that_is_missing(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, asked, message = LACKING[which]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(rf.RankforceError, match=message):
        rf.train({**NOWHERE, **asked})


def test_a_gpu_that_pytorch_does_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="THE DEVICE OF NETWORKS WAS NOT CHECKED: no torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(rf.RankforceError, match="PyTorch sees no GPU here: choose 'cpu'"):
        rf.train({**NOWHERE, "model": "mlp", "device": "cuda"})


def test_an_xgboost_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    xgboost = pytest.importorskip("xgboost", reason="XGBOOST'S CUDA WAS NOT CHECKED: no xgboost")
    monkeypatch.setattr(xgboost, "build_info", lambda: {"USE_CUDA": False})
    with pytest.raises(rf.RankforceError, match="this XGBoost was built without CUDA"):
        rf.train({**NOWHERE, "engine": "xgboost", "device": "cuda"})


def test_what_is_there_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_device", lambda: "a GPU")
    for asked in ({}, {"device": "cuda"}, {"engine": "xgboost"}, {"model": "linear"}):
        with pytest.raises(rf.RankforceError, match=r"no-such-file\.txt"):
            rf.train({**NOWHERE, **asked})


def test_fitting_looks_first_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rf.make_data("yahoo", queries=3)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    monkeypatch.setattr("rankforce.training.loop.bin_sets", None)  # what is later would fail
    with pytest.raises(rf.RankforceError, match="engine='xgboost' needs XGBoost"):
        rf.Ranker(engine="xgboost", progress=False).fit(data)


def test_auto_looks_first_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(rf.RankforceError, match="work on a GPU needs CuPy"):
        auto_from(NOWHERE, trials=1, device="cuda")


def test_the_client_of_a_cluster_needs_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(rf.RankforceError, match="no scheduler answers"):
        rf.train({**NOWHERE, "device": "cuda", "cluster": object()})
