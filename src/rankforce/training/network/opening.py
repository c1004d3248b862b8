"""What a network is made of before it has learnt anything: device, shape, scaled features."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.models.forest.forest import Forest
from rankforce.models.network.encoder import Encoder
from rankforce.models.network.network import Network, find_ranges, inputs_of
from rankforce.training.base import Base
from rankforce.training.settings import Settings

_SHAPE = ("hidden", "dropout", "layers", "heads")
_SHOWN = 3  # names in a note


def check_device(settings: Settings) -> str:
    """Where to learn; an error if PyTorch has no such device."""
    device = settings.device or "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise RankforceError("device is 'cuda', and PyTorch sees no GPU here: choose 'cpu'")
    return device


def make_network(settings: Settings, data: RankingData, base: Base, device: str) -> Network:
    """A network without weights: how features get to it, and what it is made of."""
    forest = None if base.model is None else Forest(base.model.scorer.head, base.trees)
    names, codes, scaling = data.feature_names, data.categorical, str(settings.scaling)
    if forest is not None:
        names, codes, scaling = [f"tree {n}" for n in range(len(forest))], [], "none"
    is_own = settings.kind == "module"
    encoder = Encoder.fit(
        inputs_of(forest, data.features),
        names=names,
        categorical=codes,
        scaling=scaling,
        flags=not is_own,
    )
    ranges = find_ranges(data.features, data.categorical)
    network = Network(_shape(settings), encoder, data.feature_names, ranges, forest)
    network.device = device
    if is_own:
        check_place(settings.model, device)
        network.module = settings.model
    return network


def _shape(settings: Settings) -> dict[str, Any]:
    """What a network is made of, as JSON can hold it."""
    kind = settings.kind
    if kind == "module":
        takes = inspect.signature(settings.model.forward).parameters
        own = type(settings.model).__name__
        return {"model": kind, "lists": "sizes" in takes, "class": own}
    values = {name: getattr(settings, name) for name in _SHAPE}
    said = {name: value for name, value in values.items() if value is not None}
    return {"model": kind, "lists": kind == "attention", **said}


def check_place(module: Any, device: str) -> None:
    """Refuse a module whose weights are elsewhere than the data, or that has none."""
    weights = [*module.parameters()]
    if not any(one.requires_grad for one in weights):
        raise RankforceError(f"the module {type(module).__name__} has no weights that could learn")
    for one in weights:
        if one.device.type != device:
            place = one.device.type
            other = f", or give device={place!r}" if place in ("cpu", "cuda") else ""
            raise RankforceError(
                f"the module {type(module).__name__} is on {place!r}, and the data on {device!r}: "
                f"move it with .to({device!r}){other}"
            )


def describe_constant(names: Sequence[str]) -> str:
    """A sentence about features that say nothing.

    >>> describe_constant(["a", "b", "c", "d"])
    "4 features have one value in all of training ('a', 'b', 'c', ...): they are left out"
    """
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    count = len(names)
    several = "1 feature has" if count == 1 else f"{count} features have"
    they = "it is" if count == 1 else "they are"
    return f"{several} one value in all of training ({shown}): {they} left out"
