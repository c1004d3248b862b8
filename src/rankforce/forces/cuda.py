"""Forces on an NVIDIA GPU: an objective that is bound to labels, with its arrays on the device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.forces.prepare import Ruled
from rankforce.forces.prepared import Prepared, PreparedList, PreparedPoints
from rankforce.forces.ready import NO_FLOATS, NORMS, MixedPrepared, Moment, Ready, norm_and_draw
from rankforce.kernels import layout, swaps
from rankforce.kernels.cuda import launch
from rankforce.kernels.cuda.device import Scores, find_device
from rankforce.kernels.cuda.launch import Chosen

_SOME = np.zeros(1)  # stands for totals that are on the device


class CudaMoment(NamedTuple):
    """Scores, and how forces are found there."""

    scores: Scores
    norm: str
    iteration: int
    totals: Any = None  # on the device, of each query: as those of a `Moment`


class InTree(NamedTuple):
    """Where rows are in a tree; arrays are on the device."""

    leaf: Any  # of each row, int32
    leaves: int
    weight: Any  # of each row, float32: only sums over leaves need it; None if all count 1


class Shared(NamedTuple):
    """What moving a leaf as a whole takes from hessians: the sum of `rows` over it, and what
    `leaves` has for it.
    """

    rows: Any  # on the device, float32: what its kernels found
    leaves: Floats  # in the processor's memory: what its kernels found, often nothing


class _Ruled(NamedTuple):
    """An objective of pairs as the kernels are compiled for it."""

    macros: dict[str, Any]
    classes: int  # runs of equal labels of a query at most, and one more


class CudaReady(ABC):
    """An objective bound to labels, whose calls take scores on the GPU and leave forces there.

    Scores are float32 (others are converted): a torch tensor, for which the results are tensors
    and all work is in torch's current stream, or an array of CuPy or of anything else that has
    `__cuda_array_interface__`, for which they are CuPy's. No call waits for the device: where a
    score is not finite, the forces and the cost of its query are NaN. The sums of every call go in
    the same order, so the same scores give the same bits.
    """

    def __init__(self, device: Any, chosen: Chosen) -> None:
        self._device = device
        self._chosen = chosen
        self.sizes = np.diff(chosen.pointer)
        self.rows = int(chosen.pointer[-1])

    def gradients(self, scores: Any, *, norm: str = "none", iteration: int = 0) -> tuple[Any, Any]:
        """Forces and hessians at `scores`, one per row: as those of `Ready.gradients`."""
        given = self._given(scores)
        with given.stream:
            found = given.empty(self.rows), given.empty(self.rows)
            self.push(CudaMoment(given, norm, iteration), *found)
        return found

    def costs(self, scores: Any, *, iteration: int = 0) -> Any:
        """What each query costs at `scores`: as `Ready.costs`, without any norm."""
        given = self._given(scores)
        with given.stream:
            found = given.empty(len(self.sizes))
            self.price(CudaMoment(given, "none", iteration), found)
        return found

    def shared_hessians(
        self,
        scores: Any,
        leaf: Any,
        leaves: int,
        *,
        norm: str = "none",
        iteration: int = 0,
        row_weight: Any = None,
    ) -> Shared:
        """As `Ready.shared_hessians`, but to be summed over leaves still.

        `leaf` has an int32 number for each row, `row_weight` a float32 one or is None; both are
        arrays of the same library as scores.
        """
        given = self._given(scores)
        with given.stream:
            rows = given.empty(self.rows)
            moment = CudaMoment(given, norm, iteration)
            here = self.share(moment, InTree(leaf, leaves, row_weight), rows)
            if row_weight is not None:
                rows *= row_weight
        return Shared(rows, here)

    def take(self, queries: ArrayLike) -> CudaReady:
        """The same objective bound to some queries, in that order.

        Rows of the result are the places of these queries, one behind the other. Labels stay where
        they are: only the numbers of the queries are copied to the device.
        """
        chosen = np.asarray(queries, np.int64).reshape(-1)
        bad = np.flatnonzero((chosen < 0) | (chosen >= len(self.sizes)))
        if bad.size:
            raise RankforceError(
                f"query is {chosen[bad[0]]}: there are {len(self.sizes)} queries, from 0 on"
            )
        query = self._chosen.query[chosen]
        return self.at(chosen, launch.choose(self._device, query, self.sizes[chosen]))

    def _given(self, scores: Any) -> Scores:
        given: Scores = self._device.scores(scores)
        if tuple(given.array.shape) != (self.rows,):
            shape = tuple(given.array.shape)
            raise RankforceError(f"scores have shape {shape}, but there are {self.rows} labels")
        return given

    def _address(self, array: Any) -> int:
        """Where an array is, of the caller's library or our own; 0 if there is none."""
        if array is None:
            return 0
        return int(array.data_ptr()) if hasattr(array, "data_ptr") else self._device.pointer(array)

    def _call(self, objective: Any, moment: CudaMoment, **arrays: Any) -> NDArray[Any]:
        """What a launch is told."""
        totals = NO_FLOATS if moment.totals is None else _SOME
        plain = Moment(NO_FLOATS, moment.norm, moment.iteration, 1, totals)
        norm, seed, iteration = norm_and_draw(objective, plain)
        where = {name: self._address(array) for name, array in arrays.items()}
        return launch.make_call(
            self._device,
            self._chosen,
            scores=moment.scores.pointer,
            totals=self._address(moment.totals),
            norm=norm,
            seed=seed,
            iteration=iteration,
            **where,
        )

    @abstractmethod
    def push(self, moment: CudaMoment, lam: Any, hess: Any) -> None:
        """Write `gradients`."""

    @abstractmethod
    def price(self, moment: CudaMoment, costs: Any) -> None:
        """Write `costs`."""

    @abstractmethod
    def share(self, moment: CudaMoment, tree: InTree, rows: Any) -> Floats:
        """Write `shared_hessians` of rows, without their weights; returns those of leaves."""

    @abstractmethod
    def at(self, queries: NDArray[np.int64], chosen: Chosen) -> CudaReady:
        """The same for `queries` of these, which are `chosen` of the whole set."""


