"""The tables of three papers: which rankers a cell needs, and what is written into it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import rankforce as rf
from rankforce.forces.named import at_cutoff
from rankforce.studies.papers import printed
from rankforce.studies.sets import TRAIN, StudySet
from rankforce.studies.study import Study, Trial
from rankforce.studies.tables import Cells, Keys, Remake, mean_percent

# Where the papers have no settings for a data set.
USUAL = {
    "learning_rate": 0.05,
    "num_leaves": 31,
    "min_child_samples": 20,
    "min_child_weight": 0.001,
}
SMALL_MU = ("mslr-web30k", "yahoo-1")  # Marcuzzi et al. 2023, section 5.2
# Tuned without a word on the loss; mu is printed, so it is this one (Tables A1 to A3).
TUNED = {"Lambda-eX": "lambdaloss-ex++ static", "Lambda-eX bin": "lambdaloss-ex++ static bin"}
# Svore et al. 2011, section 6: 30 leaves, and what was swept.
LEAVES = 30
RATES = (0.2, 0.5)
DOCUMENTS = (6000, 8000, 10000)  # of a leaf, with 108,000 training queries
TIERS = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5)
STARTS = (0.1, 0.25, 0.5)
SCHEDULES = {"exponential": (100.0, 250.0), "linear": (0.1, 0.01, 0.001)}
CHOOSES = "NDCG@3"


def settings_of(paper: str, data: str) -> dict[str, Any]:
    """What the paper set for a data set, or else `USUAL`.

    >>> settings_of("001", "yahoo-1")["num_leaves"], settings_of("000", "mq2008")["num_leaves"]
    (400, 31)
    """
    if paper == "002":
        return {"num_leaves": LEAVES, "learning_rate": RATES[0], "min_child_weight": 0.0}
    table = printed(paper, "4" if paper == "000" else "3")
    return {one["parameter"]: one["value"] for one in table.find(data=data)} or dict(USUAL)


def metrics_of(paper: str, cutoffs: list[int], *, clicks: bool) -> dict[str, list[str]]:
    """The metrics that choose the number of trees, and those that are judged with them."""
    if paper != "002":
        return {f"{name}@{k}": [f"{name}@{k}"] for name in ("p", "ndcg") for k in cutoffs}
    judged = [f"ndcg@{k}" for k in range(1, 11)]
    judged += [f"cndcg@{k}(source=clicks)" for k in range(1, 11)] if clicks else []
    return {CHOOSES.lower(): judged}


# Marcuzzi et al. 2023


def _marcuzzi(keys: Keys, data: StudySet, study: Study) -> list[Trial]:
    name, k = keys["algorithm"], keys["k"]
    arguments: dict[str, Any] = {}
    if "-eX" not in name:
        arguments["tau"] = {"k": k, "k+3": k + 3, "inf": math.inf}[keys["tau"]]
    if "missed" in keys:
        arguments["missed"] = keys["missed"]
    if "++" in name:
        arguments["mu"] = 0.5 if "-eX" in name and data.name in SMALL_MU else 5.0
    return [Trial(rf.objective(name, k=k, **arguments))]


def _wider(keys: Keys) -> Keys:
    """The same loss at tau = k + 3."""
    loss = "LambdaRank-NDCG" if keys["algorithm"].startswith("LambdaM") else "LambdaLoss-NDCG++"
    loss = keys["algorithm"] if "-eX" not in keys["algorithm"] else loss
    return keys | {"algorithm": loss, "tau": "k+3"}


def _by_label(keys: Keys) -> Keys | None:
    """Lambda-eX with its set X as printed."""
    return keys | {"missed": "label"} if "-eX" in keys["algorithm"] else None


def _by_deficit(keys: Keys) -> Keys:
    return {key: value for key, value in keys.items() if key != "missed"}


def _milliseconds(cells: Cells, keys: Keys) -> float:
    """The median over trees: what else a machine does now and then is in the mean."""
    found = [
        one.forces if keys["part"] == "objective" else one.seconds for one in cells.outcomes(keys)
    ]
    return 1000.0 * float(np.median(np.concatenate(found)))


# Adalia et al. 2025


def _adalia(keys: Keys, data: StudySet, study: Study) -> list[Trial]:
    return [Trial(at_cutoff(keys["algorithm"], keys["k"]))]


def _tuned(keys: Keys, data: StudySet, study: Study) -> list[Trial]:
    name, k = keys["algorithm"], keys["k"]
    return [Trial(at_cutoff(TUNED.get(name, name), k), tuned=f"p@{k}")]


def _precision(keys: Keys) -> str:
    return f"P@{keys['k']}"


def _lambdarank(keys: Keys) -> Keys:
    return keys | {"algorithm": "LambdaRank-P@k"}


def _time(cells: Cells, keys: Keys, *, to_best: bool) -> float:
    """Seconds of training, in percent of those of LambdaRank-P@k, geometric mean of folds."""
    metric = _precision(keys)
    ratios = [
        one.seconds[: one.best[metric] if to_best else None].sum()
        / base.seconds[: base.best[metric] if to_best else None].sum()
        for one, base in zip(cells.outcomes(keys), cells.outcomes(_lambdarank(keys)), strict=True)
    ]
    return 100.0 * float(np.exp(np.mean(np.log(ratios))))


def _chosen(cells: Cells, keys: Keys) -> Any:
    return cells.outcomes(keys)[0].chosen.get(keys["parameter"])


def _is_not_others(data: str) -> bool:
    """Table A1 is of MSLR-WEB30K; sets that the paper has not take its form."""
    return data not in ("istella-s", "yahoo-1")


# Svore et al. 2011


def _leaves(data: StudySet, study: Study) -> list[int]:
    """Documents of a leaf to sweep, in proportion to the number of training queries."""
    queries = len(study.data(data.name, TRAIN).sizes)
    return sorted({max(round(one * queries / 108_000), 1) for one in DOCUMENTS})


def _swept(objectives: list[Any], data: StudySet, study: Study, **settings: Any) -> list[Trial]:
    return [
        Trial(
            one,
            settings=tuple({"learning_rate": rate, "min_child_samples": least, **settings}.items()),
        )
        for one in objectives
        for rate, least in itertools.product(RATES, _leaves(data, study))
    ]


def _graded(keys: Keys, data: StudySet, study: Study) -> list[Trial]:
    base = rf.objective("lambdarank-ndcg", norm="none")
    clicks = rf.objective("lambdarank(cndcg)", source="clicks", norm="none")
    if keys["algorithm"] == "graded":
        return _swept([rf.graded([base, clicks], weights=[1.0 - w, w]) for w in TIERS], data, study)
    return _swept([base], data, study)


def _scheduled(keys: Keys, data: StudySet, study: Study) -> list[Trial]:
    if keys["step"] == "newton":
        return _swept([rf.objective("lambdarank-ndcg", norm="none")], data, study)
    base = rf.objective("lambdarank-ndcg", norm="std")
    if keys["schedule"] == "none":
        return _swept([base], data, study, step="gradient")
    near = rf.objective("lambdarank-ndcg", cost="sigmoid", norm="std")
    if keys["algorithm"] == "sigmoid@3":
        near = rf.objective("lambdarank(ndcg)", k=3, cost="sigmoid", norm="std")
    mixes = [
        rf.scheduled(base, near, schedule=keys["schedule"], start=start, rate=rate)
        for start in STARTS
        for rate in SCHEDULES[keys["schedule"]]
    ]
    return _swept(mixes, data, study, step="gradient")


def _gradient(keys: Keys) -> Keys | None:
    """What Table 2 compares with: gradient with newton, the others with gradient."""
    if keys["algorithm"] == "sigmoid@3":
        return None
    step = "gradient" if keys["schedule"] != "none" else "newton"
    return keys | {"algorithm": "LambdaRank-NDCG", "step": step, "schedule": "none"}


def _measure(keys: Keys) -> str:
    end = "(source=clicks)" if keys["measure"] == "CNDCG" else ""
    return rf.metric(f"{keys['measure']}@{keys['k']}{end}").name


def _ungraded(keys: Keys) -> Keys:
    return keys | {"algorithm": "LambdaRank-NDCG"}


def _ndcg(keys: Keys) -> str:
    return f"NDCG@{keys['k']}"


_EXTENDED = Remake("000", "5", _marcuzzi, mean_percent, metric=_ndcg, against=_wider)
_TIMED = Remake("001", "5", _adalia, lambda cells, keys: _time(cells, keys, to_best=False))
_GAPS = Remake("001", "4", _adalia, mean_percent, metric=_precision, against=_lambdarank)
_SETTINGS = Remake("001", "A1", _tuned, _chosen, on_one_fold=True, is_tuned=True)
_MOVING = Remake("002", "2", _scheduled, mean_percent, metric=_ndcg, against=_gradient)

REMAKES: dict[str, list[Remake]] = {
    "000": [
        _EXTENDED,
        _EXTENDED._replace(
            against=_by_deficit,
            adapt=_by_label,
            suffix="-label",
            says='Lambda-eX with missed="label", the set X as section 4.1 prints it, against '
            'missed="deficit", as the authors\' code has it',
        ),
        Remake("000", "6", _marcuzzi, _milliseconds, says="medians over trees in place of means"),
    ],
    "001": [
        _GAPS._replace(test="permutation"),
        _GAPS._replace(
            test="permutation",
            metric=_ndcg,
            against=lambda keys: keys | {"algorithm": "LambdaRank-NDCG"},
            suffix="-ndcg",
            says="NDCG@k in place of P@k, against LambdaRank-NDCG",
        ),
        _TIMED,
        _TIMED._replace(number="6", fill=lambda cells, keys: _time(cells, keys, to_best=True)),
        _GAPS._replace(test="permutation", number="8", trials=_tuned, is_tuned=True),
        _SETTINGS._replace(is_for=_is_not_others),
        _SETTINGS._replace(number="A2", is_for="istella-s".__eq__),
        _SETTINGS._replace(number="A3", is_for="yahoo-1".__eq__),
    ],
    "002": [
        Remake(
            "002",
            "1",
            _graded,
            mean_percent,
            metric=_measure,
            decides=lambda keys: CHOOSES,
            against=_ungraded,
            test="t",
            needs="clicks",
            adapt=lambda keys: keys if keys["clicks"] == "query" else None,
        ),
        _MOVING._replace(decides=lambda keys: CHOOSES, test="t"),
    ],
}
