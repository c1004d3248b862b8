"""Linear networks as weights of features: what an engine needs to add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from rankforce.common.errors import RankforceError
from rankforce.models.base import NETWORK
from rankforce.models.export.shape import check_alone
from rankforce.models.model import Model
from rankforce.models.network.contributions import LINEAR, linear_weights
from rankforce.models.network.encoder import FARTHEST, Encoder

SAYABLE = ("standard", "none")  # scalings that are straight lines
SHOWN = 5  # features in a note


class Term(NamedTuple):
    """What a feature adds to a score: weight * (value - mean) / spread."""

    column: int
    weight: float
    mean: float
    spread: float
    missing: float  # the value that adds what a missing one does
    was_missing: bool  # somewhere in training

    @property
    def is_scaled(self) -> bool:
        """Whether the value is changed before it is weighed."""
        return self.mean != 0.0 or self.spread != 1.0


def is_linear(model: Model) -> bool:
    """Whether a model is a linear network on the features themselves."""
    scorer = model.scorer
    if scorer.kind != NETWORK or scorer.forest is not None:
        return False
    return bool(scorer.shape["model"] == LINEAR)


def linear_terms(model: Model, to: str) -> list[Term]:
    """What each feature adds; a linear network that is no sum of straight lines is refused."""
    check_alone(model, to)
    network, encoder = model.scorer, model.scorer.encoder
    if encoder.scaling not in SAYABLE:
        _refuse(to, f"features are scaled by {encoder.scaling!r}")
    for column in encoder.categories:
        _refuse(to, f"feature {model.feature_names[column]!r} has categories")
    _check_ends(model, encoder, to)
    weight, _ = linear_weights(network, model.used)
    flags = iter(weight[encoder.scaled :])
    found = []
    for place, column in enumerate(encoder.numbers):
        was_missing = bool(encoder.flagged[place])
        flag = float(next(flags)) if was_missing else 0.0
        slope = float(weight[place]) * float(encoder.scale[place])
        if slope:
            mean, spread = float(encoder.mean[place]), 1.0 / float(encoder.scale[place])
            missing = mean + flag / slope
            own = float(weight[place])
            found.append(Term(int(column), own, mean, spread, missing, was_missing))
        elif flag:
            _refuse(to, f"of feature {model.feature_names[column]!r} only a missing value counts")
    return found


def _check_ends(model: Model, encoder: Encoder, to: str) -> None:
    """Refuse a feature whose values are held at `FARTHEST` in training: lines have no ends."""
    if encoder.scaling == "none":
        return
    for place, column in enumerate(encoder.numbers):
        low, _, high = model.scorer.ranges[column].strip("[]").partition(":")
        if not high:
            continue
        ends = ((float(end) - encoder.mean[place]) * encoder.scale[place] for end in (low, high))
        if max(map(abs, ends)) > FARTHEST:
            _refuse(
                to,
                f"feature {model.feature_names[column]!r} goes further than {FARTHEST:g} standard "
                "deviations from its mean, where the model holds it",
            )


def _refuse(to: str, what: str) -> NoReturn:
    raise RankforceError(
        f"to is {to!r}: {what}, which weights of features cannot say: train with "
        "scaling='standard' or 'none', or use to='onnx'"
    )


def missing_notes(terms: Sequence[Term], names: Sequence[str]) -> list[str]:
    """What the engine's features must be where a value is missing, if training had such."""
    some = [term for term in terms if term.was_missing]
    if not some:
        return []
    shown = ", ".join(f"{names[t.column]} = {t.missing:.7g}" for t in some[:SHOWN])
    more = f" (and {len(some) - SHOWN} more)" if len(some) > SHOWN else ""
    return [f"a missing value must come as the value that adds the same: {shown}{more}"] * bool(
        some
    )
