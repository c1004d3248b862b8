"""The estimator: scikit-learn's manners, LightGBM's parameter names, any ranking objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankforce._metrics.average import mean
from rankforce._metrics.metric import Metric
from rankforce._metrics.scoreboard import Scoreboard
from rankforce._objectives.base import AnyObjective
from rankforce._objectives.tables import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.engines.lightgbm import make_booster
from rankforce.model import Model, load_model
from rankforce.model_folder import MANIFEST
from rankforce.notes import note
from rankforce.outside import outside_scores
from rankforce.ranking import Ranking, rank_documents
from rankforce.training.aliases import same
from rankforce.training.base import Base, open_base, stand_on
from rankforce.training.loop import Callback, Part, fit
from rankforce.training.settings import Settings, make_settings
from rankforce.training.watch import History, make_metrics
from rankforce.trees.forest import count_splits


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A ranker of boosted trees for any objective of :func:`rankforce.objective`.

    `k` is the cutoff one cares about; the other parameters of the objective (`tau`, `mu`, `gain`,
    ...) go by name too. Trees have LightGBM's parameters under its names or XGBoost's.
    `step` is how far a leaf moves: "newton", "gradient" or "exact-newton". `base` is what the first
    tree starts from: None, "regressor" (trees fitted to the labels), a ranker, its folder or a
    model of LightGBM, whose trees come first, or any other model with `predict`.
    `checkpoint` is a folder to write to while training, and to go on from. `progress` is None (a
    live line in terminals, else log lines), True or False.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=50, seed=1)
    >>> ranker = rf.Ranker("lambdarank-ndcg", k=10, n_estimators=5, num_leaves=4, progress=False)
    >>> ranker.fit(data.features, data.labels, group=data.group).predict(data.features).shape
    (...,)
    """

    def __init__(
        self,
        objective: str | AnyObjective | Any = "lambdarank-ndcg",
        *,
        k: int | None = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        norm: str = "lightgbm",
        step: str = "newton",
        base: Any = None,
        seed: int = 0,
        threads: int | None = None,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        **others: Any,
    ) -> None:
        self.objective = objective
        self.k = k
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.norm = norm
        self.step = step
        self.base = base
        self.seed = seed
        self.threads = threads
        self.checkpoint = checkpoint
        self.progress = progress
        self._others = others

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those given under other names included."""
        params: dict[str, Any] = super().get_params(deep=deep)
        return params | self._others

    def set_params(self, **params: Any) -> Ranker:
        """Change parameters by name."""
        own = super().get_params(deep=False)
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
            else:
                self._others[name] = value
        return self

    def settings(self, **more: Any) -> Settings:
        """The settings that `fit` would use; a mistake among the parameters is an error."""
        given = self.get_params(deep=False)
        defaults = type(self)().get_params(deep=False)
        kept = {n: v for n, v in given.items() if n in self._others or not same(v, defaults[n])}
        return make_settings(kept | {n: v for n, v in more.items() if v is not None})

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        sources: Mapping[str, Any] | None = None,
        preferences: Any = None,
        init_score: Any = None,
        eval_set: Sequence[Any] | None = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_metric: Any = None,
        eval_at: Sequence[int] = (),
        early_stopping_rounds: int | None = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Sequence[Callback] | None = None,
    ) -> Ranker:
        """Train on rows with features `X` and labels `y`; `X` may also be a RankingData.

        `eval_set` is a list of (X, y) pairs or of RankingData. The first metric on the first of
        them decides the best iteration and early stopping. `init_score` has scores to start from,
        `sources` further label columns by name, `preferences` explicit pairs of rows.
        """
        train = X
        if not isinstance(X, RankingData):
            train = RankingData(
                X,
                y,
                qid=qid,
                group=group,
                weight=sample_weight,
                query_weight=query_weight,
                sources=sources,
                preferences=preferences,
                feature_names=None if isinstance(feature_name, str) else feature_name,
                categorical=None if isinstance(categorical_feature, str) else categorical_feature,
            )
        if not (train.has_labels or train.sources or train.preferences is not None):
            raise ValueError("training needs labels: give y")
        sets = eval_pairs(eval_set, eval_X, eval_y)
        parts = {"qid": eval_qid, "group": eval_group, "weight": eval_sample_weight}
        beside = _beside(parts | {"init_score": eval_init_score}, len(sets))
        names = eval_names or [f"valid_{number}" for number in range(len(sets))]
        if len(names) != len(sets):
            raise ValueError(f"eval_names has {len(names)} entries for {len(sets)} sets")
        _check_callbacks(callbacks or ())
        settings = self.settings(
            eval_metric=eval_metric, early_stopping_rounds=early_stopping_rounds
        )
        base = open_base(self.base)
        train = stand_on(base, train)
        valid = []
        for name, pair, own in zip(names, sets, beside, strict=True):
            start = own.pop("init_score")
            data = self._eval_data(pair, train, **own)
            valid.append(Part(str(name), data, _start_scores(base, data, start)))
        part = Part("training", train, _start_scores(base, train, init_score))
        self.model_ = fit(
            settings, part, valid, callbacks=callbacks or (), cutoffs=eval_at, base=base
        )
        return self

    def _eval_data(self, pair: Any, train: RankingData, **parts: Any) -> RankingData:
        if isinstance(pair, RankingData):
            return pair.with_categories(train.categories)
        X, y = pair
        if X is train or X is train.features:
            return train if y is None or y is train.labels else _relabel(train, y)
        if parts["qid"] is None and parts["group"] is None:
            raise ValueError("eval_set needs queries: give eval_qid or eval_group")
        return RankingData(
            X,
            y,
            **parts,
            feature_names=train.feature_names,
            categorical=train.categorical,
            categories=train.categories,
        )

    def predict(
        self, X: Any, *, num_iteration: int | None = None, init_score: Any = None
    ) -> Floats:
        """Scores, one per row: the higher, the better.

        They come from the trees up to the best iteration if training stopped early, else from all.
        """
        check_is_fitted(self, "model_")
        data = self._features(X)
        threads = make_settings({"threads": self.threads}).thread_count
        scores = self.model_.scores(data, trees=num_iteration, threads=threads)
        if init_score is not None:
            return scores + np.asarray(init_score, dtype=np.float64)
        base = self.model_.base
        return scores if base is None else scores + outside_scores(base, data)

    def _features(self, X: Any) -> Any:
        if isinstance(X, RankingData):
            return X.with_categories(self.model_.categories).features
        from rankforce.data.frames import to_matrix

        return to_matrix(X, categories=self.model_.categories or None).values

    def rank(
        self, X: Any, qid: Any = None, top: int | None = None, *, group: Any = None
    ) -> Ranking:
        """The best documents of each query, best first: rows, ranks, scores, queries.

        >>> import rankforce as rf
        >>> data = rf.make_data("yahoo", queries=20)
        >>> ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(data)
        >>> best = ranker.rank(data, top=1)
        >>> len(best.row) == len(data.sizes), set(best.rank.tolist())
        (True, {1})
        """
        scores = self.predict(X)
        if isinstance(X, RankingData):
            return rank_documents(scores, index=X.index, qid=X.qid, top=top)
        return rank_documents(scores, qid=qid, group=group, top=top)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        metric: Any = None,
    ) -> float:
        """Mean of a metric over the queries, by default the one that the objective is for.

        A metric that is better when lower comes negated, so that higher is always better. A query
        counts with the mean weight of its rows.
        """
        check_is_fitted(self, "model_")
        data = X
        if not isinstance(X, RankingData):
            if qid is None and group is None:
                raise ValueError(
                    "score needs queries: give qid= or group= (in GridSearchCV: scikit-learn's "
                    "metadata routing with set_fit_request(qid=True).set_score_request(qid=True))"
                )
            data = RankingData(
                X,
                y,
                qid=qid,
                group=group,
                weight=sample_weight,
                categories=self.model_.categories,
            )
        if not data.has_labels:
            raise ValueError("score needs labels: give y")
        chosen = self._metric(metric)
        board = Scoreboard([chosen], data)
        average = mean(board.values(self.predict(data))[0], data.metric_weight)
        return average if chosen.higher_is_better else -average

    def _metric(self, wanted: Any) -> Metric:
        """The metric asked for, or the first one watched, or the one the objective is for."""
        given = (
            wanted or self._others.get("eval_metric") or self.model_.parameters.get("eval_metric")
        )
        if given is not None and isinstance(self.objective, str):
            return make_metrics(given, None, k=self.k)[0]
        settings = self.settings()
        return make_metrics(given, settings.make_objective(), k=settings.k)[0]

    @property
    def best_iteration_(self) -> int | None:
        """Number of trees at the best value of the deciding metric; without one, all of them."""
        check_is_fitted(self, "model_")
        return self.model_.best_iteration

    @property
    def evals_result_(self) -> History:
        """The history of every metric on every validation set."""
        check_is_fitted(self, "model_")
        return self.model_.history

    @property
    def best_score_(self) -> dict[str, dict[str, float]]:
        """Every metric on every validation set at the best iteration."""
        best = self.best_iteration_ or 0
        return {
            name: {metric: values[best - 1] for metric, values in metrics.items() if values}
            for name, metrics in self.evals_result_.items()
        }

    @property
    def booster_(self) -> Any:
        """The model as a plain LightGBM booster; without a base that is not made of trees."""
        check_is_fitted(self, "model_")
        if self.model_.base is not None:
            kind = type(self.model_.base).__name__
            note(f"the booster has the trees behind the base, but not the base, a {kind}")
        return make_booster(self.model_.text())

    @property
    def n_features_in_(self) -> int:
        """Number of features that the model was trained on."""
        check_is_fitted(self, "model_")
        return len(self.model_.feature_names)

    @property
    def feature_name_(self) -> list[str]:
        """Names of the features."""
        check_is_fitted(self, "model_")
        return self.model_.feature_names

    @property
    def feature_importances_(self) -> NDArray[np.int64]:
        """Number of nodes that split on each feature."""
        check_is_fitted(self, "model_")
        return count_splits(self.model_.trees[: self.model_.used], self.n_features_in_)

    def save(self, folder: str | Path) -> None:
        """Write LightGBM's model text and a manifest (JSON) into `folder`."""
        check_is_fitted(self, "model_")
        self.model_.save(folder)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def load(path: str | Path, *, base: Any = None) -> Ranker:
    """A ranker from what :meth:`Ranker.save` wrote, or from any LightGBM text model.

    Nothing in the files is executed. `base` is the model that the ranker was trained upon, or its
    folder, if that was one of another kind: trees of a base are in the ranker's own files. Another
    one than that is refused.
    """
    model = load_model(path, base=load(base) if isinstance(base, (str, Path)) else base)
    try:
        return make_ranker(model)
    except ValueError as error:
        raise ValueError(f"{Path(path) / MANIFEST}: {error}") from None


