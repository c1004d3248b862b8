"""What is asked for, checked before any data is read; the clock begins to run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.files import check_folder
from rankforce.common.threads import count_threads
from rankforce.experiments.auto.clock import Clock
from rankforce.experiments.tune import read_time
from rankforce.measures.metric import Metric
from rankforce.models.folder import has_model
from rankforce.training.aliases import ALIASES
from rankforce.training.eval_functions import of_queries
from rankforce.training.machine import check_machine
from rankforce.training.networks import TREES, kind_of_model
from rankforce.training.ranker import Ranker
from rankforce.training.watch import make_metrics

METRIC, BUDGET, FOLDS = "ndcg@10", "10m", 5
MODEL = "model"  # the folder of the ranker, in that of the results
_CHOSEN = ("objective", "members", "member_weights", "checkpoint", "base", "eval_metric")


class Plan(NamedTuple):
    """What `rf.auto` is asked for, beside the data."""

    metric: Metric
    clock: Clock
    trials: int | None
    folds: int
    seed: int
    threads: int
    place: Path | None  # of the results
    progress: bool | None
    given: Mapping[str, Any]  # settings that all candidates have


def make_plan(
    *,
    metric: Any = METRIC,
    budget: float | str | None = None,
    trials: int | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    threads: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
    begun: float | None = None,
    **parameters: Any,
) -> Plan:
    """Check the arguments of `rf.auto`; the time counts from `begun` (of `time.monotonic`) or now.

    >>> make_plan(budget="soon")
    Traceback (most recent call last):
    rankforce.RankforceError: budget is 'soon': it must be seconds, or a number with s, m or h, ...
    """
    clock = Clock(_seconds(budget, trials), begun=begun)
    given = {ALIASES.get(name, name): value for name, value in parameters.items()}
    for name in _CHOSEN:
        if name in given:
            raise RankforceError(f"{name} is not for auto, which chooses itself: see rf.tune")
    kind = kind_of_model(given.get("model", TREES))
    if kind != TREES:
        raise RankforceError(f"model is {kind!r}: auto chooses among trees, leave it out")
    check_machine(Ranker(**given).settings())
    return Plan(
        _one_metric(metric),
        clock,
        None if trials is None else check_whole("trials", trials, least=1),
        check_whole("folds", folds, least=2),
        check_whole("seed", seed, least=0),
        count_threads(threads),
        None if out is None else _check_out(Path(out), overwrite=overwrite),
        progress,
        given,
    )


def _seconds(budget: float | str | None, trials: int | None) -> float | None:
    """The time that there is; None if trials alone say when to end."""
    if budget is None and trials is not None:
        return None
    found = read_time(BUDGET if budget is None else budget, name="budget")
    if not found > 0.0:
        raise RankforceError(f"budget is {budget!r}: it must be above 0")
    return found


def _one_metric(given: Any) -> Metric:
    metrics = make_metrics(given, None, k=None)
    if metrics.card is not None or len(metrics) != 1:
        raise RankforceError(f"metric is {given!r}: a search is for one number, give one metric")
    return of_queries(metrics)[0]


def _check_out(place: Path, *, overwrite: bool) -> Path:
    check_folder(place, "out")
    if has_model(place / MODEL) and not overwrite:
        raise RankforceError(
            f"out is {str(place)!r}, which holds a model already: give another folder, or "
            "overwrite it (--overwrite)"
        )
    return place
