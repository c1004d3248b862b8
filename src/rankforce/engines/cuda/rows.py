"""Rows of a data set in bins in the GPU's memory, and their scores."""

from __future__ import annotations

from typing import Any

from rankforce.data.binned import Binned
from rankforce.engines.cuda.bins import upload_bins
from rankforce.models.forest.on_gpu import GpuScores


class BinRows(GpuScores):
    """Bins on the device, and the scores of their rows."""

    def __init__(self, device: Any, binned: Binned) -> None:
        super().__init__(device, binned.shape[0])
        self.bins = upload_bins(device, binned)
