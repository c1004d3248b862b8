"""Rankers from files: nothing in them is ever executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.models.base import NETWORK
from rankforce.models.folder import MANIFEST
from rankforce.models.load import load_model
from rankforce.models.model import Model
from rankforce.training.networks import MODULE
from rankforce.training.ranker import Ranker
from rankforce.training.settings_table import DEFAULT


def load(path: str | Path, *, base: Any = None, module: Any = None) -> Ranker:
    """A ranker that was saved, or any model of LightGBM (text) or XGBoost (JSON).

    Nothing in the files is executed. `base` is the model that the ranker was trained upon, or its
    folder, if that was one of another kind: trees of a base are in the ranker's own files. Another
    one than that is refused. `module` is a torch.nn.Module like the one that was trained, if that
    was one of the user's own: files have its weights, and no code.
    """
    model = load_model(path, base=load(base) if isinstance(base, (str, Path)) else base)
    try:
        return make_ranker(_with_module(model, module))
    except ValueError as error:
        raise RankforceError(f"{Path(path) / MANIFEST}: {error}") from None


def load_one(path: str | Path, base: Any) -> Ranker:
    """One of several models, of which only those that stand on another one get `base`."""
    if base is None or load_model(path, checks_base=False).base is None:
        return load(path)
    return load(path, base=base)


def _with_module(model: Model, module: Any) -> Model:
    is_own = model.parameters.get("model") == MODULE
    if module is not None and not is_own:
        raise RankforceError("the model was not made from a module of one's own: leave module out")
    if is_own:
        model.scorer.module = module
        model.scorer.net(model.used)  # for what is wrong with it
    return model


def make_ranker(model: Model) -> Ranker:
    """A fitted ranker around a model."""
    is_network = model.scorer.kind == NETWORK
    says_all = model.members or "preset" in model.parameters or is_network
    params: dict[str, Any] = {
        name: _restored(value)
        for name, value in model.parameters.items()
        # A committee, a preset and a network have other defaults: there all settings are said.
        if name != "base" and (says_all or getattr(DEFAULT, name, None) != value)
    }
    if params.get("model") == MODULE:
        params["model"] = model.scorer.module
    try:
        ranker = Ranker(**params)
    except TypeError as error:
        raise RankforceError(
            f"the manifest's parameters are not those of a ranker: {error}"
        ) from None
    ranker.model_ = model
    return ranker


def _restored(value: Any) -> Any:
    """A value of a manifest; JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _restored(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    return float("inf") if value == "inf" else value
