"""What exported models score in the programs that they are for: the real ones, which are here."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import treelite
import xgboost
from numpy.typing import NDArray

from rankforce.models.export.registry import Exported
from tests.export.cases import LIST, Case

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
FAST = ("-O2", "-ffp-contract=off", "-shared", "-fPIC")


def onnx_scores(case: Case, made: Exported, threads: int = 1) -> NDArray[Any]:
    """By ONNX Runtime: all rows at once, or list by list."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(made.content, options)
    step = LIST if case.ranker.needs_lists else len(case.rows)
    parts = [
        session.run(None, {"features": case.rows[first : first + step]})[0]
        for first in range(0, len(case.rows), step)
    ]
    return np.concatenate(parts)


def c_scores(case: Case, made: Exported) -> NDArray[Any]:
    """By a C compiler that takes nothing but C99."""
    with tempfile.TemporaryDirectory() as folder:
        return compiled_scores(build(made.content, Path(folder)), case.rows)


def build(source: bytes, folder: Path) -> Path:
    """A shared library from a source file."""
    file, library = folder / "ranker.c", folder / "ranker.so"
    file.write_bytes(source)
    command = ["cc", *STRICT, *FAST, "-o", str(library), str(file)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return library


def compiled_scores(library: Path, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Scores of rows by a library."""
    given, scores = np.ascontiguousarray(rows), np.empty(len(rows))
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (given, scores))
    first, last = pointers
    ctypes.CDLL(str(library)).rankforce_scores(first, ctypes.c_size_t(len(rows)), last)
    return scores


def xgboost_scores(case: Case, made: Exported) -> NDArray[Any]:
    """By XGBoost."""
    booster = xgboost.Booster(model_file=bytearray(made.content))
    columns = case.rows.shape[1]
    kinds = ["c" if column in case.model.categorical else "float" for column in range(columns)]
    rows = xgboost.DMatrix(case.rows, feature_names=booster.feature_names, feature_types=kinds)
    return booster.predict(rows)


def treelite_scores(case: Case, made: Exported) -> NDArray[Any]:
    """By Treelite's own interpreter."""
    model = treelite.Model.deserialize_bytes(made.content)
    return treelite.gtil.predict(model, case.rows.astype(np.float64), nthread=1).reshape(-1)


# Name of a form -> what scores with it.
RUNTIMES: dict[str, Callable[[Case, Exported], NDArray[Any]]] = {
    "onnx": onnx_scores,
    "c": c_scores,
    "xgboost": xgboost_scores,
    "treelite": treelite_scores,
}
