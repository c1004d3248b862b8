"""What a fitted ranker has learnt: its trees or weights, its story, and what features do in it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file, write_bytes
from rankforce.common.notes import note
from rankforce.models.base import NETWORK
from rankforce.models.export.features import FeatureMap, make_features, read_features
from rankforce.models.export.registry import FILE, FILE_NAME, export
from rankforce.models.importance import importance_of
from rankforce.models.model import Model
from rankforce.training.resume import same_rows
from rankforce.training.watch import History, deciding_set


class Learnt(BaseEstimator):  # type: ignore[misc]
    """Facts about a model, in the words of LightGBM's and XGBoost's rankers."""

    model_: Model

    @property
    def best_iteration_(self) -> int | None:
        """Number of trees, or epochs, with the best deciding metric; without one, all of them."""
        check_is_fitted(self, "model_")
        return self.model_.best_iteration

    @property
    def best_iteration(self) -> int | None:
        """The best iteration as XGBoost counts, from 0: one less than `best_iteration_`."""
        return None if self.best_iteration_ is None else self.best_iteration_ - 1

    @property
    def best_score(self) -> float | None:
        """The deciding metric at the best iteration; None if no data set decides."""
        best = self.best_score_.get(self._deciding or "", {})
        return next(iter(best.values()), None)

    @property
    def _deciding(self) -> str | None:
        marks = self.model_.data
        own = marks.get("training", {})
        return deciding_set(self.model_.history, lambda name: same_rows(marks.get(name, {}), own))

    @property
    def evals_result_(self) -> History:
        """The history of every metric on every validation set."""
        check_is_fitted(self, "model_")
        return self.model_.history

    def evals_result(self) -> History:
        """The histories under XGBoost's names of data sets: validation_0, validation_1, ..."""
        histories = enumerate(self.evals_result_.values())
        return {f"validation_{number}": own for number, own in histories}

    @property
    def n_estimators_(self) -> int:
        """Number of trees, or epochs, that make the scores."""
        check_is_fitted(self, "model_")
        return self.model_.used

    n_iter_ = n_estimators_

    @property
    def members_(self) -> list[dict[str, Any]]:
        """The members of a committee, none of which a ranker by itself has.

        Each has its `objective`, the `settings` that differ from those of the whole, its number of
        `trees`, the `weight` that its scores count with once they are divided by their `scale`, and
        the `best` value of the deciding metric, if there is one. With the weight 0 its trees are
        left out.

        >>> import rankforce as rf
        >>> ranker = rf.Ranker(members=2, n_estimators=3, num_leaves=3, progress=False)
        >>> ranker.fit(rf.make_data("yahoo", queries=20)).members_[1]["settings"]
        {'seed': 1}
        """
        check_is_fitted(self, "model_")
        return self.model_.members

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
        from rankforce.engines.lightgbm.booster import make_booster

        check_is_fitted(self, "model_")
        self.model_.forest("booster_")
        if self.model_.base is not None:
            kind = type(self.model_.base).__name__
            note(f"the booster has the trees behind the base, but not the base, a {kind}")
        return make_booster(self.model_.text())

    @property
    def module_(self) -> Any:
        """The trained network as a torch.nn.Module: from features to scores, without a base.

        It takes float32 rows, NaN where a value is missing, and codes of categories; scaling is
        part of it. One that sees whole lists takes their sizes too, without which all rows are one
        list. So `torch.onnx` exports it:

        >>> import rankforce as rf
        >>> data = rf.make_data("yahoo", queries=20)
        >>> ranker = rf.Ranker(model="mlp", epochs=1, hidden=[4], progress=False).fit(data)
        >>> import torch
        >>> rows = torch.from_numpy(data.features[:3])
        >>> scores = torch.from_numpy(ranker.predict(data)[:3]).float()
        >>> torch.allclose(ranker.module_(rows), scores, atol=1e-5)
        True
        >>> made = torch.onnx.export(  # doctest: +SKIP
        ...     ranker.module_, (rows,), "ranker.onnx", dynamo=True, input_names=["features"],
        ...     dynamic_shapes=({0: torch.export.Dim("rows")},))
        """
        check_is_fitted(self, "model_")
        network = self.model_.network("module_")
        if network.forest is not None:
            raise RankforceError(
                "the features of this network are trees, which are no part of a torch.nn.Module"
            )
        if self.model_.base is not None:
            kind = type(self.model_.base).__name__
            note(f"the module has what the network adds to its base, but not the base, a {kind}")
        return copy.deepcopy(network.net(self.model_.used))

    def export(
        self,
        path: str | Path,
        to: str,
        features: FeatureMap | dict[str, Any] | str | Path | None = None,
    ) -> list[str]:
        """Write the model in the form of another program; lines that say how it is used there.

        `to` is one of `rankforce export --list`: "onnx", "c", "elasticsearch-ltr", ... `features`
        says what a search engine calls the features: a dictionary, or the name of a map.json. What
        a form cannot say is refused with the node where it is.

        >>> import tempfile
        >>> import rankforce as rf
        >>> data = rf.make_data("yahoo", queries=20)
        >>> ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(data)
        >>> ranker.export(Path(tempfile.mkdtemp()) / "ranker.c", to="c")[0]
        "compile with: cc -std=c99 -O2 -c '...ranker.c' (C99, no libraries)"
        """
        check_is_fitted(self, "model_")
        if isinstance(features, (str, Path)):
            features = read_features(features)
        elif isinstance(features, dict):
            features = make_features(features)
        made = export(self.model_, to, features)
        target = Path(path)
        with whole_file(target) as name:
            write_bytes(name, made.content)
        names = {FILE: str(target), FILE_NAME: target.name}
        return [_filled(line, names) for line in made.told]

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
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature: as `importance_type` says, by default the number of splits.

        That of a network is its "influence". They are not divided by their sum.
        """
        check_is_fitted(self, "model_")
        usual = None if self.model_.scorer.kind == NETWORK else "split"
        return self.importance(self.get_params(deep=False).get("importance_type") or usual)

    def importance(self, kind: str | None = None) -> NDArray[Any]:
        """Importance of each feature: "gain", "split", "mean_gain", "cover" or "total_cover".

        "gain", the usual one, is the sum over splits, as in LightGBM; XGBoost's names "weight"
        (splits) and "total_gain" (gain) are understood, what it calls "gain" is "mean_gain" here.

        A network has one kind, "influence": the mean size of the derivative of a training
        document's score by the feature once that is scaled, and for a category, how far scores are
        from those of one that training has not seen.

        >>> import rankforce as rf
        >>> data = rf.make_data("yahoo", queries=20)
        >>> ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(data)
        >>> bool(ranker.importance("gain").max() > 0), int(ranker.importance("split").sum())
        (True, 4)
        """
        check_is_fitted(self, "model_")
        return importance_of(self.model_, kind)


def _filled(line: str, names: dict[str, str]) -> str:
    for sign, name in names.items():
        line = line.replace(sign, name)
    return line
