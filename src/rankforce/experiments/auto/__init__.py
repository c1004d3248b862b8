"""Objective, parameters and committee for a metric, in a given time."""

from rankforce.experiments.auto.result import Auto
from rankforce.experiments.auto.run import auto, auto_from

__all__ = ["Auto", "auto", "auto_from"]
