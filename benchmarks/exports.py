"""Does an exported model score as `predict` does? Every form, on the rows of the tests.

    python benchmarks/exports.py          # needs the extra "test"
    python benchmarks/exports.py onnx c

10,000 rows for each forest, a third of them with values on thresholds, next to them, around zero or
missing. ONNX, C, XGBoost and Treelite score by themselves; for search engines, it is evaluators
that follow what their sources say. A document that stands at another rank of its 100 is counted.
The last line is what onnxmltools makes of model.txt, where that is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from versions import installed

import rankforce as rf
from rankforce.models.export.registry import EXPORTERS, export

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.export import test_search_engines as engines
from tests.export.cases import COLUMNS, FORESTS, ROWS, Case, make_case, rank_changes
from tests.export.runtimes import RUNTIMES

PROGRAMS = {"onnx": "onnxruntime", "c": "cc", "xgboost": "xgboost", "treelite": "treelite"}
PEER = "onnxmltools"


class Line(NamedTuple):
    """One line of the table."""

    name: str
    by: str
    rows: int
    largest: float  # difference of a score
    off: int  # scores that are off by more than sums in float32 explain
    moved: int  # documents at another rank
    refused: str

    def __str__(self) -> str:
        same = "yes" if not self.moved else f"no: {self.moved} moved"
        return (
            f"{self.name:18} {self.by:18} {self.rows:7,} {self.largest:10.1e} {self.off:6,}  "
            f"{same:16} {self.refused}"
        )


def score(to: str, case: Case) -> np.ndarray:
    """Scores of an exported model, without what they are lifted by."""
    if to == PEER:
        return by_onnxmltools(case)
    if to in RUNTIMES:
        return RUNTIMES[to](case, export(case.model, to))
    made = engines.scores(case, to, engines.exported(case, to))
    return np.asarray(made, np.float64) - engines.lift_of(case, to)


def by_onnxmltools(case: Case) -> np.ndarray:
    """What its conversion of the text of the model scores, in ONNX Runtime."""
    import onnxmltools
    import onnxruntime
    from onnxmltools.convert.common.data_types import FloatTensorType

    booster = lightgbm.Booster(model_str=case.model.text())
    rows = FloatTensorType([None, COLUMNS])
    made = onnxmltools.convert_lightgbm(booster, initial_types=[("rows", rows)], target_opset=15)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    return session.run(None, {"rows": case.rows})[0].reshape(-1)


def measure(to: str) -> Line:
    """All forests in one form."""
    refused: list[str] = []
    largest, off, moved, rows = 0.0, 0, 0, 0
    for name in FORESTS:
        case = make_case(name)
        try:
            got = score(to, case)
        except rf.RankforceError:
            refused.append(name)
            continue
        apart: Any = np.abs(got - case.expected)
        largest, rows = max(largest, float(apart.max())), rows + ROWS
        off += int((apart > 1e-5 * max(1.0, np.abs(case.expected).max())).sum())
        moved += rank_changes(case.expected, got)
    by = PROGRAMS.get(to, "onnxruntime" if to == PEER else "an evaluator")
    return Line(to, by, rows, largest, off, moved, ", ".join(refused) or "nothing")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", nargs="*", help="some of them (default: all)")
    options = parser.parse_args()
    peer = [PEER] if importlib.util.find_spec(PEER) else []
    print(installed("onnxruntime", "xgboost", "treelite", "lightgbm", *peer))
    head = f"{'form':18} {'scored by':18} {'rows':>7} {'largest':>10} {'off':>6}"
    print(f"{head}  {'ranks the same':16} refused")
    for to in options.forms or [*EXPORTERS, *peer]:
        print(measure(to), flush=True)


if __name__ == "__main__":
    main()
