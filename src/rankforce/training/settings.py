"""The settings of a run: one name for each, checked once."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankforce.common.checks import check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.engines.base import find_engine
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective as make_objective
from rankforce.forces.mixed import make_one, parts_of
from rankforce.models.importance import check_kind
from rankforce.models.model import Model
from rankforce.training.aliases import translate

STEPS = ("newton", "gradient", "exact-newton")
NORMS = ("lightgbm", "none", "std")
OF_OBJECTIVE = (
    "k",
    "tau",
    "mu",
    "gain",
    "sigma",
    "delta_offset",
    "p",
    "max_label",
    "cost",
    "center",
)


OF_TREES = (
    "num_leaves",
    "max_depth",
    "min_child_samples",
    "min_child_weight",
    "min_split_gain",
    "reg_alpha",
    "reg_lambda",
    "colsample_bytree",
    "colsample_bynode",
    "quantised",
    "quantised_levels",
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that decides a model, apart from the data."""

    objective: Any = "lambdarank-ndcg"
    k: int | None = None
    tau: float | None = None
    mu: float | None = None
    gain: Any = None
    sigma: float = 1.0
    delta_offset: int | None = None
    p: float | None = None
    max_label: float | None = None
    cost: str = "logistic"
    center: float = 0.0
    norm: str = "lightgbm"
    step: str = "newton"
    base: Any = None
    base_estimators: int = 10
    n_estimators: int = 100
    learning_rate: Any = 0.1  # a number, or one for each tree
    num_leaves: int = 31
    max_depth: int = -1
    min_child_samples: int = 20
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    reg_alpha: float = 0.0
    reg_lambda: float = 0.0
    subsample: float = 1.0
    subsample_freq: int = 1
    subsample_by: str = "row"
    colsample_bytree: float = 1.0
    colsample_bynode: float = 1.0
    seed: int = 0
    threads: int | None = None
    quantised: bool | None = None
    quantised_levels: int = 64
    eval_metric: Any = None
    eval_at: Any = None
    early_stopping_rounds: int | None = None
    min_delta: float = 0.0
    checkpoint: Any = None
    checkpoint_every: int = 10
    progress: bool | None = None
    importance_type: str | None = None
    missing: float | None = None
    engine: str | None = None
    passed: dict[str, Any] = dataclasses.field(default_factory=dict)  # to the engine, as it is

    def make_objective(self) -> AnyObjective:
        """The objective that these settings name."""
        if isinstance(self.objective, (AnyObjective, Mapping)):
            for name, default in (("sigma", 1.0), ("cost", "logistic"), ("center", 0.0)):
                if getattr(self, name) != default:
                    raise RankforceError(_made_already(name))
            for name in OF_OBJECTIVE:
                if name not in ("sigma", "cost", "center") and getattr(self, name) is not None:
                    raise RankforceError(_made_already(name))
            return make_one(self.objective)
        given = {name: getattr(self, name) for name in OF_OBJECTIVE}
        given = {name: value for name, value in given.items() if value is not None}
        return make_objective(self.objective, seed=self.seed, **given)

    def rate(self, tree: int) -> float:
        """The learning rate of a tree; trees of a base model, with numbers below 0, get the first.

        >>> Settings(learning_rate=[0.2, 0.1]).rate(1)
        0.1
        """
        rates = self.learning_rate
        return float(rates[max(tree, 0)] if isinstance(rates, list) else rates)

    @property
    def thread_count(self) -> int:
        """Number of threads to use."""
        return count_threads(self.threads)

    def engine_parameters(self) -> dict[str, Any]:
        """What an engine is opened with: settings of trees, and parameters of its own.

        Rows left out of a bag stay in the data with no force, so that `min_child_samples`, which
        an engine applies to all rows, grows by as much as the bag shrinks.
        """
        in_bag = self.subsample if self.subsample_freq else 1.0
        named = {name: getattr(self, name) for name in OF_TREES}
        named["min_child_samples"] = max(round(self.min_child_samples / in_bag), 1)
        return named | self.passed


NAMES = {field.name for field in dataclasses.fields(Settings)} - {"passed"}


def make_settings(given: dict[str, Any], **more: Any) -> Settings:
    """Settings from parameters under any of their names; what `more` has is not None wins.

    >>> make_settings({"objective": "rank:ndcg", "eta": 0.2}).learning_rate
    0.2
    """
    engine = find_engine(given.get("engine"))
    ours, passed = translate(given, NAMES, engine.parameters)
    ours |= {name: value for name, value in more.items() if value is not None}
    if given.get("lambdarank_truncation_level") and ours.get("k") is None:
        ours = _cutoff_from_truncation(ours)
    passed = {name: engine.parameters[name](value) for name, value in passed.items()}
    if "learning_rate" in ours:
        ours["learning_rate"] = _make_rate(ours["learning_rate"], ours.get("n_estimators", 100))
    if ours.get("eval_at") is not None:
        ours["eval_at"] = _make_cutoffs(ours["eval_at"])
    settings = Settings(**ours, passed=passed)
    _check_numbers(settings)
    _check_choices(settings)
    settings.make_objective()
    return settings


