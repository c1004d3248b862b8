"""LightGBM on features that are in bins already: it gets the numbers of bins, one bin for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankforce.data.binned import Binned
from rankforce.data.sources import block_rows
from rankforce.engines.lightgbm.library import import_lightgbm, plain_errors


def own_bins(binned: Binned) -> dict[str, Any]:
    """Parameters with which every number of a bin has a bin, and no column a second copy."""
    most = int(binned.many.max(initial=1)) + 2
    return {"max_bin": most, "min_data_in_bin": 1, "feature_pre_filter": False}


def make_dataset(binned: Binned, names: list[str], parameters: dict[str, Any]) -> Any:
    """LightGBM's data set, pushed in blocks.

    How numbers become bins it takes from a few rows that have each of them once: what it would find
    by itself depends on the rows of a worker.
    """
    lgb = import_lightgbm()
    sequence: Any = lgb.Sequence

    class Codes(sequence):  # type: ignore[misc]
        batch_size = block_rows(binned.shape[1])

        def __len__(self) -> int:
            return binned.shape[0]

        def __getitem__(self, rows: Any) -> Any:
            return binned.codes(rows)

    most = int(binned.many.max(initial=1))
    few = np.zeros((most + 1, binned.shape[1]), np.float32)
    few[:, binned.columns] = np.minimum(np.arange(most + 1)[:, np.newaxis], binned.many - 1)
    few[-1, binned.edges.has_nan > 0] = np.nan
    with plain_errors():
        alone = parameters | {"num_machines": 1, "machines": ""}
        reference = lgb.Dataset(few, feature_name=names, params=alone).construct()
        labels = np.zeros(binned.shape[0], np.float32)
        return lgb.Dataset(
            Codes(), labels, reference=reference, feature_name=names, params=parameters
        ).construct()
