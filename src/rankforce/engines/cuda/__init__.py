"""Our own trees on a GPU."""

from __future__ import annotations

from rankforce.engines.base import EngineKind
from rankforce.engines.cuda.engine import CudaTrees, check, lacks
from rankforce.engines.histogram.engine import OWN, most_rows
from rankforce.engines.shared_bins import share

KIND = EngineKind(
    "cuda",
    CudaTrees,
    OWN,
    share=share,
    lacks=lacks,
    most_rows=most_rows,
    on_gpu=True,
    check=check,
)
