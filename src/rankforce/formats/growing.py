"""The arrays that a file is parsed into: they grow in place, in rows and in columns."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.data.precision import Precision
from rankforce.kernels.text import TEXT_QID, WHOLE_QID

# Rows are guessed from the bytes read so far; memory that is never touched costs nothing.
SPARE_ROWS = 1.1
# A matrix that has to grow again grows by this much: these bytes are touched.
GROWTH = 1.05
# A file that gets wider again and again does not move all its rows each time.
SPARE_COLUMNS = 1.25
# Rows up to here are copied to a new matrix, whose untouched rows are free; more move in place.
COPY_BYTES = 1 << 25
MOVE_ROWS = 1 << 12


class GrowingTable:
    """Rows so far, and room for more; or only their shape, and every block is written over."""

    def __init__(
        self,
        *,
        base: int | None,
        mode: int,
        needs_labels: bool = True,
        keeps: bool = True,
        has_matrix: bool = True,
        has_documents: bool = True,
    ) -> None:
        self.base = 1 if base is None else base  # feature index of the first column
        self.is_fixed = base is not None
        self.mode = mode
        self.needs_labels = needs_labels
        self.has_labels, self.has_doc_ids = True, False
        self.keeps = keeps
        self.has_matrix = keeps and has_matrix  # else a row is written over the one before
        self.has_documents = has_documents
        self.large = Precision()
        self.rows = 0
        self.columns = 0
        self.density = 0.0  # rows for a byte, in the block that has most
        self.stride = 0  # from one row to the next, `columns` or more
        self._room = 0
        self._need = 0
        self.features: NDArray[np.float32] = np.zeros(0, np.float32)
        self.labels: NDArray[np.float64] = np.zeros(0)
        self.qids: NDArray[np.int64] = np.zeros(0, np.int64)
        self.qid_sizes: NDArray[np.int32] = np.zeros(0, np.int32)
        self.doc_sizes: NDArray[np.int32] = np.zeros(0, np.int32)
        self.qid_text = bytearray()
        self.doc_text = bytearray()

    @property
    def next_row(self) -> int:
        """Where the next block begins."""
        return self.rows if self.keeps else 0

    def reserve(self, more: int, share: float) -> None:
        """Make room for a block, and for what the rest of the file seems to hold."""
        rows = self._need = self.next_row + more
        if rows <= self._room:
            return
        guess = int(rows / max(share, 1e-6) * SPARE_ROWS) + 1
        first = self._room == 0
        self._room = guess if first else max(rows, min(guess, int(self._room * GROWTH) + 1))
        self._set_room()

    def _set_room(self) -> None:
        """Give every array its length."""
        most = _memory() // 2 // max(1, self.stride * self.features.itemsize)
        self._room = max(self._need, min(self._room, most))
        if self.has_matrix:
            self.features = _resized(self.features, self._room * self.stride)
        self.labels = _resized(self.labels, self._room)
        self.doc_sizes = _resized(self.doc_sizes, self._room)
        if self.mode == WHOLE_QID:
            self.qids = _resized(self.qids, self._room)
        elif self.mode == TEXT_QID:
            self.qid_sizes = _resized(self.qid_sizes, self._room)

    def width(self, top: int, saw_zero: bool) -> int:
        """The columns that are needed for feature index `top`, and for an index 0."""
        shift = int(saw_zero and self.base == 1)
        return max(top - self.base + 1, self.columns) + shift

    def excess(self, more: int, columns: int) -> str | None:
        """Why no matrix with so many more rows and so many columns can be made here, if so."""
        rows = self.rows + more
        need, have = rows * columns * self.features.itemsize, _memory()
        if need <= have or not self.has_matrix:
            return None
        return (
            f"{rows:,} rows x {columns:,} columns of float32 take {need / 1e9:,.0f} GB, "
            f"and this machine has {have / 1e9:,.0f} GB"
        )

    def widen(self, top: int, saw_zero: bool) -> None:
        """Make room for feature index `top`; an index 0 moves all columns by one."""
        shift = int(saw_zero and self.base == 1)
        columns = self.width(top, saw_zero)
        if not self.has_matrix:  # the stride stays 0
            self.features = np.zeros(columns, np.float32)
        elif columns > self.stride or shift:
            spare = SPARE_COLUMNS if self.rows else 1.0
            stride = max(columns, int(self.stride * spare))
            self._move(stride, shift)
        self.columns = columns
        self.base -= shift
        self.large.move(shift)

    def _move(self, stride: int, shift: int) -> None:
        """Set the rows further apart, and their columns to the right; the rest is 0."""
        before, self.stride = self.stride, stride
        old = self.features
        if self.rows * before * old.itemsize <= COPY_BYTES:
            self.features = np.zeros(0, np.float32)
            self._set_room()
        else:
            self._room = self._need
            self._set_room()
            old = self.features
        # From the last row on: what a row is written over has moved already.
        for end in range(self.rows, 0, -MOVE_ROWS):
            begin = max(0, end - MOVE_ROWS)
            rows = old[begin * before : end * before].reshape(end - begin, before)
            moved = rows[:, : self.columns].copy()
            place = self.features[begin * stride : end * stride].reshape(end - begin, stride)
            place[:] = 0.0
            place[:, shift : shift + self.columns] = moved

    def see_large(self, large: NDArray[np.float64]) -> None:
        """Columns and values that float32 may not hold."""
        for column in np.unique(large[:, 0]):
            self.large.see(int(column), large[large[:, 0] == column, 1])

    def matrix(self) -> NDArray[np.float32]:
        """The finished matrix, without the spare rows and columns; without any if it has none."""
        if not self.has_matrix:
            return np.empty((self.rows, 0), np.float32)
        if self.stride > self.columns:
            for begin in range(0, self.rows, MOVE_ROWS):
                end = min(self.rows, begin + MOVE_ROWS)
                rows = self.features[begin * self.stride : end * self.stride]
                narrow = rows.reshape(-1, self.stride)[:, : self.columns].copy()
                self.features[begin * self.columns : end * self.columns] = narrow.reshape(-1)
        self.features.resize((self.rows, self.columns), refcheck=False)
        return self.features

    def column(self, values: NDArray[Any]) -> NDArray[Any]:
        """A finished array of one value for each row, without the spare ones."""
        values.resize(self.rows, refcheck=False)
        return values


def _resized(values: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with `size` places; one that grows is not copied where the system can help it."""
    if values.size == 0:
        return np.zeros(size, values.dtype)
    values.resize(size, refcheck=False)
    return values


def _memory() -> int:
    """Bytes of memory of this machine, or a lot where that is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not a Unix: let the allocation fail
        return 1 << 62
