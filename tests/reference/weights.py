"""Pair weights of one query by the objective's name (names: Adalia et al. 2025, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence

from .discounts import ndcg_weights
from .extended import STRATEGIES, extended_set
from .positions import LABEL_NAMES, POSITION_NAMES, label_weights, position_weights
from .ranking import Gain, Matrix, binary, cutoff, order
from .swaps import SWAP_NAME, swap_weights

TRUNCATED_FORMS = {
    "LambdaRank-NDCG": "rho",
    "LambdaLoss-NDCG": "delta",
    "LambdaLoss-NDCG++": "rho+delta",
    "LambdaRank-BNDCG": "rho",
    "LambdaLoss-BNDCG": "delta",
    "LambdaLoss-BNDCG++": "rho+delta",
    "NDCG-Loss1": "loss1",
    "LambdaLoss-NDCG top-k": "top-k",
}
EX_FORMS = {"LambdaMART-eX": "rho", "LambdaLoss-eX": "delta", "LambdaLoss-eX++": "rho+delta"}
EX_NAMES = (
    *(f"{method} {strategy}" for method in EX_FORMS for strategy in STRATEGIES),
    *(f"{method} {strategy} bin" for method in EX_FORMS for strategy in STRATEGIES[:3]),
)
NAMES = (*TRUNCATED_FORMS, *LABEL_NAMES, *POSITION_NAMES, *EX_NAMES)


def weights(
    name: str,
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    k: float | None = None,
    tau: float | None = None,
    mu: float = 1.0,
    gain: Gain | None = None,  # that of the metric, most often 2^y-1
    delta_offset: int = 0,
    missed: str = "deficit",
    seed: int = 0,
    iteration: int = 0,
    query: int = 0,
    max_label: float | None = None,
) -> Matrix:
    """W[hi][lo], 0 outside the pair set. `tau` defaults to `k`; None or infinity: no truncation."""
    labels = [float(label) for label in labels]
    if name in LABEL_NAMES:
        return label_weights(name, labels)
    if name in POSITION_NAMES:
        return position_weights(name, scores, labels, k=k if tau is None else tau, mu=mu)
    if SWAP_NAME.fullmatch(name):
        return swap_weights(name, scores, labels, gain=gain, max_label=max_label)
    gain = "2^y-1" if gain is None else gain
    if name not in NAMES:
        raise ValueError(f"unknown objective {name!r}; choose one of {', '.join(NAMES)}")
    if "BNDCG" in name or name.endswith(" bin"):
        labels, gain = binary(labels), "binary"
    if name in EX_NAMES:
        form, strategy = EX_FORMS[name.split(" ")[0]], name.split(" ")[1]
        level, ordered = k, [labels[row] for row in order(scores)]
        key = {"seed": seed, "iteration": iteration, "query": query}
        members = extended_set(strategy, ordered, k, missed=missed, **key)
    else:
        form = TRUNCATED_FORMS[name]
        level = k if tau is None or form == "top-k" else tau
        members = {rank for rank in range(len(labels)) if rank < cutoff(level)}
    return ndcg_weights(
        form, scores, labels, members, level=level, gain=gain, mu=mu, offset=delta_offset
    )