def load_one(path: str | Path, base: Any) -> Ranker:
    """One of several models, of which only those that stand on another one get `base`."""
    if base is None or load_model(path, checks_base=False).base is None:
        return load(path)
    return load(path, base=base)


def make_ranker(model: Model) -> Ranker:
    """A fitted ranker around a model."""
    defaults = Settings()
    params: dict[str, Any] = {
        name: _restored(value)
        for name, value in model.parameters.items()
        if name != "base" and getattr(defaults, name, None) != value
    }
    try:
        ranker = Ranker(**params)
    except TypeError as error:
        raise ValueError(f"the manifest's parameters are not those of a ranker: {error}") from None
    ranker.model_ = model
    return ranker


def _restored(value: Any) -> Any:
    """A value of a manifest; JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _restored(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_restored(entry) for entry in value]
    return float("inf") if value == "inf" else value


def eval_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[Any]:
    """Validation sets as a list, however they were given: LightGBM has three ways."""
    if eval_X is not None:
        if eval_set is not None:
            raise ValueError("give eval_set or eval_X, not both")
        several = isinstance(eval_X, (tuple, list))
        return list(zip(eval_X, eval_y, strict=True)) if several else [(eval_X, eval_y)]
    if eval_set is None:
        return []
    if isinstance(eval_set, RankingData):
        return [eval_set]
    is_one = isinstance(eval_set, tuple) and len(eval_set) == 2
    if is_one and not isinstance(eval_set[0], (tuple, RankingData)):
        return [eval_set]
    return list(eval_set)


def _start_scores(base: Base, data: RankingData, given: Any) -> Floats | None:
    return base.scores(data) if given is None else np.asarray(given, dtype=np.float64)


def _beside(given: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """For each validation set, what belongs to it."""
    found: list[dict[str, Any]] = [dict.fromkeys(given) for _ in range(count)]
    for name, values in given.items():
        if values is None:
            continue
        if len(values) != count:
            raise ValueError(f"eval_{name} has {len(values)} entries for {count} validation sets")
        for own, value in zip(found, values, strict=True):
            own[name] = value
    return found


def _check_callbacks(callbacks: Sequence[Callback]) -> None:
    for callback in callbacks:
        if getattr(callback, "before_iteration", False):
            name = getattr(callback, "__name__", type(callback).__name__)
            raise ValueError(
                f"callback {name} wants to run before a tree, as LightGBM's reset_parameter does: "
                "only after a tree is possible"
            )


def _relabel(data: RankingData, y: Any) -> RankingData:
    return RankingData(data.features, y, qid=data.qid, feature_names=data.feature_names)
