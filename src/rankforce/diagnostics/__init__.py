"""What happens inside training: pure functions of scores, labels and an objective."""

from rankforce.diagnostics.coherence import Incoherence, agreement, incoherence
from rankforce.diagnostics.pairs import (
    Contributions,
    EffectivePairs,
    NormFactors,
    contributions,
    contributions_by_size,
    effective_pairs,
    norm_factors,
    pair_forces,
)
from rankforce.diagnostics.ranks import LabelMix, RankChanges, label_mix, rank_changes
from rankforce.forces.base import PairForces
from rankforce.models.curves import Curves

__all__ = [
    "Contributions",
    "Curves",
    "EffectivePairs",
    "Incoherence",
    "LabelMix",
    "NormFactors",
    "PairForces",
    "RankChanges",
    "agreement",
    "contributions",
    "contributions_by_size",
    "effective_pairs",
    "incoherence",
    "label_mix",
    "norm_factors",
    "pair_forces",
    "rank_changes",
]
