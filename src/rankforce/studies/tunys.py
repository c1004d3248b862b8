"""The pictures of Tunys 2015 (slides): training at several rates, and why errors mislead."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf
from rankforce.show.plots.style import COLORS, panels, share_legend, style
from rankforce.studies.figure import Drawn, Finding, figure, percent, value_of
from rankforce.studies.sets import TRAIN, VALIDATION
from rankforce.studies.study import HISTORY, TOP, Study, Trial, Want
from rankforce.studies.svore import baseline, low_share

RATES = (0.1, 0.01)
SHRINKAGES = (1.0, 0.5, *RATES)
# Burges 2010: sixteen documents, two relevant ones, before and after some were moved.
DOCUMENTS, BEFORE, AFTER = 16, (1, 15), (4, 10)
GRADED = [3, 2, 3, 0, 1, 2]


def at_rate(rate: float) -> Trial:
    """The same ranker at a learning rate; the first is the one that other pictures have too."""
    return baseline() if rate == RATES[0] else baseline(learning_rate=rate)


def wants(study: Study) -> list[Want]:
    """The same ranker at both learning rates."""
    return [Want(at_rate(rate), ("contributions", "label_mix")) for rate in RATES]


def training_wants(study: Study) -> list[Want]:
    """The same ranker at each learning rate."""
    return [Want(at_rate(rate), (HISTORY,)) for rate in SHRINKAGES]


@figure(
    "tunys-training", "Tunys 2015, LambdaMART training at shrinkage 1.0 to 0.01", training_wants
)
def draw_training(study: Study) -> Drawn:
    """NDCG@{TOP} after each tree at four learning rates."""
    metric = f"ndcg@{TOP}"
    with style():
        axes = panels(2, 2, (7.0, 4.4), share_y=True)
        for one, rate in zip(axes, SHRINKAGES, strict=True):
            history = study.train(at_rate(rate)).history
            shown = {"training": {"": history[TRAIN]}, "validation": {"": history[VALIDATION]}}
            rf.plots.metric_curves(shown, metric=metric, ax=one)
            one.set_xlabel(f"trees (learning rate {rate:g})")
        for one in axes[1::2]:
            one.set_ylabel("")
        share_legend(axes)
    fast, slow = (study.history(at_rate(rate), TRAIN, metric) for rate in RATES)
    reached = next((tree for tree, value in enumerate(fast, 1) if value >= slow[-1]), len(fast))
    finding = Finding(
        "a tenth of the learning rate needs many more trees",
        f"the training NDCG@{TOP} of {len(slow)} trees at {RATES[1]:g} is reached by {reached} at "
        f"{RATES[0]:g}",
        reached < len(slow) / 2,
        is_of_paper=False,
    )
    return Drawn(axes[0], [finding])


def _draw_both(study: Study, draw: Any) -> list[Any]:
    with style():
        axes = panels(1, len(RATES), (7.0, 2.6), share_y=True)
        for one, rate in zip(axes, RATES, strict=True):
            draw(study.train(at_rate(rate)).curves, ax=one)
            one.set_xlabel(f"trees (learning rate {rate:g})")
        axes[1].set_ylabel("")
        share_legend(axes)
    return axes


@figure("tunys-contributions", "Tunys 2015, lambda contributions at 0.1 and 0.01", wants)
def draw_contributions(study: Study) -> Drawn:
    """Where the force on highly relevant documents comes from, at two learning rates."""
    axes = _draw_both(study, rf.plots.contributions)
    fast, slow = (
        low_share(study.train(at_rate(rate)).curves, "contributions")[-1] for rate in RATES
    )
    finding = Finding(
        "the share of the labels 0 and 1 falls as the ranker learns, later at the smaller rate",
        f"at the end {percent(fast)} at {RATES[0]:g}, {percent(slow)} at {RATES[1]:g}",
        slow > fast,
        is_of_paper=False,
    )
    return Drawn(axes[0], [finding])


@figure("tunys-labels", "Tunys 2015, label distribution at 0.1 and 0.01", wants)
def draw_labels(study: Study) -> Drawn:
    """Labels of the top {TOP} documents after each tree, at two learning rates."""
    axes = _draw_both(study, rf.plots.label_mix)
    fast, slow = (low_share(study.train(at_rate(rate)).curves, "label_mix") for rate in RATES)
    finding = Finding(
        f"the labels 0 and 1 leave the top {TOP}, later at the smaller rate",
        f"from {percent(fast[0])} to {percent(fast[-1])} at {RATES[0]:g}, from {percent(slow[0])} "
        f"to {percent(slow[-1])} at {RATES[1]:g}",
        fast[-1] < slow[-1] <= slow[0],
        is_of_paper=False,
    )
    return Drawn(axes[0], [finding])


@figure("ndcg-example", "NDCG as in Burges et al. 2005")
def draw_ndcg(study: Study) -> Drawn:
    """What each rank adds to the DCG of a list and of the ideal one."""
    grades = np.array(GRADED, dtype=np.float64)
    ideal = np.sort(grades)[::-1]
    scores = -np.arange(len(grades), dtype=np.float64)
    ranks = np.arange(1, len(grades) + 1)
    totals = {}
    with style():
        axes = panels(1, 1, (4.6, 2.7))[0]
        for number, (name, order) in enumerate({"this order": grades, "ideal": ideal}.items()):
            totals[name] = value_of("dcg", scores, order)
            # What each rank adds: DCG at this cutoff minus DCG at the one before.
            sums = [value_of(f"dcg@{k}", scores, order) for k in ranks]
            parts = np.diff([0.0, *sums])
            place = ranks + (number - 0.5) * 0.4
            how = {"color": COLORS[number], "hatch": "////" if number else None}
            label = f"{name}: DCG = {totals[name]:.3f}"
            axes.bar(place, parts, 0.36, label=label, edgecolor="white", linewidth=0.4, **how)
            for x, part, grade in zip(place, parts, order, strict=True):
                axes.text(x, part + 0.1, f"{part:.2f}", ha="center", fontsize=6.0)
                axes.text(x, -0.15, f"{grade:g}", ha="center", va="top", fontsize=6.5)
        value = value_of("ndcg", scores, grades)
        axes.set_xticks(ranks, [f"rank {rank}" for rank in ranks])
        axes.tick_params(axis="x", length=0, pad=12.0)
        axes.text(0.52, -0.15, "label", ha="right", va="top", fontsize=6.5)
        axes.set_xlim(0.5, len(ranks) + 0.5)
        axes.set_ylabel("gain × discount")
        axes.grid(False, axis="x")
        axes.set_title(f"NDCG = {value:.3f}", loc="right")
        axes.legend(frameon=False, loc="upper right")
    quotient = totals["this order"] / totals["ideal"]
    claim = "NDCG is the DCG of the list over that of the ideal list"
    seen = f"{totals['this order']:.3f} / {totals['ideal']:.3f} = {quotient:.3f}, NDCG {value:.3f}"
    return Drawn(axes, [Finding(claim, seen, abs(quotient - value) < 1e-12, False)])


def list_of(ranks: tuple[int, int]) -> tuple[list[float], list[int]]:
    """Scores and labels of a list with relevant documents at two ranks."""
    labels = [int(rank in ranks) for rank in range(1, DOCUMENTS + 1)]
    return [0.1 * (DOCUMENTS - rank) for rank in range(1, DOCUMENTS + 1)], labels


def count_errors(scores: list[float], labels: list[int]) -> int:
    """Pairs in the wrong order."""
    pairs = rf.objective("ranknet").pairs(scores, labels)
    values = np.asarray(scores)
    return int(np.count_nonzero(values[pairs.hi] < values[pairs.lo]))


@figure("pairwise-errors", "Burges 2010, as in Tunys 2015")
def draw_errors(study: Study) -> Drawn:
    """Two relevant documents (dark) before and after a move that mends two pairs and harms NDCG;
    arrows are the forces on them.
    """
    objectives = {"RankNet": rf.objective("ranknet"), "LambdaRank": rf.objective("lambdarank-ndcg")}
    errors, values = [], []
    with style():
        axes = panels(1, 2, (5.0, 3.6), share_y=True)
        for one, ranks in zip(axes, (BEFORE, AFTER), strict=True):
            scores, labels = list_of(ranks)
            rf.plots.forces(scores, labels, objectives, arrows="relevant", reach=2.5, ax=one)
            errors.append(count_errors(scores, labels))
            values.append(value_of("ndcg", scores, labels))
            one.set_ylim(DOCUMENTS + 0.6, -1.8)  # both lists at one height
            one.set_xlabel(f"{errors[-1]} pairwise errors, NDCG = {values[-1]:.3f}")
        axes[1].set_ylabel("")
    lam = [one.gradients(*list_of(AFTER))[0] for one in objectives.values()]
    upper, lower = (rank - 1 for rank in AFTER)
    shares = [one[upper] / (one[upper] + one[lower]) for one in lam]
    return Drawn(
        axes[0],
        [
            Finding(
                "the pairwise errors fall from 13 to 11, and NDCG falls too",
                f"{errors[0]} to {errors[1]}, NDCG {values[0]:.3f} to {values[1]:.3f}",
                errors == [13, 11] and values[1] < values[0],
            ),
            Finding(
                "the forces of RankNet grow with the errors, so the lower document gets more",
                f"{lam[0][lower]:.2f}, and {lam[0][upper]:.2f} the upper one",
                lam[0][lower] > lam[0][upper],
            ),
            Finding(
                "what one would like is the upper document pushed more than the lower one",
                f"LambdaRank gives them {lam[1][upper]:.2f} and {lam[1][lower]:.2f}, the upper one "
                f"{percent(shares[1])} of both against RankNet's {percent(shares[0])}",
                lam[1][upper] > lam[1][lower],
                is_of_paper=False,
            ),
        ],
    )
