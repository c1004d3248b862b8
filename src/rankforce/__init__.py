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
    from rankforce import diagnostics
    from rankforce.common.errors import RankforceError
    from rankforce.data.preferences import Preferences
    from rankforce.data.ranking_data import RankingData
    from rankforce.data.synthetic import make_data
    from rankforce.diagnostics.coherence import agreement
    from rankforce.diagnostics.explain import explain
    from rankforce.diagnostics.recorder import Recorder
    from rankforce.diagnostics.replay import diagnose
    from rankforce.diagnostics.why import enter, why
    from rankforce.evaluation.compare import compare, compare_values
    from rankforce.evaluation.comparison import Comparison
    from rankforce.evaluation.evaluate import evaluate
    from rankforce.evaluation.graded import GradedComparison
    from rankforce.evaluation.results import results
    from rankforce.evaluation.scorecard import Scorecard, Verdict, scorecard
    from rankforce.experiments.auto import auto
    from rankforce.experiments.cross_validation import cv
    from rankforce.experiments.distil import distil
    from rankforce.experiments.trade_off import trade_off
    from rankforce.experiments.train import train
    from rankforce.experiments.tune import tune
    from rankforce.forces.make import additive, objective, objectives
    from rankforce.forces.mixed import Mixed, graded, mix, scheduled
    from rankforce.forces.objective import Objective, Pairs
    from rankforce.forces.prepared import Prepared
    from rankforce.formats.preferences import read_preferences
    from rankforce.formats.read import read
    from rankforce.formats.trec import read_qrels, read_run, write_qrels, write_run
    from rankforce.measures.make import metric, metrics
    from rankforce.measures.metric import Metric
    from rankforce.models.network.ranking_loss import RankingLoss as RankingLoss
    from rankforce.show import plots
    from rankforce.show.report.write import write_report
    from rankforce.training.callbacks.log_to import log_to
    from rankforce.training.loading import load
    from rankforce.training.ranker import Ranker

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
    "RankforceError",
    "RankingData",
    "Recorder",
    "Scorecard",
    "Verdict",
    "__version__",
    "additive",
    "agreement",
    "auto",
    "compare",
    "compare_values",
    "cv",
    "diagnose",
    "diagnostics",
    "distil",
    "enter",
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
    "tune",
    "why",
    "write_qrels",
    "write_report",
    "write_run",
]

# Loaded when first used, so that `import rankforce` is instant.
_HOMES = {
    "objective": "rankforce.forces.make",
    "objectives": "rankforce.forces.make",
    "additive": "rankforce.forces.make",
    "Objective": "rankforce.forces.objective",
    "Mixed": "rankforce.forces.mixed",
    "mix": "rankforce.forces.mixed",
    "graded": "rankforce.forces.mixed",
    "scheduled": "rankforce.forces.mixed",
    "Pairs": "rankforce.forces.objective",
    "Prepared": "rankforce.forces.prepared",
    "metric": "rankforce.measures.make",
    "metrics": "rankforce.measures.make",
    "Metric": "rankforce.measures.metric",
    "compare": "rankforce.evaluation.compare",
    "compare_values": "rankforce.evaluation.compare",
    "Comparison": "rankforce.evaluation.comparison",
    "results": "rankforce.evaluation.results",
    "trade_off": "rankforce.experiments.trade_off",
    "scorecard": "rankforce.evaluation.scorecard",
    "Scorecard": "rankforce.evaluation.scorecard",
    "Verdict": "rankforce.evaluation.scorecard",
    "GradedComparison": "rankforce.evaluation.graded",
    "evaluate": "rankforce.evaluation.evaluate",
    "agreement": "rankforce.diagnostics.coherence",
    "Recorder": "rankforce.diagnostics.recorder",
    "diagnose": "rankforce.diagnostics.replay",
    "explain": "rankforce.diagnostics.explain",
    "why": "rankforce.diagnostics.why",
    "enter": "rankforce.diagnostics.why",
    "write_report": "rankforce.show.report.write",
    "log_to": "rankforce.training.callbacks.log_to",
    "RankforceError": "rankforce.common.errors",
    "RankingData": "rankforce.data.ranking_data",
    "make_data": "rankforce.data.synthetic",
    "read": "rankforce.formats.read",
    "Preferences": "rankforce.data.preferences",
    "read_preferences": "rankforce.formats.preferences",
    "read_qrels": "rankforce.formats.trec",
    "read_run": "rankforce.formats.trec",
    "write_qrels": "rankforce.formats.trec",
    "write_run": "rankforce.formats.trec",
    "Ranker": "rankforce.training.ranker",
    "RankingLoss": "rankforce.models.network.ranking_loss",
    "load": "rankforce.training.loading",
    "auto": "rankforce.experiments.auto",
    "cv": "rankforce.experiments.cross_validation",
    "distil": "rankforce.experiments.distil",
    "train": "rankforce.experiments.train",
    "tune": "rankforce.experiments.tune",
}
_NOT_STARRED = ["RankingLoss"]  # needs PyTorch, which `from rankforce import *` must not
_MODULES = {"diagnostics": "rankforce.diagnostics", "plots": "rankforce.show.plots"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("rankforce")
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'rankforce' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__ + _NOT_STARRED)