def _make_rate(given: Any, trees: Any) -> Any:
    """A number as it is; a schedule as a list with a rate for each tree."""
    count = trees if isinstance(trees, (int, np.integer)) else 0
    if callable(given):
        return [_plain_number(given(tree)) for tree in range(count)]
    if not isinstance(given, (list, tuple, np.ndarray)):
        return given
    if len(given) < count:
        raise RankforceError(
            f"learning_rate has {len(given)} entries for {count} trees: it must be a number, one "
            "for each tree, or a function of the number of the tree"
        )
    return [_plain_number(value) for value in given]


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _make_cutoffs(given: Any) -> list[int]:
    """Cutoffs from a list, a number or a text such as "1,3,5"."""
    if isinstance(given, str):
        given = [int(part) if part.strip().isdigit() else part for part in given.split(",")]
    several = given if isinstance(given, (list, tuple, range, np.ndarray)) else [given]
    return [check_whole("eval_at", cutoff, least=1) for cutoff in several]


def _cutoff_from_truncation(ours: dict[str, Any]) -> dict[str, Any]:
    """The forks' objectives for precision take their k from the truncation level."""
    from rankforce.forces.registry import parse_name

    name = ours.get("objective")
    if not isinstance(name, str) or not parse_name(name).entry.needs_k:
        return ours
    rest = {key: value for key, value in ours.items() if key != "tau"}
    return rest | {"k": ours["tau"]}


# name: (least, most, whole)
_RANGES: dict[str, tuple[float, float, bool]] = {
    "base_estimators": (1, math.inf, True),
    "n_estimators": (1, math.inf, True),
    "learning_rate": (0.0, math.inf, False),
    "num_leaves": (2, 131072, True),
    "max_depth": (-1, math.inf, True),
    "min_child_samples": (0, math.inf, True),
    "min_child_weight": (0.0, math.inf, False),
    "min_split_gain": (0.0, math.inf, False),
    "reg_alpha": (0.0, math.inf, False),
    "reg_lambda": (0.0, math.inf, False),
    "subsample": (0.0, 1.0, False),
    "subsample_freq": (0, math.inf, True),
    "colsample_bytree": (0.0, 1.0, False),
    "colsample_bynode": (0.0, 1.0, False),
    "seed": (0, 2**31 - 1, True),
    "threads": (-1, 4096, True),
    "quantised_levels": (2, 126, True),
    "early_stopping_rounds": (1, math.inf, True),
    "min_delta": (0.0, math.inf, False),
    "checkpoint_every": (1, math.inf, True),
}
_NOT_ZERO = {"learning_rate", "subsample", "colsample_bytree", "colsample_bynode"}


def _check_numbers(settings: Settings) -> None:
    for name, (least, most, whole) in _RANGES.items():
        value = getattr(settings, name)
        if value is None and name in ("threads", "early_stopping_rounds"):
            continue
        if isinstance(value, list):
            # A schedule: the first rate that is wrong, else the first.
            value = next((one for one in value if not _is_rate(one)), value[0])
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        is_whole = (is_number and not whole) or isinstance(value, (int, np.integer))
        in_range = is_number and math.isfinite(value) and least <= value <= most
        in_range = in_range and not (name in _NOT_ZERO and value == 0)
        if not (is_number and is_whole and in_range):
            kind = "an integer" if whole else "a number"
            first = "above 0" if name in _NOT_ZERO else f"from {least:g}"
            last = "" if most == math.inf else f" to {most:g}"
            raise RankforceError(f"{name} is {value!r}: it must be {kind} {first}{last}")


def _is_rate(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value > 0


def _made_already(name: str) -> str:
    return f"the objective is made already: give {name} to rf.objective, not to the ranker"


def _check_second_derivatives(settings: Settings) -> None:
    for part in parts_of(settings.make_objective()):
        cost = getattr(part.objective, "cost", None)
        is_sigmoid = cost is not None and cost.name == "sigmoid"
        if (part.objective.norm or settings.norm) == "std" or is_sigmoid:
            raise RankforceError(
                "step='exact-newton' needs second derivatives: norm='std' has none"
            )


def _check_choices(settings: Settings) -> None:
    for name, choices in (("step", STEPS), ("norm", NORMS), ("subsample_by", ("row", "query"))):
        if getattr(settings, name) not in choices:
            listed = ", ".join(repr(choice) for choice in choices)
            raise RankforceError(f"unknown {name} {getattr(settings, name)!r}: choose {listed}")
    if settings.importance_type is not None:
        check_kind(settings.importance_type)
    if settings.missing is not None:
        check_number("missing", settings.missing, least=-math.inf)
    if settings.step == "exact-newton":
        _check_second_derivatives(settings)
    base = settings.base
    is_saved = isinstance(base, (str, os.PathLike)) and os.path.exists(base)
    if base is None or isinstance(base, Model) or is_saved or hasattr(base, "predict"):
        return
    if not isinstance(base, str) or base != "regressor":
        raise RankforceError(
            f"base is {base!r}: choose None, 'regressor', the folder of a saved model, or a model "
            "with predict()"
        )
