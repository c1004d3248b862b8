"""The pictures of Adalia et al. 2025: which pairs push for P@k, and how well."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf
from rankforce.forces.named import at_cutoff
from rankforce.show.plots.style import COLORS, draw_lines, legend_above, look, panels, style
from rankforce.show.plots.style import percent as percent_axis
from rankforce.studies.figure import Drawn, Finding, figure, percent
from rankforce.studies.sets import TRAIN, VALIDATION
from rankforce.studies.study import HISTORY, K, Study, Trial, Want

PAPER = "Adalia et al. 2025, Figure"
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
NDCG_BASED = ("lambdarank-ndcg", "lambdaloss-ndcg", "lambdaloss-ex static")
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


def wants(study: Study) -> list[Want]:
    """All objectives at one cutoff."""
    return [Want(run_of(name), ("pairs", HISTORY)) for name in NAMES]


def wants_cutoffs(study: Study) -> list[Want]:
    """All objectives at several cutoffs."""
    return [Want(run_of(name, k), ("pairs",)) for name in NAMES for k in CUTOFFS]


def wants_mus(study: Study) -> list[Want]:
    """The hybrids at several mu, and their parts."""
    parts = [Want(run_of(name)) for names in HYBRIDS.values() for name in names]
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


@figure("adalia-1", f"{PAPER} 1")
def draw_weights(study: Study) -> Drawn:
    """Weights of rank pairs of ten documents at k = 3; hatched gray pairs are left out."""
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


@figure("adalia-2", f"{PAPER} 2")
def draw_candidates(study: Study) -> Drawn:
    """Number of pairs that an objective has to look at, by k, for ten documents."""
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


def _draw_precision(study: Study, part: str) -> list[Any]:
    skip = min(10, study.rules.trees // 3)

    def draw(trained: dict[str, Any], one: Any) -> None:
        histories = {name: found.history for name, found in trained.items()}
        rf.plots.metric_curves(histories, metric=f"p@{K}", data=part, skip=skip, ax=one)

    axes = panels_by_family(study, draw)
    axes[0].set_ylabel(f"P@{K}, {part} queries")
    return axes


@figure("adalia-3", f"{PAPER} 3", wants)
def draw_validation(study: Study) -> Drawn:
    """P@{K} on the validation queries after each tree, without the first ones."""
    axes = _draw_precision(study, VALIDATION)
    values = {name: study.history(run_of(name), VALIDATION, f"p@{K}") for name in NAMES}
    last = {name: curve[-1] for name, curve in values.items()}
    falls = {
        name: max(values[name]) - last[name]
        for name in ("lambdagap-s", "lambdagap-s+", "lambdagap-s++")
    }
    gaps = {name: study.history(run_of(name), TRAIN, f"p@{K}")[-1] - last[name] for name in falls}
    seen, apart = (
        ", ".join(f"{title(name)} {value:.3f}" for name, value in found.items())
        for found in (falls, gaps)
    )
    best = max(last, key=lambda name: last[name])
    ndcg = {name: last[name] for name in NDCG_BASED}
    others = [value for name, value in last.items() if name not in ndcg]
    shown = ", ".join(f"{title(name)} {value:.3f}" for name, value in ndcg.items())
    return Drawn(
        axes[0],
        [
            Finding(
                "LambdaGap-S declines on the validation queries, its hybrids S+ and S++ do not",
                f"P@{K} lost from the best to the last tree: {seen}",
                falls["lambdagap-s"] > 2.0 * max(falls["lambdagap-s+"], falls["lambdagap-s++"]),
            ),
            Finding(
                "LambdaGap-S does well on the training queries and not beyond, S+ and S++ less so",
                f"P@{K} lost from training to validation queries: {apart}",
                gaps["lambdagap-s"] == max(gaps.values()),
            ),
            Finding(
                "objectives for NDCG do badly at P@k",
                f"{shown}; the mean of the others is {sum(others) / len(others):.3f}, the best is "
                f"{title(best)} with {last[best]:.3f}",
                max(ndcg.values()) < sum(others) / len(others),
            ),
        ],
    )


@figure("adalia-4", f"{PAPER} 4", wants)
def draw_training(study: Study) -> Drawn:
    """P@{K} on the training queries after each tree, without the first ones."""
    axes = _draw_precision(study, TRAIN)
    last = {name: study.history(run_of(name), TRAIN, f"p@{K}")[-1] for name in NAMES}
    lowest = sorted(last, key=lambda name: last[name])[:3]
    claim = "LambdaRank-NDCG struggles to improve P@k even on the training queries"
    seen = f"lowest are {', '.join(f'{title(name)} {last[name]:.3f}' for name in lowest)}"
    return Drawn(axes[0], [Finding(claim, seen, "lambdarank-ndcg" in lowest)])


@figure("adalia-5", f"{PAPER} 5", wants_cutoffs)
def draw_largest(study: Study) -> Drawn:
    """Largest number of effective pairs while learning, by k, of all n (n - 1) / 2 pairs; at
    k other than {K} in the first tenth of the trees.
    """
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


@figure("adalia-6", f"{PAPER} 6", wants_mus)
def draw_mus(study: Study) -> Drawn:
    """P@{K} on the test queries by μ, with the trees that are best on the validation queries;
    horizontal lines are the two parts of a hybrid.
    """

    def value(run: Trial) -> float:
        return float(np.mean(study.train(run).values[f"P@{K}"]))

    spreads, wins = {}, 0
    with style():
        axes = panels(1, len(HYBRIDS), (7.0, 2.6), share_y=True)
        for number, (one, (name, parts)) in enumerate(zip(axes, HYBRIDS.items(), strict=True)):
            values = [value(run_of(name, mu=mu)) for mu in MUS]
            one.plot(MUS, values, label=title(name), **look(number))
            bases = {part: value(run_of(part)) for part in parts}
            for (part, base), dash in zip(bases.items(), ("--", ":"), strict=True):
                one.axhline(base, color=COLORS[4], linewidth=0.9, linestyle=dash, label=title(part))
            one.set_xscale("log")
            one.set_xticks(MUS, [f"{mu:g}" for mu in MUS])
            one.minorticks_off()
            one.set_xlabel("$\\mu$")
            legend_above(one)
            spreads[title(name)] = max(values) - min(values)
            # Each setting counts: the best of five would win by luck.
            wins += sum(one_value > max(bases.values()) for one_value in values)
        axes[0].set_ylabel(f"P@{K}, test queries")
    widest = max(spreads, key=lambda name: spreads[name])
    return Drawn(
        axes[0],
        [
            Finding(
                "performance depends little on μ",
                f"over μ it varies by {spreads[widest]:.3f} at most ({widest})",
                spreads[widest] < 0.02,
            ),
            Finding(
                "most hybrids at most μ are better than both of their parts",
                f"{wins} of {len(HYBRIDS) * len(MUS)} are",
                wins > len(HYBRIDS) * len(MUS) / 2,
            ),
        ],
    )


@figure("adalia-a1", f"{PAPER} A1", wants)
def draw_pairs(study: Study) -> Drawn:
    """Effective pairs after each tree, of all n (n - 1) / 2 pairs, mean over the queries."""

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
