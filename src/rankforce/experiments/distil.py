"""One small ranker in place of a committee, or of any large one: `rf.distil`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.common.threads import count_threads
from rankforce.data.neighbours import add_neighbours
from rankforce.data.queries import row_keys
from rankforce.data.ranking_data import RankingData
from rankforce.evaluation.compare import compare
from rankforce.experiments.distilled import (
    LARGE,
    SMALL,
    Distilled,
    best_slope,
    count_leaves,
    is_judged,
    measure_loss,
    measure_size,
)
from rankforce.experiments.train import check_out, save_ranker
from rankforce.formats.read import read
from rankforce.measures.metric import Metric
from rankforce.models.model import Model
from rankforce.training.eval_functions import of_queries
from rankforce.training.eval_sets import split_qid
from rankforce.training.loading import load
from rankforce.training.ranker import Ranker
from rankforce.training.resume import fingerprint
from rankforce.training.watch import make_metrics

USUAL_METRIC = "ndcg@10"  # of a model that does not say its own
USUAL = {"learning_rate": 0.2}  # with few trees: docs/adr/0031
# A pair of documents counts as much as the committee's scores of them differ.
FIXED = {"objective": "lambdaloss-arp2", "members": None, "base": None}
# What the small ranker takes over: how features are read, and what was promised of them.
KEPT = ("missing", "monotone_constraints", "interaction_constraints")


def distil(
    committee: Ranker,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    valid: RankingData | None = None,
    trees: int = 100,
    leaves: int = 31,
    neighbours: int = 1,
    metric: Any = None,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Distilled:
    """Fit one small ranker to the scores of a committee, or of any other ranker, for serving.

    `X` is the training set, a RankingData or features with `y`, `qid` and `group`, as for
    `Ranker.fit`; labels only measure what was lost. Each of its documents has so many made-up
    `neighbours`, which take some columns from another document of their query. The small ranker
    learns to order documents as their scores do, pairs by how much these differ (LambdaLoss-ARP2
    with scores as labels); at last its leaves are brought to the scale of the scores. It keeps the
    constraints of the committee; `parameters` are others of `rf.Ranker`.

    What was lost is measured on the training set and on `valid`: `metric` (default: those of the
    committee) of both, with Fisher's randomisation test, how well their rankings and scores agree,
    and how long they take. Without labels it is agreement alone.

    >>> import rankforce as rf
    >>> data, valid = (rf.make_data("yahoo", queries=30, seed=seed) for seed in (0, 1))
    >>> committee = rf.Ranker(members=3, n_estimators=20, num_leaves=7, progress=False).fit(data)
    >>> found = rf.distil(committee, data, valid=valid, trees=10, progress=False)
    >>> found.sizes["committee"].trees, found.sizes["small"].trees, [*found.lost]
    (60, 10, ['training', 'valid'])
    """
    model = _check_model(committee)
    metrics = _make_metrics(committee, metric)
    own = {
        "n_estimators": check_whole("trees", trees, least=1),
        "num_leaves": check_whole("leaves", leaves, least=2),
        "eval_metric": metrics,
        **{"seed": seed, "threads": threads, "progress": progress},
    }
    count = check_whole("neighbours", neighbours, least=0)
    ranker = _small_one(model, own, parameters)
    sets = _read_sets(X, y, qid, group, valid, model)
    scores = {name: committee.predict(data) for name, data in sets.items()}
    for name, data in sets.items():
        for one in metrics if is_judged(data) else ():  # what cannot judge shows before any tree
            compare({LARGE: scores[name]}, data, metric=one)
    _fit(ranker, committee, sets, count)
    used = count_threads(threads)
    lost = {
        name: measure_loss(data, scores[name], ranker.predict(data), metrics, threads=used)
        for name, data in sets.items()
    }
    models, sample = {LARGE: model, SMALL: ranker.model_}, sets["training"].features
    sizes = {name: measure_size(one, sample) for name, one in models.items()}
    return Distilled(ranker, lost, sizes)


def distil_from(
    model: str | Path,
    train: str | Path,
    *,
    valid: str | Path | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    base: Any = None,
    columns: Mapping[str, Any] | None = None,
    **asked: Any,
) -> Distilled:
    """Distil a saved model on files, and save what comes of it into the folder `out`.

    `base` is as in `rf.load`, `columns` a table of what `rf.read` takes, `asked` as in `rf.distil`.

    >>> distil_from("nowhere", "a.txt")
    Traceback (most recent call last):
    rankforce.RankforceError: ...nowhere...
    """
    if out is not None:
        check_out(Path(out), overwrite)
    committee = load(model, base=base)
    given = dict(columns or {})
    data = read(train, like=committee, **given)
    judge = None if valid is None else read(valid, like=committee, **given)
    found = distil(committee, data, valid=judge, **asked)
    if out is not None:
        save_ranker(found.ranker, Path(out))
    return found


def _check_model(committee: Any) -> Model:
    if not isinstance(committee, Ranker):
        kind = type(committee).__name__
        raise RankforceError(f"committee is a {kind}: give a ranker; rf.load makes one of a folder")
    if not hasattr(committee, "model_"):
        raise RankforceError("committee is a ranker that is not trained yet: call fit first")
    committee.model_.forest("distil")
    return committee.model_


def _title(model: Model) -> str:
    count = len(model.members)
    return f"a committee of {count}" if count else model.objective or "a ranker"


def _make_metrics(committee: Ranker, wanted: Any) -> list[Metric]:
    """The metrics asked for, or those that the committee watched."""
    own = committee.get_params(deep=False).get("eval_metric")
    given = wanted or own or committee.model_.parameters.get("eval_metric") or USUAL_METRIC
    return of_queries(make_metrics(given, None, k=committee.k))


def _small_one(model: Model, own: dict[str, Any], parameters: dict[str, Any]) -> Ranker:
    """The small ranker, not trained yet; a mistake among its parameters is an error."""
    for name in parameters:
        if name in FIXED or name in own:
            raise RankforceError(f"{name} is {parameters[name]!r}: distil itself decides that")
    kept = {name: model.parameters[name] for name in KEPT if name in model.parameters}
    ranker = Ranker(**{**USUAL, **kept, **parameters, **FIXED, **own})
    ranker.settings()
    return ranker


def _read_sets(
    X: Any, y: Any, qid: Any, group: Any, valid: Any, model: Model
) -> dict[str, RankingData]:
    """The data sets with the features of the committee."""
    if isinstance(X, RankingData):
        data = X.like(model.schema, place="the training set")
    else:
        X, qid = split_qid(X, qid, group)
        data = RankingData(X, y, qid=qid, group=group, like=model.schema)
    if valid is None:
        return {"training": data}
    if not isinstance(valid, RankingData):
        raise RankforceError(f"valid is a {type(valid).__name__}: it must be a RankingData")
    return {"training": data, "valid": valid.like(model.schema, place="valid")}


def _fit(ranker: Ranker, committee: Ranker, sets: dict[str, RankingData], count: int) -> None:
    """Train the small ranker, and let its model tell how."""
    data, model, own = sets["training"], committee.model_, ranker.settings()
    joined = _join(data, count, own.seed)
    made_up = f", {count} in {count + 1} of them made up" if count else ""
    Voice(own.progress).say(f"{_title(model)} scores {joined.rows:,} documents{made_up}")
    scores = committee.predict(joined)
    joined.labels, joined.has_labels = scores / (np.std(scores) or 1.0), True
    watched = [one for name, one in sets.items() if name != "training" and is_judged(one)]
    ranker.fit(joined, eval_set=watched)
    slope = best_slope(ranker.predict(joined), scores, joined.index)
    ranker.model_.scorer = ranker.model_.forest("distil").scaled(slope)
    # The data is the user's: neighbours and scores follow from it.
    ranker.model_.data["training"] = fingerprint(data, None)
    ranker.model_.distilled = {
        "from": _title(model),
        "trees": model.used,
        "leaves": count_leaves(model),
        "digest": model.scorer.digest(model.used),
        "neighbours": count,
    }


def _join(data: RankingData, count: int, seed: int) -> RankingData:
    """The documents without labels, and so many neighbours of each."""
    keys = row_keys(data.index, data.rows)
    joined = RankingData(
        add_neighbours(data.features, data.index, keys, count=count, seed=seed),
        qid=np.tile(data.qid, 1 + count),
        weight=None if data.weight is None else np.tile(data.weight, 1 + count),
        query_weight=data.query_weight,
        feature_names=data.feature_names,
        categorical=data.categorical,
        categories=data.categories,
    )
    joined.renumbered, joined.origin = list(data.renumbered), dict(data.origin)
    return joined
