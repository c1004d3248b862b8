"""Learning to rank: train rankers for any ranking metric, and see the forces that do it.

>>> import rankforce as rf
>>> lam, hess = rf.objective("lambdarank-ndcg", k=1).gradients(
...     [0.04, 0.03, 0.02, 0.01, 0.00], [1, 2, 0, 0, 0])
>>> lam.round(3).tolist()
[0.152, 0.124, -0.083, -0.093, -0.1]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankforce import diagnostics, plots
    from rankforce._metrics.make import metric, metrics
    from rankforce._metrics.metric import Metric
    from rankforce._objectives.make import additive, objective, objectives
    from rankforce._objectives.mixed import Mixed, graded, mix, scheduled
    from rankforce._objectives.objective import Objective, Pairs
    from rankforce._objectives.prepared import Prepared
    from rankforce.comparison.compare import compare, compare_values
    from rankforce.comparison.comparison import Comparison
    from rankforce.comparison.graded import GradedComparison
    from rankforce.comparison.results import results
    from rankforce.comparison.scorecard import Scorecard, Verdict, scorecard
    from rankforce.comparison.trade_off import trade_off
    from rankforce.data.made_up import make_data
    from rankforce.data.preferences import Preferences, read_preferences
    from rankforce.data.ranking_data import RankingData
    from rankforce.data.read import read
    from rankforce.data.trec import read_qrels, read_run, write_qrels, write_run
    from rankforce.diagnostics.agreement import agreement
    from rankforce.diagnostics.recorder import Recorder
    from rankforce.diagnostics.replay import diagnose
    from rankforce.evaluation import evaluate
    from rankforce.explanation import explain
    from rankforce.loading import load
    from rankforce.ranker import Ranker
    from rankforce.report.write import write_report
    from rankforce.training.cross_validation import cv
    from rankforce.training.log_to import log_to
    from rankforce.training.train import train

__all__ = [
    "Comparison",
    "GradedComparison",
    "Metric",
    "Mixed",
    "Objective",
    "Pairs",
    "Preferences",
    "Prepared",
    "Ranker",
    "RankingData",
    "Recorder",
    "Scorecard",
    "Verdict",
    "__version__",
    "additive",
    "agreement",
    "compare",
    "compare_values",
    "cv",
    "diagnose",
    "diagnostics",
    "evaluate",
    "explain",
    "graded",
    "load",
    "log_to",
    "make_data",
    "metric",
    "metrics",
    "mix",
    "objective",
    "objectives",
    "plots",
    "read",
    "read_preferences",
    "read_qrels",
    "read_run",
    "results",
    "scheduled",
    "scorecard",
    "trade_off",
    "train",
    "write_qrels",
    "write_report",
    "write_run",
]

# Loaded when first used, so that `import rankforce` is instant.
_HOMES = {
    "objective": "rankforce._objectives.make",
    "objectives": "rankforce._objectives.make",
    "additive": "rankforce._objectives.make",
    "Objective": "rankforce._objectives.objective",
    "Mixed": "rankforce._objectives.mixed",
    "mix": "rankforce._objectives.mixed",
    "graded": "rankforce._objectives.mixed",
    "scheduled": "rankforce._objectives.mixed",
    "Pairs": "rankforce._objectives.objective",
    "Prepared": "rankforce._objectives.prepared",
    "metric": "rankforce._metrics.make",
    "metrics": "rankforce._metrics.make",
    "Metric": "rankforce._metrics.metric",
    "compare": "rankforce.comparison.compare",
    "compare_values": "rankforce.comparison.compare",
    "Comparison": "rankforce.comparison.comparison",
    "results": "rankforce.comparison.results",
    "trade_off": "rankforce.comparison.trade_off",
    "scorecard": "rankforce.comparison.scorecard",
    "Scorecard": "rankforce.comparison.scorecard",
    "Verdict": "rankforce.comparison.scorecard",
    "GradedComparison": "rankforce.comparison.graded",
    "evaluate": "rankforce.evaluation",
    "agreement": "rankforce.diagnostics.agreement",
    "Recorder": "rankforce.diagnostics.recorder",
    "diagnose": "rankforce.diagnostics.replay",
    "explain": "rankforce.explanation",
    "write_report": "rankforce.report.write",
    "log_to": "rankforce.training.log_to",
    "RankingData": "rankforce.data.ranking_data",
    "make_data": "rankforce.data.made_up",
    "read": "rankforce.data.read",
    "Preferences": "rankforce.data.preferences",
    "read_preferences": "rankforce.data.preferences",
    "read_qrels": "rankforce.data.trec",
    "read_run": "rankforce.data.trec",
    "write_qrels": "rankforce.data.trec",
    "write_run": "rankforce.data.trec",
    "Ranker": "rankforce.ranker",
    "load": "rankforce.loading",
    "cv": "rankforce.training.cross_validation",
    "train": "rankforce.training.train",
}
_MODULES = ("diagnostics", "plots")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("rankforce")
    if name in _MODULES:
        return importlib.import_module(f"rankforce.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'rankforce' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
