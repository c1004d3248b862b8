"""The oracle: slow and obvious versions of what the package computes. Imports nothing of it."""

from .costs import pair_costs, ranknet_cost, squared_error_cost, xendcg_cost
from .extended import (
    STRATEGIES,
    deficits,
    extended_set,
    false_and_missed,
    splitmix64,
    uniform,
)
from .forces import COSTS, NORMS, forces, summed_forces
from .listwise import squared_error_forces, xendcg_at, xendcg_forces, xendcg_orders
from .metrics import BINARY_METRICS, METRICS, metric
from .ranking import binary, discount, gain_of, ideal_dcg, order, ranks
from .weights import NAMES, weights

__all__ = [
    "BINARY_METRICS",
    "COSTS",
    "METRICS",
    "NAMES",
    "NORMS",
    "STRATEGIES",
    "binary",
    "deficits",
    "discount",
    "extended_set",
    "false_and_missed",
    "forces",
    "gain_of",
    "ideal_dcg",
    "metric",
    "order",
    "pair_costs",
    "ranknet_cost",
    "ranks",
    "splitmix64",
    "squared_error_cost",
    "squared_error_forces",
    "summed_forces",
    "uniform",
    "weights",
    "xendcg_at",
    "xendcg_cost",
    "xendcg_forces",
    "xendcg_orders",
]
