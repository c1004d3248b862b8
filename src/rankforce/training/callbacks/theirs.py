"""Callbacks of LightGBM and XGBoost that change a run, as settings of the run.

Neither library is imported: an object is known by its class. So early stopping follows one rule,
whoever asks for it, and a schedule of rates is known before the first tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.training.aliases import ALIASES, same
from rankforce.training.callbacks.base import Callback


class Wish(NamedTuple):
    """What a callback says about the decision to stop; None where it does not care."""

    data: str | None = None
    metric: str | None = None
    higher: bool | None = None
    deltas: int = 1  # how many of them it has: one, or one for each metric


NO_WISH = Wish()


class Understood(NamedTuple):
    """Settings that callbacks ask for, the callbacks that stay, and what they wish."""

    settings: dict[str, Any]
    callbacks: list[Callback]
    wish: Wish


def understand(callbacks: Sequence[Any], given: dict[str, Any]) -> Understood:
    """Sort callbacks; `given` are settings that must agree with theirs where they are not None."""
    settings: dict[str, Any] = {}
    rest: list[Callback] = []
    wish = NO_WISH
    for callback in callbacks:
        kind = _kind(callback)
        if kind not in _READERS:
            _refuse(callback, kind)
            rest.append(callback)
            continue
        found, own = _READERS[kind](callback)
        wish = own or wish
        for name, value in found.items():
            known = settings.get(name, given.get(name))
            if known is not None and not same(known, value):
                what = f"{name} is {known!r}, but the callback {kind[1]} says {value!r}"
                raise RankforceError(f"{what}: give one of them")
            settings[name] = value
    return Understood(settings, rest, wish)


Kind = tuple[str, str]
Read = tuple[dict[str, Any], Wish | None]


def _kind(callback: Any) -> Kind:
    """Library and class, or a class that it derives from, if there is something to do for it."""
    found = ("", type(callback).__name__)
    for base in type(callback).__mro__:
        library = base.__module__.partition(".")[0]
        if library in ("lightgbm", "xgboost"):
            found = library, base.__name__
            break
    return found


def _lightgbm_stopping(callback: Any) -> Read:
    if not callback.enabled:
        return {}, None
    deltas = callback.min_delta if isinstance(callback.min_delta, list) else [callback.min_delta]
    found = {"early_stopping_rounds": callback.stopping_rounds}
    if deltas and deltas[0]:
        found["min_delta"] = deltas[0]
    return found, Wish(deltas=max(len(deltas), 1))


def _xgboost_stopping(callback: Any) -> Read:
    found = {"early_stopping_rounds": callback.rounds}
    if getattr(callback, "_min_delta", 0.0):  # since XGBoost 1.5
        found["min_delta"] = callback._min_delta
    return found, Wish(callback.data, callback.metric_name, callback.maximize)


def _lightgbm_schedule(callback: Any) -> Read:
    found: dict[str, Any] = {}
    for name, value in callback.kwargs.items():
        if ALIASES.get(name, name) != "learning_rate":
            raise RankforceError(
                f"callback reset_parameter changes {name}: only learning_rate can change while "
                "training"
            )
        found["learning_rate"] = value
    return found, None


def _xgboost_schedule(callback: Any) -> Read:
    return {"learning_rate": callback.learning_rates}, None


def _xgboost_monitor(_callback: Any) -> Read:
    return {"progress": True}, None


_READERS: dict[Kind, Callable[[Any], Read]] = {
    ("lightgbm", "_EarlyStoppingCallback"): _lightgbm_stopping,
    ("lightgbm", "_ResetParameterCallback"): _lightgbm_schedule,
    ("xgboost", "EarlyStopping"): _xgboost_stopping,
    ("xgboost", "LearningRateScheduler"): _xgboost_schedule,
    ("xgboost", "EvaluationMonitor"): _xgboost_monitor,
}


def _refuse(callback: Any, kind: Kind) -> None:
    """Complain about what can be neither called nor understood."""
    name = getattr(callback, "__name__", type(callback).__name__)
    if kind[0] == "xgboost":
        hint = " (checkpoint= writes while training)" if kind[1] == "TrainingCheckPoint" else ""
        raise RankforceError(
            f"callback {name} wants XGBoost's booster, which is not there: EarlyStopping, "
            "LearningRateScheduler and EvaluationMonitor are understood, and any function that is "
            f"to be called after each tree{hint}"
        )
    if not callable(callback):
        raise RankforceError(
            f"callback {callback!r} cannot be called: give a function of one argument"
        )
    if getattr(callback, "before_iteration", False):
        raise RankforceError(
            f"callback {name} wants to run before a tree, which only LightGBM's reset_parameter "
            "can: others run after a tree"
        )


def check_wish(wish: Wish, *, names: Sequence[str], deciding: str | None, metrics: Any) -> None:
    """Refuse a wish for another data set, metric or direction than those that decide."""
    first = metrics[0]
    if wish.data is not None:
        # XGBoost calls the sets validation_0, validation_1, ...
        theirs = {f"validation_{number}": name for number, name in enumerate(names)}
        if theirs.get(wish.data, wish.data) != deciding:
            raise RankforceError(
                f"EarlyStopping has data_name={wish.data!r}, but {deciding} decides, the first of "
                f"eval_set that is not the training set: put the other one first"
            )
    if wish.metric is not None and wish.metric.lower() != first.key.lower():
        raise RankforceError(
            f"EarlyStopping has metric_name={wish.metric!r}, but the first metric decides, "
            f"{first.key}: put the other one first"
        )
    if wish.higher is not None and wish.higher != first.higher_is_better:
        better = "higher" if first.higher_is_better else "lower"
        raise RankforceError(
            f"EarlyStopping has maximize={wish.higher}, but {first.key} is better when {better}"
        )
    if wish.deltas not in (1, len(metrics)):
        raise RankforceError(
            f"early_stopping has {wish.deltas} values of min_delta for {len(metrics)} metrics: "
            "give one"
        )
