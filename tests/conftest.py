"""Settings of the whole suite."""

from __future__ import annotations

import os

# Several workers share the cores: threads that spin while they wait would starve each other. A
# test that is about threads asks for them by number.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OMP_NUM_THREADS", "1")