class _Pairs(CudaReady):
    """An objective of pairs whose weights the GPU finds."""

    def __init__(
        self, device: Any, chosen: Chosen, objective: Any, ruled: _Ruled, bound: launch.Bound
    ) -> None:
        super().__init__(device, chosen)
        self._objective = objective
        self._ruled = ruled
        self._bound = bound
        # Not functools.cache of a method: objects in a circle keep the GPU's memory for a while.
        self._plans: dict[tuple[bool, bool, bool], launch.Plan] = {}

    def _plan(self, is_apart: bool, is_cost: bool, is_shared: bool = False) -> launch.Plan:
        key = is_apart, is_cost, is_shared
        if key not in self._plans:
            modes = {"APART": int(is_apart), "COST": int(is_cost), "SHARED": int(is_shared)}
            macros, classes = self._ruled.macros | modes, self._ruled.classes
            self._plans[key] = launch.plan_pairs(self._device, self._chosen, macros, classes)
        return self._plans[key]

    def push(self, moment: CudaMoment, lam: Any, hess: Any) -> None:
        """Forces of all pairs."""
        call = self._call(self._objective, moment, lam=lam, hess=hess)
        launch.run(self._bound, self._plan(_is_apart(call), False), call, len(self.sizes))

    def price(self, moment: CudaMoment, costs: Any) -> None:
        """Costs of all pairs."""
        call = self._call(self._objective, moment, costs=costs)
        launch.run(self._bound, self._plan(False, True), call, len(self.sizes))

    def share(self, moment: CudaMoment, tree: InTree, rows: Any) -> Floats:
        """Second derivatives of pairs with both documents in a leaf."""
        call = self._call(self._objective, moment, hess=rows, leaf=tree.leaf)
        launch.run(self._bound, self._plan(_is_apart(call), False, True), call, len(self.sizes))
        return np.zeros(tree.leaves)

    def at(self, queries: NDArray[np.int64], chosen: Chosen) -> CudaReady:
        """The same arrays, and other queries."""
        return _Pairs(self._device, chosen, self._objective, self._ruled, self._bound)


