"""Pictures of Adalia et al. 2025 on pairs: weights, candidates, and how many push."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import rankforce as rf
from rankforce.forces.named import at_cutoff
from rankforce.show.plots.style import draw_lines, legend_above, panels, style
from rankforce.show.plots.style import percent as percent_axis
from rankforce.studies.adalia_runs import (
    BASIC,
    CUTOFFS,
    NAMES,
    panels_by_family,
    run_of,
    title,
)
from rankforce.studies.figure import Drawn, Finding, percent

if TYPE_CHECKING:
    from rankforce.studies.study import Study


def draw_weights(study: Study) -> Drawn:
    """Figure 1."""
    # Rows: without gaps, and the gap weights S and X by themselves and in hybrids.
    gaps = [f"lambdagap-{kind}{plus}" for kind in "sx" for plus in ("", "+", "++")]
    names = ["binranknet", "lambdarank-p@k", "lambdarank-arpbk", *gaps]
    with style():
        axes = panels(3, 3, (6.6, 6.0))
        for one, name in zip(axes, names, strict=True):
            rf.plots.rank_weights(name, n=10, k=3, ax=one)
            one.set_title(title(name))
            if one not in axes[6:]:
                one.set_xlabel("")
            if one not in axes[::3]:
                one.set_ylabel("")
    made: list[Any] = [at_cutoff(name, 3) for name in BASIC]
    kinds = {one.name: len(np.unique(one.rank_weights(10))) for one in made}
    graded = [name for name, count in kinds.items() if count > 2]
    claim = "of the five basic weights all but that of LambdaRank-ARPbk only choose pairs"
    seen = f"more than one weight: {', '.join(graded) or 'none'}"
    return Drawn(axes[0], [Finding(claim, seen, graded == ["LambdaRank-ARPbk"])])


def draw_candidates(study: Study) -> Drawn:
    """Figure 2."""
    n, cutoffs = 10, np.arange(1, 10)
    axes = rf.plots.candidate_pairs(BASIC, n=n)
    made: Any = at_cutoff
    counts = {
        name: np.array([made(name, int(k)).candidate_pairs(n) for k in cutoffs]) for name in BASIC
    }
    full, beyond, gap, cut, single = counts.values()
    is_ordered = (
        (full >= beyond) & (beyond >= np.maximum(cut, gap)) & (np.minimum(cut, gap) >= single)
    )
    more = cutoffs[gap > cut]
    return Drawn(
        axes,
        [
            Finding(
                "BinRankNet has the most pairs, then LambdaRank-ARPbk; LambdaGap-S the fewest",
                f"so at {int(is_ordered.sum())} of {len(cutoffs)} cutoffs",
                bool(is_ordered.all()),
            ),
            Finding(
                "LambdaGap-X has more pairs than LambdaRank-P@k when k < (n + 1) / 3",
                f"more at k = {', '.join(map(str, more.tolist()))} of n = {n}",
                more.tolist() == [k for k in cutoffs.tolist() if k < (n + 1) / 3],
            ),
        ],
    )


def draw_pairs(study: Study) -> Drawn:
    """Figure A1."""

    def draw(trained: dict[str, Any], one: Any) -> None:
        rf.plots.effective_pairs({name: t.curves for name, t in trained.items()}, ax=one)

    axes = panels_by_family(study, draw)
    curves = {name: study.train(run_of(name)).curves for name in NAMES}
    shares = {name: one.series["pairs"]["relative"] for name, one in curves.items()}
    moves = {
        name: float(np.ptp(share[len(share) // 5 :]))
        for name, share in shares.items()
        if "-ex" not in name
    }
    # The same against the number itself: few pairs can move far by little.
    own = {name: move / max(shares[name][-1], 1e-12) for name, move in moves.items()}
    farthest = max(moves, key=lambda name: moves[name])
    extended = shares["lambdaloss-ex static"]
    return Drawn(
        axes[0],
        [
            Finding(
                "the number of effective pairs settles early, as seen on the scale of the picture",
                f"after a fifth of the trees it moves by {100 * moves[farthest]:.1f} points or "
                f"less ({title(farthest)} the most), or {percent(max(own.values()))} of itself "
                f"({title(max(own, key=lambda name: own[name]))})",
                moves[farthest] < 0.02,
            ),
            Finding(
                "that of Lambda-eX starts high and falls",
                f"largest {percent(max(extended))}, at the end {percent(extended[-1])}",
                max(extended[: max(len(extended) // 5, 1)]) > extended[-1],
            ),
        ],
    )


def draw_largest(study: Study) -> Drawn:
    """Figure 5."""
    largest: dict[str, list[float]] = {}
    for name in NAMES:
        found = [study.train(run_of(name, k)).curves for k in CUTOFFS]
        largest[name] = [max(one.series["pairs"]["relative"]) for one in found]
    with style():
        axes = panels(1, 1, (4.6, 3.6))[0]
        draw_lines(axes, {title(name): (CUTOFFS, values) for name, values in largest.items()})
        axes.set_yscale("log")
        axes.set_xticks(CUTOFFS)
        axes.set_xlabel("cutoff $k$")
        axes.set_ylabel("effective pairs, largest (% of all)")
        percent_axis(axes.yaxis)
        legend_above(axes)
    order = sorted(NAMES, key=lambda name: -max(largest[name]))
    claim = (
        "RankNet has the most effective pairs, then BinRankNet (on MSLR-WEB30K); LambdaGap-S the "
        "fewest"
    )
    seen = f"most {title(order[0])}, then {title(order[1])}; fewest {title(order[-1])}"
    holds = order[:2] == ["ranknet", "binranknet"] and order[-1] == "lambdagap-s"
    return Drawn(axes, [Finding(claim, seen, holds)])
