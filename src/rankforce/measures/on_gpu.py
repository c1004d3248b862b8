"""Metrics of scores in the GPU's memory: as `Scoreboard`, whose are in the processor's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.kernels import metrics as kernel
from rankforce.kernels.cuda.launch import Launch, as_bytes, make_record, padded
from rankforce.measures.prepare import Plan
from rankforce.measures.scoreboard import Part, Scoreboard

FILES = ("basics.cu", "block.cu", "metrics.cu")
# Lists up to SHORT documents leave room for several blocks on a multiprocessor.
SHORT = 1024
SHORT_THREADS = 128
LONG_THREADS = 1024
COUNTED = 256  # up to so many documents, counting the better ones is faster than sorting
SLOTS = 32 * 8  # bytes of sums over a block
_ADDRESS, _WHOLE = np.uint64, np.int64
LIST = np.dtype([("start", np.int64), ("query", np.int32), ("size", np.int32)])
METRIC = np.dtype([(name, np.int32) for name in ("column", "kind", "end", "ties", "row")])
# As in metrics.cu: every field has 8 bytes.
BOARD = np.dtype(
    [(name, _ADDRESS) for name in ("scores", "row", "lists", "metrics", "columns", "tables")]
    + [(name, _ADDRESS) for name in ("sums", "bad", "scratch")]
    + [(name, _WHOLE) for name in ("piece", "room", "first", "count", "measured", "places")]
    + [(name, _WHOLE) for name in ("width", "queries", "depth", "single")]
)


class _There(NamedTuple):
    """Metrics that see the same scores, on the device."""

    fields: NDArray[Any]  # one of BOARD
    kept: tuple[Any, ...]  # the arrays that it points to
    is_tied: bool  # whether ties matter to a metric
    launches: list[Launch]


class GpuBoard:
    """The metrics of a scoreboard; `measure` takes scores on the device."""

    def __init__(self, device: Any, board: Scoreboard) -> None:
        self.board = board
        self._device = device
        sizes, pointer, row = board.sizes, board.index.pointer, board.index.row
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        lists = np.empty(len(order), LIST)
        lists["start"], lists["query"], lists["size"] = pointer[order], order, sizes[order]
        shared = {"lists": device.upload(lists.view(np.int64))}
        if len(row):
            shared["row"] = device.upload(row)
        self._parts = [self._bring(part, shared, lists["size"]) for part in board.parts]

    @property
    def is_whole(self) -> bool:
        """Whether the device finds all metrics: a user's function needs scores here."""
        return all(metric.definition.kind != "own" for metric in self.board.metrics)

    def measure(self, scores: Any) -> Any:
        """What `finish` makes values of, for float64 scores, one per row; waits for nothing."""
        self.board.check_shape(scores.shape)
        assert scores.dtype == np.float64
        device, queries, rows = self._device, len(self.board.sizes), len(self.board.metrics)
        raw = device.zeros((rows + len(self._parts)) * queries, np.float64)
        sums = device.pointer(raw)
        for number, part in enumerate(self._parts):
            part.fields["scores"], part.fields["sums"] = device.pointer(scores), sums
            part.fields["bad"] = sums + 8 * queries * (rows + number)
            for launch in part.launches:
                self._launch(part, launch)
        return raw

    def finish(self, raw: Floats, scores: Floats | None = None) -> Floats:
        """What `Scoreboard.values` returns, of a downloaded array of `measure`.

        A user's function wants the scores as well: see `is_whole`.
        """
        queries, rows = len(self.board.sizes), len(self.board.metrics)
        found = raw.reshape(rows + len(self._parts), queries)
        for part, bad in zip(self.board.parts, found[rows:], strict=True):
            if bad.any():
                query = self.board.name_of(int(np.argmax(bad)))
                end = " in single precision" if part.single else ""
                raise RankforceError(f"scores of query {query} are not all finite{end}")
        return self.board.finish(found[:rows], scores)

    def _bring(self, part: Part, shared: dict[str, Any], sizes: NDArray[np.int32]) -> _There:
        plan = part.plan
        metrics = np.empty(len(part.rows), METRIC)
        metrics["column"], metrics["kind"] = plan.column_of, plan.kind_of
        metrics["end"], metrics["ties"], metrics["row"] = plan.end_of, plan.ties_of, part.rows
        own = {"metrics": metrics.view(np.int32), "columns": plan.columns, "tables": plan.tables}
        arrays = shared | {name: self._device.upload(values) for name, values in own.items()}
        numbers = {
            "measured": len(part.rows),
            "places": plan.columns.shape[1],
            "width": plan.tables.shape[1],
            "queries": len(self.board.sizes),
            "depth": plan.depth,
            "single": int(part.single),
        }
        fields = make_record(self._device, BOARD, arrays, **numbers)
        is_tied = bool((plan.ties_of != kernel.ROW).any())
        launches = _plan_launches(self._device, sizes, _row_bytes(plan))
        return _There(fields, tuple(arrays.values()), is_tied, launches)

    def _launch(self, part: _There, launch: Launch) -> None:
        scratch = self._device.empty(launch.scratch, np.uint8) if launch.scratch else None
        part.fields["scratch"] = 0 if scratch is None else self._device.pointer(scratch)
        for name, value in launch.fields.items():
            part.fields[name] = value
        macros = {"LABEL": "double", "COUNTED": COUNTED, "LONG_THREADS": LONG_THREADS}
        macros |= {"TIED": int(part.is_tied), "SCRATCH": int(scratch is not None)}
        self._device.launch(
            FILES,
            tuple(macros.items()),
            launch.name,
            blocks=launch.blocks,
            threads=launch.threads,
            shared=launch.shared,
            arguments=(as_bytes(part.fields),),
        )


def _row_bytes(plan: Plan) -> int:
    """Bytes of a document in the rows of `mean_cascade`, if a metric needs them."""
    is_mean = (plan.kind_of == kernel.CASCADE) & (plan.ties_of != kernel.ROW)
    return 4 * 8 if is_mean.any() else 0


def _plan_launches(device: Any, sizes: NDArray[np.int32], row_bytes: int) -> list[Launch]:
    """Long lists, and short ones; sizes fall."""
    count, end = int(np.searchsorted(-sizes, -SHORT)), len(sizes)
    found = []
    for first, last, threads in ((0, count, LONG_THREADS), (count, end, SHORT_THREADS)):
        if first == last:
            continue
        longest = int(sizes[first])
        # A sort wants a power of 2.
        room = padded(longest, 32) if longest <= COUNTED else 1 << (longest - 1).bit_length()
        bytes_of_room = 8 * min(room, COUNTED) + 12 * room + row_bytes * (room + 1)
        piece = padded(SLOTS + bytes_of_room, 256)
        is_shared = piece <= device.shared
        blocks = last - first
        if not is_shared:
            most = max(2 * int(sizes[first:last].sum(dtype=np.int64)) // room, 1)
            blocks = min(blocks, most, device.processors * (LONG_THREADS // threads))
        fields = {"first": first, "count": last - first, "room": room, "piece": piece}
        shared, scratch = (piece, 0) if is_shared else (0, blocks * piece)
        found.append(Launch("measure_queries", blocks, threads, shared, scratch, fields))
    return found
