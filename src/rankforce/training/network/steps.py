"""How the weights of a network move: AdamW or plain steps, and how large they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rankforce.training.settings import Settings

# Gradients far below it do not move weights. Forces of a query add up to 0: a feature that is the
# same for all of its documents has nothing but rounding errors, which AdamW would follow.
LEAST = 1e-6
LATEST = "latest."  # before names of weights that an average of them is kept beside
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # what AdamW remembers of each weight


def make_optimiser(body: Any, settings: Settings) -> Any:
    """An optimiser of the weights of a network."""
    rate = settings.learning_rate
    weights = [one for one in body.parameters() if one.requires_grad]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(weights, lr=rate)
    # Offsets and the factors of norms have no size to hold back.
    groups: list[dict[str, Any]] = [
        {"params": [one for one in weights if one.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [one for one in weights if one.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=rate, eps=LEAST)


def rate_at(settings: Settings, done: float) -> float:
    """The learning rate when a share of the training is done: it grows, then falls as a cosine.

    >>> settings = Settings(model="mlp", learning_rate=1.0, warmup=0.5, optimiser="adamw")
    >>> [round(rate_at(settings, done), 3) for done in (0.25, 0.5, 0.75, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    rate, warmup = float(settings.learning_rate), float(settings.warmup or 0.0)
    if settings.optimiser == "sgd":
        return rate  # Tunys 2015: plain steps of one size
    if done < warmup:
        return rate * done / warmup
    rest = (done - warmup) / (1.0 - warmup) if warmup < 1.0 else 0.0
    return rate * 0.5 * (1.0 + math.cos(math.pi * min(rest, 1.0)))


def average(mean: Any, body: Any, kept: float) -> None:
    """Move an average of weights to where they are now; a share of it is kept."""
    with torch.no_grad():
        for one, now in zip(mean.parameters(), body.parameters(), strict=True):
            one.lerp_(now, 1.0 - kept)
        for one, now in zip(mean.buffers(), body.buffers(), strict=True):
            one.copy_(now)


def take_memory(optimiser: Any) -> dict[str, NDArray[Any]]:
    """What an optimiser remembers, as arrays."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}.{name}": values.detach().cpu().numpy().copy()
        for number, own in state.items()
        for name, values in own.items()
        if name in _MOMENTS
    }


def put_memory(optimiser: Any, memory: Mapping[str, NDArray[Any]]) -> None:
    """Let an optimiser go on where another one was."""
    whole = optimiser.state_dict()
    state: dict[int, dict[str, Any]] = {}
    for key, values in memory.items():
        if key.startswith(LATEST):
            continue
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = torch.from_numpy(np.array(values))
    optimiser.load_state_dict({**whole, "state": state})
