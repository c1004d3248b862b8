"""LightGBM as a grower of trees: forces in, the structure of a tree out.

Everything else about boosting (scores, leaf values, sampling of rows) is ours, so it is the same at
any number of threads and can be resumed where it was left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.data.sources import in_memory
from rankforce.engines.base import Grown
from rankforce.engines.codes import note_negative, with_ends
from rankforce.engines.constraints import MONOTONE, for_features
from rankforce.engines.lightgbm.binned import make_dataset, own_bins
from rankforce.engines.lightgbm.details import in_forces, with_counts
from rankforce.engines.lightgbm.library import (
    THREADS,
    import_lightgbm,
    plain_errors,
    said_once,
)
from rankforce.engines.lightgbm.network import Network
from rankforce.engines.lightgbm.parameters import (
    LEAF_RULES,
    LEARNER,
    LEARNERS,
    choose_histograms,
    for_all_rows,
    in_units,
    translated,
)
from rankforce.engines.lightgbm.sample import find_bins
from rankforce.engines.shared_bins import binned
from rankforce.engines.steps import find_steps
from rankforce.kernels import trees as kernels
from rankforce.models.forest.lightgbm_text import (
    feature_infos,
    parse_tree,
    plain_names,
    split_model,
)
from rankforce.models.forest.tree import Tree
from rankforce.models.forest.walk import route_some

# Few documents, rounded by chance, may all come out as 0: then the dice are thrown again.
ATTEMPTS = 5
MOST_ROWS = 2**31 - 1  # of all workers together


class LightGBM:
    """An `Engine`: grows trees on one feature matrix."""

    def __init__(
        self,
        features: Any,
        *,
        feature_names: list[str],
        categorical: list[int],
        parameters: dict[str, Any],
        seed: int,
        threads: int,
        team: Team = ALONE,
    ) -> None:
        parameters = for_all_rows(parameters)
        theirs = for_features(translated(parameters), feature_names, categorical)
        others = theirs | ({"categorical features": True} if categorical else {})
        wish, levels = parameters["quantised"], parameters["quantised_levels"]
        self._histograms = choose_histograms(wish, levels, others)
        self.how = self._histograms.why
        self.leaf_rules = [] if self._histograms.quantised else sorted(LEAF_RULES & {*theirs})
        directions = " ".join(map(str, theirs.get(MONOTONE, ())))
        self.about = {MONOTONE: directions} if directions else {}
        is_binned = isinstance(features, Binned)
        self._features = features = features if is_binned else in_memory(features)
        lgb = import_lightgbm()
        THREADS.note_lost(threads)
        if not is_binned:  # its own words come at no verbosity
            note_negative(features, feature_names, categorical)
        self._seed = seed
        self._threads = threads
        self._team, self._network = team, Network(team)
        check_rows(sum(team.gather(features.shape[0])))
        # LightGBM reads integer histograms of several machines with the width that its own rows
        # need: they are sums of whole numbers there, which are exact as well.
        self._is_whole = self._histograms.quantised and team.size > 1
        self._theirs = theirs
        self._samples_columns = bool({"feature_fraction", "feature_fraction_bynode"} & {*theirs})
        self._parameters = {**theirs, **self._fixed(seed, threads)}
        if is_binned:
            self._parameters |= own_bins(features)
        names = plain_names(feature_names)
        dataset = binned(self._bin, self._parameters, features, names, categorical)
        with self._network.open(), said_once():
            self._booster = lgb.Booster(self._parameters, dataset)
        self._grad = np.empty(features.shape[0], np.float32)
        self._hess = np.empty(features.shape[0], np.float32)
        self._grown = 0
        # LightGBM's own scores of the rows, and a bound on their size.
        self._scores = np.zeros(features.shape[0])
        self._bound = 0.0
        self._steps = 1.0, 1.0  # of the forces and hessians of a tree

    def _bin(self, features: Any, names: list[str], categorical: list[int]) -> Any:
        """LightGBM's data set, some feature of which can split."""
        lgb = import_lightgbm()
        if isinstance(features, Binned):
            return make_dataset(features, names, self._parameters)
        rows, columns = features.shape
        with said_once():  # on next to nothing: whether the parameters are sound
            alone = self._parameters | {"num_threads": 1}
            lgb.Dataset(np.zeros((1, columns)), params=alone).construct()
        with plain_errors():
            dataset = lgb.Dataset(
                features,
                np.zeros(rows, np.float32),
                feature_name=names,
                categorical_feature=categorical,
                reference=find_bins(features, names, categorical, self._parameters, self._team),
                params=self._parameters,
                free_raw_data=True,
            ).construct()
        if not any(dataset.feature_num_bin(column) for column in range(columns)):
            message = "no feature can tell documents apart: all are constant, or nearly"
            raise RankforceError(f"{message} (min_child_samples)")
        return dataset

    def _fixed(self, seed: int, threads: int) -> dict[str, Any]:
        """What makes a tree depend on data, parameters and seed alone."""
        fixed = {"objective": "none", "verbosity": -1, "num_threads": threads, "seed": seed}
        fixed |= {"deterministic": True, "learning_rate": 1.0}
        if self._team.size > 1:
            fixed |= {"num_machines": self._team.size, "pre_partition": True}
            fixed |= {"tree_learner": self._theirs.get(LEARNER, LEARNERS[0])}
        if self._histograms.quantised and not self._is_whole:
            fixed |= {"use_quantized_grad": True, "num_grad_quant_bins": self._histograms.bins}
            # We round, and set the values of leaves, ourselves.
            fixed |= {"stochastic_rounding": False, "quant_train_renew_leaf": False}
            return fixed | {"force_row_wise": True}
        return fixed | {"force_row_wise" if self._is_whole else "force_col_wise": True}

    def grow(
        self,
        lam: Floats,
        hess: Floats,
        iteration: int,
        keys: NDArray[np.uint64],
        _rows: NDArray[np.int32] | None = None,
    ) -> Grown | None:
        """The tree for these forces; None if no split is worth it."""
        tree = self._find_tree(lam, hess, iteration, keys)
        if tree is None:
            return None
        leaf = self._find_leaves(tree)
        if self._team.size > 1:
            tree = with_counts(tree, leaf, self._team)
        return Grown(in_forces(tree, *self._steps) if self._is_whole else tree, leaf)

    def _find_tree(
        self, lam: Floats, hess: Floats, iteration: int, keys: NDArray[np.uint64]
    ) -> Tree | None:
        if not self._histograms.quantised:
            np.negative(lam, out=self._grad, casting="same_kind")
            self._hess[:] = hess
            return self._update(iteration)
        for attempt in range(ATTEMPTS):
            self._quantise(lam, hess, keys, [self._seed, iteration, attempt])
            tree = self._update(iteration)
            if tree is not None:
                return tree
        return None

    def _update(self, iteration: int) -> Tree | None:
        def forces(_scores: Any, _data: Any) -> tuple[NDArray[Any], NDArray[Any]]:
            # Here and not before `update`, whose first call sets parameters itself, and every
            # setting of parameters draws columns anew.
            if self._samples_columns:
                self._booster.reset_parameter({"feature_fraction_seed": self._draw(iteration)})
            return self._grad, self._hess

        with plain_errors(), self._network.open():
            self._booster.update(fobj=forces)
        text = self._booster.model_to_string(num_iteration=1, start_iteration=self._grown)
        blocks = split_model(text)[1]
        tree = parse_tree(blocks[0]) if blocks else None
        self._grown += len(blocks)
        if tree is None or tree.leaves == 1:
            return None
        return with_ends(tree, self._features) if isinstance(self._features, Binned) else tree

    def _find_leaves(self, tree: Tree) -> NDArray[np.int32]:
        """The leaf of every training row in the tree just grown.

        LightGBM does not tell, but it moves the score of each row by the value of its leaf: reading
        scores is several times faster than reading features. Rows whose leaf shares its value with
        another one go down the tree.
        """
        seen: list[Floats] = []

        def look(scores: Floats, _data: Any) -> tuple[str, float, bool]:
            seen.append(scores)
            return "", 0.0, True

        self._booster.eval_train(feval=look)
        self._bound += float(np.abs(tree.leaf_value).max())
        order = np.argsort(tree.leaf_value)
        values = tree.leaf_value[order]
        # Each sum is rounded once; between two rounded sums lie at most this much.
        is_near = np.diff(values) <= 8.0 * np.finfo(np.float64).eps * self._bound
        is_twin = np.append(is_near, False) | np.insert(is_near, 0, False)
        leaf_of = np.where(is_twin, -1, order).astype(np.int32)
        spare = (1 << (len(values) - 1).bit_length()) - len(values)
        middles = np.append((values[1:] + values[:-1]) / 2.0, np.full(spare, np.inf))
        leaf = np.empty(len(self._scores), np.int32)

        def work(first: int, last: int) -> None:
            kernels.decode_block(first, last, seen[0], self._scores, middles, leaf_of, leaf)

        run_rows(work, len(leaf), self._threads)
        if is_twin.any():
            rest = np.flatnonzero(leaf < 0)
            route_some(tree, self._features, rest, leaf, threads=self._threads)
        return leaf

    def _quantise(
        self, lam: Floats, hess: Floats, keys: NDArray[np.uint64], start: list[int]
    ) -> None:
        rows = len(lam)
        steps = self._steps = find_steps(
            lam, hess, self._histograms.bins, threads=self._threads, team=self._team
        )
        units = steps
        if self._is_whole:
            units = 1.0, 1.0
            self._booster.reset_parameter(in_units(self._theirs, *steps))
        key = np.random.default_rng(start).integers(2**64, dtype=np.uint64, endpoint=False)

        def work(first: int, last: int) -> None:
            kernels.round_block(
                first, last, lam, hess, keys, key, *steps, *units, self._grad, self._hess
            )

        run_rows(work, rows, self._threads)

    def _draw(self, iteration: int) -> int:
        return int(np.random.default_rng([self._seed, iteration]).integers(2**31 - 1))

    @property
    def ranges(self) -> list[str]:
        """What LightGBM saw of each feature."""
        if isinstance(self._features, Binned):
            return self._features.edges.ranges
        return feature_infos(self._booster.model_to_string(num_iteration=1).partition("\n\n")[0])


def check_rows(rows: int) -> None:
    """Refuse more rows than LightGBM can count: its trees would be wrong (its issue 5861).

    >>> check_rows(3_000_000_000)
    Traceback (most recent call last):
        ...
    rankforce.RankforceError: LightGBM counts up to 2,147,483,647 documents of all workers, not
    3,000,000,000: train on fewer of them
    """
    if rows > MOST_ROWS:
        raise RankforceError(
            f"LightGBM counts up to {MOST_ROWS:,} documents of all workers, not {rows:,}: train on "
            "fewer of them"
        )
