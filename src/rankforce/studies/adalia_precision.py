"""Pictures of Adalia et al. 2025 on P@k: while learning, and by mu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rankforce as rf
from rankforce.show.plots.style import COLORS, legend_above, look, panels, style
from rankforce.studies.adalia_runs import HYBRIDS, MUS, NAMES, panels_by_family, run_of, title
from rankforce.studies.figure import Drawn, Finding
from rankforce.studies.study import TEST, TRAIN, VALIDATION, K, Trial

if TYPE_CHECKING:
    from rankforce.studies.study import Study

NDCG_BASED = ("lambdarank-ndcg", "lambdaloss-ndcg", "lambdaloss-ex static")


def _draw_precision(study: Study, part: str) -> list[Any]:
    skip = min(10, study.trees // 3)

    def draw(trained: dict[str, Any], one: Any) -> None:
        rankers = {name: found.ranker for name, found in trained.items()}
        rf.plots.metric_curves(rankers, metric=f"p@{K}", data=part, skip=skip, ax=one)

    axes = panels_by_family(study, draw)
    axes[0].set_ylabel(f"P@{K}, {part} queries")
    return axes


def draw_validation(study: Study) -> Drawn:
    """Figure 3."""
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


def draw_training(study: Study) -> Drawn:
    """Figure 4."""
    axes = _draw_precision(study, TRAIN)
    last = {name: study.history(run_of(name), TRAIN, f"p@{K}")[-1] for name in NAMES}
    lowest = sorted(last, key=lambda name: last[name])[:3]
    claim = "LambdaRank-NDCG struggles to improve P@k even on the training queries"
    seen = f"lowest are {', '.join(f'{title(name)} {last[name]:.3f}' for name in lowest)}"
    return Drawn(axes[0], [Finding(claim, seen, "lambdarank-ndcg" in lowest)])


def draw_mus(study: Study) -> Drawn:
    """Figure 6."""
    test = study.data("mslr", TEST)

    def value(run: Trial) -> float:
        return float(study.train(run).ranker.score(test, metric=f"p@{K}"))

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
