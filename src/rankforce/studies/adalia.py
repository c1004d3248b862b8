"""The table of the pictures of Adalia et al. 2025: which pairs push for P@k, and how well."""

from __future__ import annotations

from rankforce.studies import adalia_pairs as pairs
from rankforce.studies import adalia_precision as precision
from rankforce.studies.adalia_runs import wants, wants_cutoffs, wants_mus
from rankforce.studies.figure import Figure
from rankforce.studies.study import K

PAPER = "Adalia et al. 2025, Figure"
FIGURES = [
    Figure(
        "adalia-1",
        f"{PAPER} 1",
        "Weights of rank pairs of ten documents at k = 3; hatched gray pairs are left out.",
        pairs.draw_weights,
    ),
    Figure(
        "adalia-2",
        f"{PAPER} 2",
        "Number of pairs that an objective has to look at, by k, for ten documents.",
        pairs.draw_candidates,
    ),
    Figure(
        "adalia-3",
        f"{PAPER} 3",
        f"P@{K} on the validation queries after each tree, without the first ones.",
        precision.draw_validation,
        wants,
    ),
    Figure(
        "adalia-4",
        f"{PAPER} 4",
        f"P@{K} on the training queries after each tree, without the first ones.",
        precision.draw_training,
        wants,
    ),
    Figure(
        "adalia-5",
        f"{PAPER} 5",
        "Largest number of effective pairs while learning, by k, of all n (n - 1) / 2 pairs; at "
        f"k other than {K} in the first tenth of the trees.",
        pairs.draw_largest,
        wants_cutoffs,
    ),
    Figure(
        "adalia-6",
        f"{PAPER} 6",
        f"P@{K} on the test queries by μ; horizontal lines are the two parts of a hybrid.",
        precision.draw_mus,
        wants_mus,
    ),
    Figure(
        "adalia-a1",
        f"{PAPER} A1",
        "Effective pairs after each tree, of all n (n - 1) / 2 pairs, mean over the queries.",
        pairs.draw_pairs,
        wants,
    ),
]
