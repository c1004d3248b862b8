"""The rankers of Adalia et al. 2025, and one panel for each family of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rankforce as rf
from rankforce.forces.named import at_cutoff
from rankforce.show.plots.style import legend_above, look, panels, style
from rankforce.studies.study import K, Trial, Want

if TYPE_CHECKING:
    from rankforce.studies.study import Study

BASIC = ("binranknet", "lambdarank-arpbk", "lambdagap-x", "lambdarank-p@k", "lambdagap-s")
HYBRIDS = {  # each with its two parts
    "lambdagap-s+": ("lambdarank-p@k", "lambdagap-s"),
    "lambdagap-x+": ("lambdarank-p@k", "lambdagap-x"),
    "lambdagap-s++": ("lambdarank-arpbk", "lambdagap-s"),
    "lambdagap-x++": ("lambdarank-arpbk", "lambdagap-x"),
}
# Families, one panel each: fourteen lines in one would be none.
FAMILIES = {
    "pairwise and LambdaRank": (
        "ranknet",
        "binranknet",
        "lambdarank-p@k",
        "lambdarank-arpbk",
        "lambdarank-ndcg",
    ),
    "LambdaLoss": ("lambdaloss-ndcg", "lambdaloss-bndcg", "lambdaloss-ex static"),
    "LambdaGap": ("lambdagap-s", "lambdagap-x", *HYBRIDS),
}
NAMES = tuple(name for names in FAMILIES.values() for name in names)
CUTOFFS = (5, 10, 15)
MUS = (0.1, 0.3, 1.0, 3.0, 10.0)
SHORT = 0.1  # of the trees: effective pairs settle early


def run_of(name: str, k: int = K, mu: float = 1.0) -> Trial:
    """The ranker for an objective; at other cutoffs than K for its pairs only, so a short one."""
    if mu != 1.0:
        return Trial(rf.objective(name, k=k, mu=mu))
    objective = at_cutoff(name, k)
    return Trial(objective, part=SHORT if objective.arguments.get("k", K) != K else 1.0)


def title(name: str) -> str:
    """The name of an objective as the paper writes it."""
    return at_cutoff(name, K).name


def wants() -> list[Want]:
    """All objectives at one cutoff."""
    return [Want(run_of(name), ("pairs",)) for name in NAMES]


def wants_cutoffs() -> list[Want]:
    """All objectives at several cutoffs."""
    return [Want(run_of(name, k), ("pairs",)) for name in NAMES for k in CUTOFFS]


def wants_mus() -> list[Want]:
    """The hybrids at several mu, and their parts."""
    parts = [Want(run_of(name), ("pairs",)) for names in HYBRIDS.values() for name in names]
    return parts + [Want(run_of(name, mu=mu)) for name in HYBRIDS for mu in MUS]


def panels_by_family(study: Study, draw: Any) -> list[Any]:
    """Axes side by side; `draw` gets the trained rankers of a family, by name, and its axes."""
    with style():
        axes = panels(1, len(FAMILIES), (7.0, 2.9), share_y=True)
        for one, (family, names) in zip(axes, FAMILIES.items(), strict=True):
            draw({title(name): study.train(run_of(name)) for name in names}, one)
            for line, name in zip(one.get_lines(), names, strict=True):
                line.set(**look(NAMES.index(name)))  # the same in all panels and pictures
            legend_above(one)
            one.set_xlabel(f"trees ({family})")
            if one is not axes[0]:
                one.set_ylabel("")
    return axes
