"""Boosting on a GPU: features, forces and scores stay there, what comes back is a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.forces.cuda import bring, choose_all
from rankforce.kernels.cuda.device import find_device
from rankforce.models.forest.on_gpu import GpuRows
from rankforce.models.forest.tree import Tree
from rankforce.training.callbacks.base import Seconds
from rankforce.training.forces import Forces
from rankforce.training.loop import Boosting
from rankforce.training.run import Job


class GpuForces:
    """As `Forces`, of scores in the GPU's memory."""

    def __init__(self, device: Any, forces: Forces) -> None:
        self._device, self._forces = device, forces
        self.keys, self.index = forces.keys, forces.index
        self.ready = bring(device, forces.ready, choose_all(device, forces.index))
        self._labels: Any = None
        self._weights: dict[str, Any] = {}
        self._bag: Any = None  # the one whose weights are there

    def at(self, scores: Any, iteration: int) -> tuple[Any, Any]:
        """Forces at `scores`."""
        forces = self._forces
        lam, hess = self.ready.gradients(
            scores, norm=forces.settings.norm, iteration=forces.behind_base(iteration)
        )
        if forces.settings.step == "gradient":
            hess[:] = 1.0
        self._weigh(iteration, lam, hess)
        return lam, hess

    def at_labels(self, scores: Any, iteration: int) -> tuple[Any, Any]:
        """Forces of a regression to the labels: least squares."""
        if self._labels is None:
            self._labels = self._device.upload(self._forces.labels.astype(np.float32))
        lam = self._labels - scores
        hess = self.unit_hessians(iteration)
        self._weigh(iteration, lam)
        return lam, hess

    def unit_hessians(self, iteration: int) -> Any:
        """Hessians with which a tree is grown by least squares: 1, weighted."""
        ones = self._device.upload(np.ones(len(self.keys), np.float32))
        self._weigh(iteration, ones)
        return ones

    def bag_rows(self, _iteration: int) -> None:
        """The rows of a bag are told by their forces."""

    def _weigh(self, iteration: int, *values: Any) -> None:
        row, bag = self._forces.weights(iteration)
        if row is not None and "row" not in self._weights:
            self._weights["row"] = self._device.upload(row.astype(np.float32))
        if bag is not None and bag is not self._bag:
            self._weights["bag"], self._bag = self._device.upload(bag.astype(np.float32)), bag
        for weight in self._weights.values():
            for one in values:
                one *= weight


class GpuBoosting(Boosting):
    """Boosting whose training set, and all others, are on a GPU."""

    def __init__(self, job: Job) -> None:
        if job.settings.step == "exact-newton":
            raise RankforceError(
                "step='exact-newton' is found on the CPU: leave device out, or choose 'newton'"
            )
        super().__init__(job)
        device = find_device()
        self._is_seen = bool(job.callbacks)  # somebody looks at forces and scores
        own: Any = self.engine
        others = [GpuRows(device, features) for features in self.features[1:]]
        self._rows: list[GpuRows] = [own.rows, *others]
        self._there = GpuForces(device, self.forces)
        for rows, scores in zip(self._rows, self.scores, strict=True):
            rows.set_scores(scores)
        self._download = device.download

    def _forces(self, iteration: int) -> tuple[Any, Any]:
        scores = self._rows[0].rounded
        if iteration < self.model.base_steps:
            return self._there.at_labels(scores, iteration)
        return self._there.at(scores, iteration)

    def _grow(self, lam: Any, hess: Any, iteration: int) -> Any:
        second = self._there.unit_hessians(iteration) if self.is_least_squares else hess
        return self.engine.grow(lam, second, iteration, self.forces.keys, None)

    def _sum_leaves(self, leaf: Any, leaves: int, lam: Any, hess: Any) -> tuple[Floats, Floats]:
        return self._rows[0].sum_leaves(leaf, leaves, lam, hess)

    def _move(self, tree: Tree, leaf: NDArray[np.int32], values: Floats) -> None:
        for number, rows in enumerate(self._rows):
            if number:
                leaf, _ = rows.route(tree)
            rows.move(leaf, values)

    def _tell_step(self, iteration: int, begin: int, lam: Any, hess: Any, seconds: Seconds) -> bool:
        first = 0 if self._is_seen else 1
        for rows, scores in zip(self._rows[first:], self.scores[first:], strict=True):
            rows.get_scores(scores)
        if self._is_seen:
            lam, hess = (self._download(one).astype(np.float64) for one in (lam, hess))
        return super()._tell_step(iteration, begin, lam, hess, seconds)