class _Lists(CudaReady):
    """Forces of whole lists, or of each document by itself."""

    def __init__(
        self, device: Any, chosen: Chosen, objective: Any, kernel: str, bound: launch.Bound
    ) -> None:
        super().__init__(device, chosen)
        self._objective = objective
        self._kernel = kernel
        self._bound = bound
        self._plan = launch.plan_lists(device, chosen, kernel)

    def push(self, moment: CudaMoment, lam: Any, hess: Any) -> None:
        """Forces of whole lists."""
        call = self._call(self._objective, moment, lam=lam, hess=hess)
        launch.run(self._bound, self._plan, call, len(self.sizes))

    def price(self, moment: CudaMoment, costs: Any) -> None:
        """Costs of whole lists."""
        call = self._call(self._objective, moment, costs=costs)
        launch.run(self._bound, self._plan, call, len(self.sizes))

    def share(self, moment: CudaMoment, tree: InTree, rows: Any) -> Floats:
        """What documents of a list that move together take from each other's hessians; without
        lists, nothing.
        """
        if self._kernel == "push_points":
            rows[:] = 0.0
        else:
            call = self._call(self._objective, moment, hess=rows, leaf=tree.leaf)
            plan = launch.plan_lists(self._device, self._chosen, "share_lists")
            launch.run(self._bound, plan, call, len(self.sizes))
        return np.zeros(tree.leaves)

    def at(self, queries: NDArray[np.int64], chosen: Chosen) -> CudaReady:
        """The same arrays, and other queries."""
        return _Lists(self._device, chosen, self._objective, self._kernel, self._bound)


class _Mixed(CudaReady):
    """The sum of several objectives: as `MixedPrepared`."""

    def __init__(
        self,
        device: Any,
        chosen: Chosen,
        parts: Sequence[CudaReady],
        steps: Sequence[bool],  # whether parts have no second derivatives
        mixed: tuple[Callable[[int], Sequence[float]], str | None],
        bound: launch.Bound,
    ) -> None:
        super().__init__(device, chosen)
        self._parts = parts
        self._steps = steps
        self._weights, self._norm = self._mixed = mixed
        self._bound = bound
        self._plan = launch.plan_lists(device, chosen, "norm_sums")

    def _now(self, iteration: int) -> list[tuple[float, CudaReady, bool]]:
        """The objectives that count now, and how much."""
        every = zip(self._weights(iteration), self._parts, self._steps, strict=True)
        return [one for one in every if one[0] > 0.0]

    def push(self, moment: CudaMoment, lam: Any, hess: Any) -> None:
        """Add up the forces of the parts, and give the sum its norm."""
        sums = self._push_parts(moment, lam, hess)
        if self._norm is not None:
            parts = self._now(moment.iteration)
            is_step = self._norm == "std" or any(step for _, _, step in parts)
            self._give_norm(lam, hess, sums, is_step)

    def _each(self, moment: CudaMoment) -> CudaMoment:
        """How the forces of each part are found: without the norm of the sum."""
        if self._norm is None:
            return moment
        totals = self._device.zeros(len(self.sizes), np.float64)
        return moment._replace(norm="none" if self._norm == "std" else self._norm, totals=totals)

    def _push_parts(self, moment: CudaMoment, lam: Any, hess: Any) -> Any:
        """Add up the forces of the parts; returns sums of magnitudes, if the sum has a norm."""
        each, parts = self._each(moment), self._now(moment.iteration)
        sums = None if self._norm is None else self._device.zeros(len(self.sizes), np.float64)
        if not parts:
            lam[:], hess[:] = 0.0, 0.0
        for number, (weight, ready, _) in enumerate(parts):
            into = [moment.scores.empty(self.rows) for _ in range(2)] if number else (lam, hess)
            if sums is not None:
                each.totals[:] = 0.0
            ready.push(each, *into)
            if sums is not None:
                sums += weight * each.totals
            for total, part in zip((lam, hess), into, strict=True):
                if weight != 1.0:
                    part *= weight
                if number:
                    total += part
        return sums

    def _give_norm(self, lam: Any, hess: Any, sums: Any, is_step: bool) -> None:
        """Multiply forces and hessians by what the norm of the sum makes of each query."""
        norm = {"norm": NORMS[str(self._norm)], "is_step": is_step}
        arrays = {"lam": lam, "hess": hess, "totals": sums}
        where = {name: self._address(array) for name, array in arrays.items()}
        call = launch.make_call(self._device, self._chosen, **norm, **where)
        launch.run(self._bound, self._plan, call, len(self.sizes))

    def price(self, moment: CudaMoment, costs: Any) -> None:
        """Add up those of the parts."""
        costs[:] = 0.0
        for weight, ready, _ in self._now(moment.iteration):
            part = moment.scores.empty(len(self.sizes))
            ready.price(moment, part)
            costs += weight * part

    def share(self, moment: CudaMoment, tree: InTree, rows: Any) -> Floats:
        """Add up those of the parts."""
        factors = None
        if self._norm == "lightgbm":
            lam, factors = (moment.scores.empty(self.rows) for _ in range(2))
            sums = self._push_parts(moment, lam, factors)
            factors[:] = 1.0
            self._give_norm(lam, factors, sums, is_step=False)
            both = factors if tree.weight is None else factors * tree.weight
            tree = tree._replace(weight=both)
        here, each = np.zeros(tree.leaves), self._each(moment)
        rows[:] = 0.0
        for weight, ready, _ in self._now(moment.iteration):
            part = moment.scores.empty(self.rows)
            here += weight * ready.share(each, tree, part)
            part *= weight
            rows += part
        if factors is not None:
            rows *= factors
        return here

    def at(self, queries: NDArray[np.int64], chosen: Chosen) -> CudaReady:
        """The parts for these queries."""
        parts = [part.at(queries, chosen) for part in self._parts]
        return _Mixed(self._device, chosen, parts, self._steps, self._mixed, self._bound)


