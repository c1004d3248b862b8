"""Pictures for papers of what the forces do, drawn with matplotlib.

Each function draws into `ax` if it is given, else into a new figure, and returns the axes:
`rf.plots.save(rf.plots.incoherence(recorder.curves), "incoherence.pdf")`. Nothing is shown, and no
setting of matplotlib changes. Runs are one `Curves` or a dictionary of them by name.
"""

from __future__ import annotations

from rankforce.show.plots.curves import (
    agreement,
    contributions,
    contributions_by_size,
    effective_pairs,
    incoherence,
    label_mix,
    metric_curves,
    norm_factors,
    rank_changes,
)
from rankforce.show.plots.lists import forces
from rankforce.show.plots.objectives import candidate_pairs, pair_costs, rank_weights, schedules
from rankforce.show.plots.style import save
from rankforce.show.plots.trade_off import trade_off
from rankforce.show.plots.trials import tuning

__all__ = [
    "agreement",
    "candidate_pairs",
    "contributions",
    "contributions_by_size",
    "effective_pairs",
    "forces",
    "incoherence",
    "label_mix",
    "metric_curves",
    "norm_factors",
    "pair_costs",
    "rank_changes",
    "rank_weights",
    "save",
    "schedules",
    "trade_off",
    "tuning",
]
