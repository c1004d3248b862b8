"""The settings of a run: one name for each, checked once."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankforce.common.checks import check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.engines.base import EngineKind, find_engine
from rankforce.forces.auto import Choice, choose_objective, is_auto
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective as make_objective
from rankforce.forces.mixed import make_one, makes_steps
from rankforce.models.importance import check_kind
from rankforce.models.model import Model
from rankforce.training.aliases import same, translate
from rankforce.training.eval_functions import OfRows
from rankforce.training.networks import fill_in_network, kind_of_model
from rankforce.training.presets import fill_in
from rankforce.training.settings_table import DEFAULT, TABLE, Range, Values
from rankforce.training.watch import make_metrics

_IN_COMMITTEE = {
    name: one.in_committee for name, one in TABLE.items() if one.in_committee is not None
}


class Settings(Values):
    """Everything that decides a model, apart from the data."""

    def make_objective(self) -> AnyObjective:
        """The objective that these settings name."""
        if isinstance(self.objective, (AnyObjective, Mapping)):
            for name, value in self._of("objective").items():
                if not same(value, TABLE[name].default):
                    raise RankforceError(
                        f"the objective is made already: give {name} to rf.objective, not to the "
                        "ranker"
                    )
            return make_one(self.objective)
        given = {name: value for name, value in self._of("objective").items() if value is not None}
        return make_objective(self.objective, seed=self.seed, **given)

    def _of(self, where: str) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in TABLE.values() if one.where == where}

    def rate(self, tree: int) -> float:
        """The learning rate of a tree; trees of a base, with numbers below 0, get their own.

        >>> Settings(learning_rate=[0.2, 0.1]).rate(1)
        0.1
        >>> Settings(base_rate=1.0).rate(-1)
        1.0
        """
        if tree < 0 and self.base_rate is not None:
            return float(self.base_rate)
        rates = self.learning_rate
        return float(rates[max(tree, 0)] if isinstance(rates, list) else rates)

    @property
    def kind(self) -> str:
        """What is trained: "trees", or a network that is "linear", "mlp", "attention", "module"."""
        return kind_of_model(self.model)

    @property
    def thread_count(self) -> int:
        """Number of threads to use."""
        return count_threads(self.threads)

    @property
    def engine_kind(self) -> EngineKind:
        """The engine that is named, or that the device has."""
        return find_engine(self.engine, self.device)

    def engine_parameters(self) -> dict[str, Any]:
        """What an engine is opened with: settings of trees, and parameters of its own."""
        in_bag = self.subsample if self.subsample_freq else 1.0
        where = {"device": self.device} if self.device == "cuda" else {}
        return self._of("trees") | {"in_bag": in_bag} | where | self.passed


def make_settings(given: dict[str, Any], **more: Any) -> Settings:
    """Settings from parameters under any of their names; what `more` has is not None wins.

    >>> make_settings({"objective": "rank:ndcg", "eta": 0.2}).learning_rate
    0.2
    """
    is_forest = given.get("model") in (None, "trees")
    engine = find_engine(given.get("engine"), given.get("device") if is_forest else None)
    ours, passed = translate(given, engine.parameters)
    ours |= {name: value for name, value in more.items() if value is not None}
    ours = _with_preset(fill_in_network(ours | passed))
    ours = {name: value for name, value in ours.items() if name not in passed}
    if ours.get("members") is not None:
        ours = _IN_COMMITTEE | ours
    if given.get("lambdarank_truncation_level") and ours.get("k") is None:
        ours = _cutoff_from_truncation(ours)
    passed = {name: engine.parameters[name](value) for name, value in passed.items()}
    if "learning_rate" in ours and kind_of_model(ours.get("model", DEFAULT.model)) == "trees":
        trees = ours.get("n_estimators", DEFAULT.n_estimators)
        ours["learning_rate"] = _make_rate(ours["learning_rate"], trees)
    if ours.get("eval_at") is not None:
        ours["eval_at"] = _make_cutoffs(ours["eval_at"])
    settings = Settings(**ours, passed=passed)
    _check(settings)
    try:
        settings.make_objective()
    except RankforceError as error:
        if settings.choice is None:
            raise
        raise RankforceError(f"objective 'auto' for {settings.choice.metric}: {error}") from None
    return settings


def _with_preset(given: dict[str, Any]) -> dict[str, Any]:
    """Settings with the objective that "auto" means, and what a preset says of the rest."""
    ours = settle_auto(given)
    if given.get("preset") is None:
        return ours
    cutoff, wanted = None, ours.get("eval_metric")
    if wanted is not None:
        cutoffs = _make_cutoffs(ours.get("eval_at") or ())
        cutoff = getattr(make_metrics(wanted, None, k=ours.get("k"), cutoffs=cutoffs)[0], "k", None)
    return fill_in(ours, cutoff=cutoff, has_tau=given.get("tau") is not None)


def settle_auto(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the objective that "auto" means, its parameters, and the `choice`.

    The first metric decides; without one it is NDCG. What is given stays, and so do the cutoffs of
    metrics, though the objective now has one. Other objectives than "auto" stay as well.

    >>> found = settle_auto({"objective": "auto", "eval_metric": "p@5, map"})
    >>> found["objective"], found["k"], found["eval_metric"]
    ('LambdaGap-S++', 5, [rf.metric('P@5'), rf.metric('MAP')])
    """
    kept = {name: value for name, value in given.items() if value is not None}
    choice = kept.get("objective")
    if not isinstance(choice, Choice) and not is_auto(choice):
        return dict(given)
    wanted, k, cutoffs = kept.get("eval_metric"), kept.get("k"), kept.get("eval_at", ())
    metrics = make_metrics(wanted or "NDCG", None, k=k, cutoffs=_make_cutoffs(cutoffs))
    if wanted:
        kept["eval_metric"] = metrics
    if not isinstance(choice, Choice):
        first = metrics[0].function if isinstance(metrics[0], OfRows) else metrics[0]
        choice = choose_objective(first, k)
    return choice.parameters | kept | {"objective": choice.objective, "choice": choice}


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