class _OnProcessor(CudaReady):
    """What the processor's kernels do, copied there and back."""

    def __init__(self, device: Any, chosen: Chosen, ready: Ready) -> None:
        super().__init__(device, chosen)
        self._ready = ready

    def push(self, moment: CudaMoment, lam: Any, hess: Any) -> None:
        """Forces of the processor's kernels."""
        there, found = self._moment(moment), (np.empty(self.rows), np.empty(self.rows))
        self._ready.push(there, *found)
        for array, values in zip((lam, hess), found, strict=True):
            self._device.fill(array, values)
        if moment.totals is not None:
            self._device.fill(moment.totals, there.totals)

    def price(self, moment: CudaMoment, costs: Any) -> None:
        """Costs of the processor's kernels."""
        self._device.fill(costs, self._ready.find_costs(self._moment(moment)))

    def share(self, moment: CudaMoment, tree: InTree, rows: Any) -> Floats:
        """Those of the processor's kernels, which sum them over leaves."""
        rows[:] = 0.0
        leaf, weight = self._device.download(tree.leaf), NO_FLOATS
        if tree.weight is not None:
            weight = self._device.download(tree.weight).astype(np.float64)
        return self._ready.share(self._moment(moment), leaf, weight, tree.leaves)

    def _moment(self, moment: CudaMoment) -> Moment:
        given = self._device.download(moment.scores.array).astype(np.float64)
        totals = NO_FLOATS if moment.totals is None else np.zeros(len(self.sizes))
        return Moment(given, moment.norm, moment.iteration, 1, totals)

    def at(self, queries: NDArray[np.int64], chosen: Chosen) -> CudaReady:
        """The same for these queries."""
        return _OnProcessor(self._device, chosen, self._ready.take(queries))


def to_cuda(ready: Ready) -> CudaReady:
    """Bring an objective that is bound to labels to the current GPU.

    Every objective and mix. Explicit preferences and weights that are a user's function are found
    by the processor's kernels, with copies of scores and forces there and back. Needs CuPy:
    `pip install 'rankforce[cuda]'`.

    >>> import rankforce as rf
    >>> bound = rf.objective("lambdarank-ndcg", k=10).prepare([1, 0, 0, 2], group=[2, 2])
    >>> to_cuda(bound).gradients(scores, norm="lightgbm")  # doctest: +SKIP
    (tensor([...], device='cuda:0'), tensor([...], device='cuda:0'))
    """
    device = find_device()
    return bring(device, ready, choose_all(device, ready.index))


