"""A worker's own process: it trains, tells what it does, and ends with the worker.

LightGBM has one network for all of a process, and cannot be interrupted while it waits for others.
In a process of its own a run meets no other, and can be ended at any time (docs/adr/0036).
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.training.cluster.messages import (
    ASSIGNMENT,
    ERROR,
    FAILURE,
    NOTE,
    RESULT,
    Teller,
)
from rankforce.training.cluster.work import OtherWorkerError, carry_out


def main(folder: Path) -> int:
    """Do what the folder's assignment says; the model, if it is to be given, goes there too."""
    tell = Teller(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)  # what libraries print is no message
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def show(message: Any, *_where: Any, **_how: Any) -> None:
        tell(NOTE, text=str(message))

    warnings.showwarning = show
    try:
        model = carry_out(pickle.loads((folder / ASSIGNMENT).read_bytes()), tell)
    except RankforceError as error:
        tell(ERROR, text=str(error), is_cause=not isinstance(error, OtherWorkerError))
        return 1
    except MemoryError:
        tell(ERROR, text="out of memory", is_cause=True)
        return 1
    except Exception:
        tell(FAILURE, text=traceback.format_exc(), is_cause=True)
        return 1
    if model is not None:
        (folder / RESULT).write_bytes(pickle.dumps(model, protocol=5))
    return 0


def _end_with_parent() -> None:
    """Nothing is ever written to standard input: it ends when the worker does."""
    while os.read(0, 1 << 10):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