def _check(settings: Settings) -> None:
    for one in TABLE.values():
        value = getattr(settings, one.name)
        # An objective checks its own, and None is what a setting may be if it is its default.
        if one.where == "objective" or (value is None and one.default is None):
            continue
        if isinstance(one.may, Range):
            if one.name == "learning_rate" and isinstance(value, list):
                value = next((rate for rate in value if not _is_in(one.may, rate)), value[0])
            if not _is_in(one.may, value):
                raise RankforceError(f"{one.name} is {value!r}: it must be {one.may}")
        elif one.may and value not in one.may:
            choices = ", ".join(map(repr, one.may))
            raise RankforceError(f"unknown {one.name} {value!r}: choose {choices}")
    if settings.importance_type is not None:
        check_kind(settings.importance_type)
    if settings.missing is not None:
        check_number("missing", settings.missing, least=-math.inf)
    if settings.step == "exact-newton":
        _check_second_derivatives(settings)
    _check_base(settings.base)


def _is_in(numbers: Range, value: Any) -> bool:
    kinds = (int, np.integer) if numbers.whole else (int, float, np.number)
    if not isinstance(value, kinds) or isinstance(value, bool) or not math.isfinite(value):
        return False
    too_little = numbers.above and value == numbers.least
    return bool(numbers.least <= value <= numbers.most) and not too_little


def _check_second_derivatives(settings: Settings) -> None:
    if makes_steps(settings.make_objective(), settings.norm):
        raise RankforceError("step='exact-newton' needs second derivatives: norm='std' has none")


def _check_base(base: Any) -> None:
    is_saved = isinstance(base, (str, os.PathLike)) and os.path.exists(base)
    if base is None or isinstance(base, Model) or is_saved or hasattr(base, "predict"):
        return
    if not isinstance(base, str) or base != "regressor":
        raise RankforceError(
            f"base is {base!r}: choose None, 'regressor', the folder of a saved model, or a model "
            "with predict()"
        )
