"""The estimator: scikit-learn's manners, LightGBM's parameter names, any ranking objective."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, Ranking, index_queries, rank_documents
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import mark_missing
from rankforce.forces.auto import Choice
from rankforce.forces.base import AnyObjective
from rankforce.measures.metric import Metric, mean
from rankforce.measures.scoreboard import Scoreboard
from rankforce.models.model import Model
from rankforce.models.outside import outside_scores
from rankforce.training.aliases import also_called, same
from rankforce.training.base import Base, open_base, stand_on
from rankforce.training.callbacks.theirs import Understood, understand
from rankforce.training.cluster.given import Given, in_memory, is_elsewhere, sets_elsewhere
from rankforce.training.committee import fit_members
from rankforce.training.eval_functions import of_queries
from rankforce.training.eval_sets import (
    eval_pairs,
    make_parts,
    split_qid,
    weights,
    without_qid,
)
from rankforce.training.learnt import Learnt
from rankforce.training.loop import fit
from rankforce.training.members import member_settings
from rankforce.training.prediction import (
    choose_steps,
    find_contributions,
    find_leaves,
)
from rankforce.training.run import ScoredSet
from rankforce.training.scorer import QueryScorer
from rankforce.training.settings import Settings, make_settings
from rankforce.training.settings_table import DEFAULT, TABLE, Unsaid, settings_help
from rankforce.training.watch import make_metrics


class Ranker(Learnt):
    """A ranker for any objective of :func:`rankforce.objective`: boosted trees, or a network.

    Every setting below goes by its name, or by one that LightGBM or XGBoost has for it, and so do
    parameters of the engine that grows the trees. With a `base` that is made of trees, those come
    first. With `members` it is a committee: rankers that differ in seed, bag, columns, or in what a
    list says of each, whose trees are one model. A `preset` fills in what is not given.

    A `model` other than trees is a network, and needs PyTorch. A torch.nn.Module of one's own gets
    rows of features, scaled as `scaling` says, a column each, and gives one score a row; one whose
    `forward` takes `sizes` also gets those of the lists that the rows are.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=50, seed=1)
    >>> ranker = rf.Ranker("lambdarank-ndcg", k=10, n_estimators=5, num_leaves=4, progress=False)
    >>> ranker.fit(data.features, data.labels, group=data.group).predict(data.features).shape
    (...,)
    >>> best = rf.Ranker(preset="best", k=10, num_leaves=7).settings()
    >>> len(best.members), best.min_child_samples, best.num_leaves
    (8, 50, 7)
    """

    takes_data = True  # `predict` does: a RankingData
    objective: Any
    k: int | None
    base: Any
    threads: int | None
    cluster: Any
    _choice: Choice | None = None  # what "auto" became when the ranker was trained

    def __init__(
        self,
        objective: str | AnyObjective | Any = DEFAULT.objective,
        *,
        k: int | None = DEFAULT.k,
        model: Any = DEFAULT.model,
        n_estimators: int = DEFAULT.n_estimators,
        learning_rate: float = DEFAULT.learning_rate,
        num_leaves: int = DEFAULT.num_leaves,
        max_depth: int = DEFAULT.max_depth,
        min_child_samples: int = DEFAULT.min_child_samples,
        reg_alpha: float = DEFAULT.reg_alpha,
        reg_lambda: float = DEFAULT.reg_lambda,
        norm: str = DEFAULT.norm,
        step: str = DEFAULT.step,
        preset: str | None = DEFAULT.preset,
        base: Any = DEFAULT.base,
        members: Any = DEFAULT.members,
        seed: int = DEFAULT.seed,
        threads: int | None = DEFAULT.threads,
        checkpoint: str | Path | None = DEFAULT.checkpoint,
        cluster: Any = DEFAULT.cluster,
        progress: bool | None = DEFAULT.progress,
        **others: Any,
    ) -> None:
        given = {**locals()}
        self.__dict__ |= {name: given[name] for name in TABLE if name in given}
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
        # Parameters that a subclass adds are its own.
        own = {name: value for name, value in given.items() if name in TABLE}
        kept = {n: v for n, v in own.items() if _is_said(n, v)} | self._others
        kept.pop("callbacks", None)  # XGBoost has them here, they are for fit
        settings = make_settings(kept, **more)
        if settings.members is not None:
            member_settings(settings)  # for what is wrong with one of them
        return settings

    @also_called(
        base_margin="init_score",
        sample_weight_eval_set="eval_sample_weight",
        base_margin_eval_set="eval_init_score",
        xgb_model="init_model",
    )
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
        eval_at: Sequence[int] | None = None,
        early_stopping_rounds: int | None = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Sequence[Any] | None = None,
        init_model: Any = None,
        verbose: bool | int | None = None,
    ) -> Ranker:
        """Train on rows with features `X` and labels `y`; `X` may also be a RankingData.

        `eval_set` is a list of (X, y) pairs or of RankingData. The first metric on the first of
        them that is not the training set decides the best iteration and early stopping, be it asked
        for by `early_stopping_rounds` or by a callback of LightGBM or XGBoost; the training set,
        the same rows with the same labels, never decides. `init_score` has scores to start from,
        `init_model` a model to go on from instead of `base`, `sources` further label columns by
        name, `preferences` explicit pairs of rows.

        `eval_metric` is a name, a metric, a scorecard, a function or a list of these. A function
        f(scores, labels) sees one query, and so does XGBoost's f(y_true, y_score), a cost that
        returns a number; LightGBM's f(y_true, y_pred[, weight[, group]]) sees all rows and returns
        (name, value, is_higher_better). `callbacks` are called after each tree; LightGBM's
        `reset_parameter` and XGBoost's `LearningRateScheduler` set the learning rate of each.

        XGBoost's names of arguments are understood too, as is a column "qid" of a frame, and a
        `sample_weight` with one entry for each query.
        """
        own = self.settings(eval_metric=eval_metric, eval_at=eval_at)
        calls = understand(
            [*(self._others.get("callbacks") or ()), *(callbacks or ())],
            {
                "early_stopping_rounds": early_stopping_rounds or own.early_stopping_rounds,
                "min_delta": own.min_delta or None,
            },
        )
        asked = {"eval_metric": eval_metric, "eval_at": eval_at, "base": init_model}
        asked["early_stopping_rounds"] = early_stopping_rounds
        asked["progress"] = None if verbose is None else bool(verbose)
        settings = self.settings(**asked | calls.settings)
        pairs = eval_pairs(eval_set, eval_X, eval_y)
        beside = {"qid": eval_qid, "group": eval_group}
        beside |= {"sample_weight": eval_sample_weight, "init_score": eval_init_score}
        if settings.cluster is not None and is_elsewhere([X, *pairs]):
            columns = {"qid": qid, "group": group, "sample_weight": sample_weight}
            columns |= {"query_weight": query_weight, "init_score": init_score, "sources": sources}
            columns["preferences"] = preferences
            columns |= _said_of_columns(feature_name, categorical_feature)
            sets = sets_elsewhere((X, y), columns, pairs, beside, eval_names)
            return self._fit_on_cluster(settings, sets, calls, init_model)
        train, given = X, (X, y)
        if not isinstance(X, RankingData):
            X, qid = split_qid(X, qid, group)
            train = RankingData(
                X,
                y,
                qid=qid,
                group=group,
                **{"query_weight": query_weight} | weights(sample_weight, qid, group),
                init_score=init_score,
                sources=sources,
                preferences=preferences,
                **_said_of_columns(feature_name, categorical_feature),
            )
        if not (train.has_labels or train.sources or train.preferences is not None):
            raise RankforceError("training needs labels: give y")
        base = open_base(self.base if init_model is None else init_model, settings.kind)
        train = stand_on(base, train.with_missing(settings.missing))
        part = ScoredSet("training", train, _start_scores(base, train, init_score))
        valid = make_parts(
            pairs,
            part,
            beside,
            names=eval_names,
            given=given,
            make_data=lambda pair, own: self._eval_data(pair, train, **own).with_missing(
                settings.missing
            ),
            start_from=lambda data, start: _start_scores(base, data, start),
        )
        if settings.cluster is not None:
            return self._fit_on_cluster(settings, in_memory([part, *valid]), calls, init_model)
        train_one = fit if settings.members is None else fit_members
        self.model_ = train_one(
            settings, part, valid, callbacks=calls.callbacks, wish=calls.wish, base=base
        )
        self._choice = settings.choice
        return self

    def _fit_on_cluster(
        self, settings: Settings, sets: Sequence[Given], calls: Understood, init_model: Any
    ) -> Ranker:
        from rankforce.training.cluster.run import fit_on_cluster

        base = self.base if init_model is None else init_model
        self.model_ = fit_on_cluster(
            settings, sets, base=base, wish=calls.wish, callbacks=calls.callbacks
        )
        self._choice = settings.choice
        return self

    def __sklearn_clone__(self) -> Ranker:
        """A copy that is not fitted; it has the same cluster, which cannot be copied."""
        bare = copy.copy(self)
        bare.cluster = None
        cloned: Ranker = super(Ranker, bare).__sklearn_clone__()
        cloned.cluster = self.cluster
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but a cluster, unless that is an address."""
        state: dict[str, Any] = super().__getstate__()
        is_address = isinstance(self.cluster, (str, Path))
        return state if is_address else state | {"cluster": None}

    @property
    def objective_(self) -> AnyObjective:
        """The objective that the ranker was trained for: what "auto" became.

        >>> import rankforce as rf
        >>> ranker = rf.Ranker("auto", n_estimators=2, num_leaves=3, progress=False)
        >>> ranker.fit(rf.make_data("yahoo", queries=20), eval_metric="mrr@3").objective_
        rf.objective('lambdarank(mrr)', k=3)
        """
        check_is_fitted(self, "model_")
        return self.settings(objective=self._choice).make_objective()

    def _eval_data(self, pair: Any, train: RankingData, **parts: Any) -> RankingData:
        if isinstance(pair, RankingData):
            return pair.like(train.schema)
        X, y = pair
        if X is train or X is train.features:
            return train if y is None or y is train.labels else _relabel(train, y)
        if parts["qid"] is None and parts["group"] is None:
            raise RankforceError("eval_set needs queries: give eval_qid or eval_group")
        return RankingData(
            X,
            y,
            **parts,
            like=train.schema,
        )

    @also_called(base_margin="init_score")
    def predict(
        self,
        X: Any,
        *,
        qid: Any = None,
        group: Any = None,
        num_iteration: int | None = None,
        init_score: Any = None,
        start_iteration: int = 0,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        iteration_range: tuple[int, int] | None = None,
        ntree_limit: int | None = None,
        raw_score: bool = False,
        output_margin: bool = False,
        validate_features: bool = False,
    ) -> NDArray[Any]:
        """Scores, one per row: the higher, the better.

        They come from the trees up to the best iteration if training stopped early, else from all.
        A network that sees whole lists needs `qid` or `group`, which trees leave alone.
        LightGBM's `start_iteration` and `num_iteration`, or XGBoost's `iteration_range` or
        `ntree_limit`, choose other trees. `pred_leaf` gives the leaf of each row in each tree
        instead, `pred_contrib` what :meth:`contributions` does. `raw_score`
        and `output_margin` change nothing, because scores are never transformed, nor does
        `validate_features`, because names of features are always compared.
        """
        model = self._fitted()
        steps = choose_steps(
            model,
            start_iteration=start_iteration,
            num_iteration=num_iteration,
            iteration_range=iteration_range,
            ntree_limit=ntree_limit,
        )
        data = mark_missing(
            self._features(without_qid(X, model.feature_names)), model.parameters.get("missing")
        )
        index = self._lists(X, data.shape[0], qid, group)
        threads = count_threads(self.threads)
        if pred_leaf:
            return find_leaves(model, data, steps, threads=threads)
        start = init_score
        if start is None and not steps.start:
            start = X.init_score if isinstance(X, RankingData) else None
            if start is None and model.base is not None:
                start = outside_scores(model.base, data, index)
        if pred_contrib:
            found = find_contributions(model, data, steps, threads=threads)
            total = found[:, -1]
        else:
            found = total = model.scores(data, steps=steps, threads=threads, index=index)
        if start is not None:
            total += np.asarray(start, dtype=np.float64)
        return found

    @property
    def needs_lists(self) -> bool:
        """Whether the score of a document depends on the others of its query."""
        model = self._fitted()
        return bool(model.scorer.needs_lists or getattr(model.base, "needs_lists", False))

    def _fitted(self) -> Model:
        """The model; scikit-learn's check, which takes longer, is for when there is none."""
        found: Model | None = self.__dict__.get("model_")
        if found is None:
            check_is_fitted(self, "model_")
        return self.model_ if found is None else found

    def _lists(self, X: Any, rows: int, qid: Any, group: Any) -> QueryIndex | None:
        """The queries of what is scored, where they are known and it takes them."""
        if not self.needs_lists:
            return None
        if isinstance(X, RankingData):
            return X.index
        X, qid = split_qid(X, qid, group)
        return None if qid is None and group is None else index_queries(rows, qid=qid, group=group)

    def contributions(self, X: Any) -> Floats:
        """How much each feature adds to the score of each row: SHAP values.

        One column per feature, and a last one with what is expected of any row, and the scores of a
        base model; a row adds up to its score. Of a linear network it is weight times value once
        that is scaled; other networks have none.

        >>> import rankforce as rf
        >>> data = rf.make_data("yahoo", queries=20)
        >>> ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(data)
        >>> bool(np.allclose(ranker.contributions(data).sum(axis=1), ranker.predict(data)))
        True
        """
        return self.predict(X, pred_contrib=True)

    def _features(self, X: Any) -> Any:
        if isinstance(X, RankingData):
            return X.like(self.model_.schema).features
        from rankforce.data.frames import to_matrix

        return to_matrix(X, like=self.model_.schema).values

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
        scores = self.predict(X, qid=qid, group=group)
        if isinstance(X, RankingData):
            return rank_documents(scores, index=X.index, qid=X.qid, top=top)
        return rank_documents(scores, qid=qid, group=group, top=top)

    def scorer(
        self, *, top: int | None = None, threads: int | None = 1, early_exit: bool = False
    ) -> QueryScorer:
        """The ranker bound for production: called with the documents of one query, it ranks them.

        `top` of them come back, all without it. It scores in the thread that calls it unless
        `threads` says more (None: one per core). `early_exit` leaves documents out that cannot come
        among the best any more; that is exact, and pays for long lists and trees whose leaves get
        smaller, so it is off. Later training does not change it.

        >>> import rankforce as rf
        >>> data = rf.make_data("yahoo", queries=20)
        >>> ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(data)
        >>> ranker.scorer(top=2)(data.features[:5]).row.shape
        (2,)
        """
        check_is_fitted(self, "model_")
        return QueryScorer(self.model_, top=top, threads=threads, early_exit=early_exit)

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
            X, qid = split_qid(X, qid, group)
            if qid is None and group is None:
                raise RankforceError(
                    "score needs queries: give qid= or group= (in GridSearchCV: scikit-learn's "
                    "metadata routing with set_fit_request(qid=True).set_score_request(qid=True))"
                )
            data = RankingData(
                X,
                y,
                qid=qid,
                group=group,
                **weights(sample_weight, qid, group),
                like=self.model_.schema,
            )
        if not data.has_labels:
            raise RankforceError("score needs labels: give y")
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
            return of_queries(make_metrics(given, None, k=self.k)[:1])[0]
        settings = self.settings()
        return of_queries(make_metrics(given, settings.make_objective(), k=settings.k)[:1])[0]

    def save(self, folder: str | Path) -> None:
        """Write the model and a manifest (JSON) into `folder`.

        Trees are kept as LightGBM's own text, a network as a file of safetensors.
        """
        check_is_fitted(self, "model_")
        self.model_.save(folder)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


Ranker.__doc__ = f"{Ranker.__doc__}\n{indent(settings_help(), '    ')}\n    "


def _is_said(name: str, value: Any) -> bool:
    """Whether the user says it: where a preset may fill it in, be it what it is by default."""
    usual = TABLE[name].default
    if isinstance(usual, Unsaid):
        return not isinstance(value, Unsaid)
    return not same(value, usual)


def _said_of_columns(names: Any, categorical: Any) -> dict[str, Any]:
    """What LightGBM's `feature_name` and `categorical_feature` say, if they are not "auto"."""
    return {
        "feature_names": None if isinstance(names, str) else names,
        "categorical": None if isinstance(categorical, str) else categorical,
    }


def _start_scores(base: Base, data: RankingData, given: Any) -> Floats | None:
    start = data.init_score if given is None else given
    return base.scores(data) if start is None else np.asarray(start, dtype=np.float64)


def _relabel(data: RankingData, y: Any) -> RankingData:
    return RankingData(data.features, y, qid=data.qid, feature_names=data.feature_names)
