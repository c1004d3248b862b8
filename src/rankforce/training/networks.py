"""Settings of networks: which model is which kind, and what it has where the user does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.engines.base import GPU, find_engine
from rankforce.training.settings_table import DEFAULT, NETWORKS, TABLE

TREES, MODULE = "trees", "module"


def kind_of_model(given: Any) -> str:
    """The kind of model that the setting `model` names.

    >>> kind_of_model("mlp")
    'mlp'
    >>> kind_of_model("cnn")
    Traceback (most recent call last):
    rankforce.RankforceError: model is 'cnn': choose 'trees', 'linear', 'mlp', 'attention' or a
    torch.nn.Module
    """
    kinds = [TREES, *(kind for kind in NETWORKS if kind != MODULE)]
    if isinstance(given, str) and given in kinds:
        return given
    is_class = isinstance(given, type)
    if hasattr(given, "state_dict") and hasattr(given, "forward") and not is_class:
        return MODULE
    choices = ", ".join(map(repr, kinds))
    what = f"the class {given.__name__}" if is_class else repr(given)
    raise RankforceError(f"model is {what}: choose {choices} or a torch.nn.Module")


def fill_in_network(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with those that a network of its kind has; what is of other models is refused.

    >>> fill_in_network({"model": "mlp", "epochs": 5})["epochs"]
    5
    >>> fill_in_network({"model": "mlp", "num_leaves": 5})
    Traceback (most recent call last):
    rankforce.RankforceError: num_leaves is a setting of trees, and the model is 'mlp': leave it out
    """
    said = {name: value for name, value in given.items() if value is not None}
    kind = kind_of_model(said.get("model", DEFAULT.model))
    for name in said:
        only = TABLE[name].only if name in TABLE else TREES  # a parameter of their engine
        if only and (only == TREES) != (kind == TREES):
            of = "trees" if only == TREES else "networks"
            raise RankforceError(
                f"{name} is a setting of {of}, and the model is {kind!r}: leave it out"
            )
    if kind == TREES:
        return {**given, **_device_of(said.get("engine"), said.get("device"))}
    if isinstance(said.get("base"), str) and said["base"] == "regressor":
        raise RankforceError(
            f"base is 'regressor', which is made of trees, and the model is {kind!r}: give a "
            "trained ranker, or leave it out"
        )
    own = NETWORKS[kind]
    for name in ("hidden", "dropout", "layers", "heads"):
        if name in said and name not in own:
            raise RankforceError(f"{name} is {said[name]!r}: a model {kind!r} has none")
    found = own | dict(given)
    found |= {name: value for name, value in own.items() if found[name] is None}
    if found["optimiser"] == "sgd" and "averaging" not in said:
        found["averaging"] = 0.0  # plain steps, as they are
    if "hidden" in found:
        found["hidden"] = _widths(found["hidden"])
    if isinstance(found["learning_rate"], (list, tuple)) or callable(found["learning_rate"]):
        raise RankforceError(
            "learning_rate is a number for networks: warmup and epochs say how it changes"
        )
    return found


def _device_of(engine: str | None, device: str | None) -> dict[str, str]:
    """Where trees are grown, where the engine decides; an error if it cannot grow them there."""
    kind = find_engine(engine, device)
    if device == "cuda" and not kind.on_gpu:
        raise RankforceError(
            f"device is 'cuda', and engine {engine!r} grows trees on the CPU: leave out one of them"
        )
    if kind.name != GPU:
        return {}
    if device == "cpu":
        raise RankforceError(f"device is 'cpu', and engine is {GPU!r}: leave out one of them")
    return {"device": "cuda"}


def _widths(given: Any) -> list[int]:
    """Widths of layers from a list, a number or a text such as "256,128".

    >>> _widths("256,128")
    [256, 128]
    """
    if isinstance(given, str):
        given = [int(part) if part.strip().isdigit() else part for part in given.split(",")]
    several = given if isinstance(given, (list, tuple)) else [given]
    return [check_whole("hidden", width, least=1) for width in several]
