"""Settings of the whole suite."""

from __future__ import annotations

import os

# Several workers share the cores: threads that spin while they wait would starve each other. What
# the package sets by itself is not enough, where a test has loaded LightGBM or XGBoost before. A
# test that is about threads asks for them by number.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("OMP_NUM_THREADS", "1")