def choose_all(device: Any, index: QueryIndex) -> Chosen:
    """All queries; rows are the caller's."""
    row = device.upload(index.row.astype(np.int32)) if len(index.row) else None
    return launch.choose(device, np.arange(len(index.sizes)), index.sizes, row)


def bring(device: Any, ready: Ready, chosen: Chosen) -> CudaReady:
    """The same on any device that launches kernels."""
    pointer = {"pointer": ready.index.pointer}
    if isinstance(ready, MixedPrepared):
        parts = [bring(device, part, chosen) for part in ready._ready]
        steps = [part.is_step for part in ready._ready]
        bound = launch.bind(device, pointer, {})
        return _Mixed(device, chosen, parts, steps, (ready._weights, ready._norm), bound)
    if isinstance(ready, PreparedList):
        _, gain, number = ready._data
        arrays = pointer | {"key": ready.index.key, "u": gain, "number": number}
        kernel = "push_points" if isinstance(ready, PreparedPoints) else "push_lists"
        return _Lists(device, chosen, ready.objective, kernel, launch.bind(device, arrays, {}))
    if isinstance(ready, Prepared) and ready._rules.exact.kind != layout.BY_USER:
        ruled = _Ruled(_macros(ready._rules), 1 + _most_classes(ready))
        bound = _bind_pairs(device, ready, ruled.macros)
        return _Pairs(device, chosen, ready.objective, ruled, bound)
    return _OnProcessor(device, chosen, ready)


def _is_apart(call: NDArray[Any]) -> bool:
    """Whether the norm divides the weight of a pair by how far apart its scores are."""
    return int(call["norm"]) in (layout.LIGHTGBM_NORM, layout.APART_NORM)


def _macros(ruled: Ruled) -> dict[str, Any]:
    """The choices that are compiled into the kernels: as numbers of pairs.cu."""
    rules, tables = ruled.exact, ruled.tables
    needs_rank = rules.kind != layout.BY_RANK or rules.pair_set >= layout.TRUNCATED
    positioned = bool(tables[layout.POSITION].any())
    return {
        "LABEL": "double" if rules.swaps == swaps.ERR else "float",
        "KIND": rules.kind,
        "SWAPS": rules.swaps,
        "PAIR_SET": rules.pair_set,
        "CORRECTED": int(rules.has_correction),
        "LO_LABEL": int(rules.lo_label == layout.U),
        "LO_RANK": int(rules.lo_rank == layout.G),
        "POSITIONED": int(positioned),
        "CONSTANT": int(rules.constant != 0.0),
        "RANKED": int(needs_rank or positioned),
        "NEEDS_RANK": int(needs_rank),
        "SIGMOID": int(rules.is_sigmoid),
        "CENTERED": int(rules.center != 0.0),
        "TIERED": int(rules.is_tiered),
    }


def _most_classes(ready: Prepared) -> int:
    """Runs of equal labels of a query, at most."""
    return int(np.diff(ready._data[1].class_pointer).max(initial=1)) - 1


def _bind_pairs(device: Any, ready: Prepared, macros: dict[str, Any]) -> launch.Bound:
    """What labels alone decide of an objective of pairs."""
    queries, labels, tables = ready._data
    rules = ready._rules.exact
    arrays = {
        "pointer": queries.pointer,
        "key": queries.key,
        "position": labels.position.astype(np.int32),
        "u": labels.u.astype(np.float64 if macros["LABEL"] == "double" else np.float32),
        "scale": labels.scale.astype(np.float64),
        "class_pointer": labels.class_pointer,
        "class_start": labels.class_start.astype(np.int32),
        "tier_start": labels.tier_start.astype(np.int32),
        "tier_stop": labels.tier_stop.astype(np.int32),
        "positive": labels.positive.astype(np.int32),
        "strategy": labels.strategy.astype(np.uint8),
        "tables": tables.astype(np.float32).reshape(-1),
        "exact": tables.astype(np.float64).reshape(-1),
    }
    numbers = {
        "width": tables.shape[1],
        "sigma": rules.sigma,
        "center": rules.center,
        "constant": rules.constant,
        "cutoff": rules.cutoff,
        "swaps_cutoff": rules.swaps_cutoff,
    }
    return launch.bind(device, arrays, numbers)
