"""How long threads of libraries wait for work: shortly, so that others have the cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# How long OpenMP's threads look for work before they sleep: GNU's so many times, LLVM's so many
# milliseconds. What is usual starves other trainings on the same cores (docs/adr/0015).
SHORT_WAITS = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}
# Who sets one of these has decided.
WAITS = ("OMP_WAIT_POLICY", *SHORT_WAITS)


@contextmanager
def short_waits(library: str) -> Iterator[None]:
    """An environment in which a library's OpenMP loads with threads that wait shortly.

    It is as it was after.
    """
    if library in sys.modules or any(name in os.environ for name in WAITS):
        yield
        return
    os.environ.update(SHORT_WAITS)
    try:
        yield
    finally:
        for name in SHORT_WAITS:
            os.environ.pop(name, None)
