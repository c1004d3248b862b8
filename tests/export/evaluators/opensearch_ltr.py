"""What OpenSearch's learning-to-rank plugin makes of an uploaded model: a fork of the other one.

Since its change #379 a missing value follows the field of the node; before, it was compared as NaN
(#378), and up to 3.1 it was 0 (#286).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.export.evaluators import elasticsearch_ltr
from tests.export.evaluators.strict import Columns

MISSING = {"3.1": "zero", "3.3": "right", "#379": "node"}


def score(
    content: bytes, columns: Columns, *, version: str = "#379", stored: list[str] | None = None
) -> NDArray[np.float32]:
    """Scores by a version of the plugin."""
    return elasticsearch_ltr.score(content, columns, missing=MISSING[version], stored=stored)
