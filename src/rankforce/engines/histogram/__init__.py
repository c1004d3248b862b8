"""Our own trees."""

from __future__ import annotations

from rankforce.engines.base import EngineKind
from rankforce.engines.histogram.engine import OWN, Histogram, lacks, most_rows
from rankforce.engines.shared_bins import share

KIND = EngineKind(
    "histogram", Histogram, OWN, share=share, lacks=lacks, most_rows=most_rows, joins=True
)
