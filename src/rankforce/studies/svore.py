"""The pictures of Svore et al. 2011: two label sources, and what moves the top three."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf
from rankforce.show.plots.lists import draw_bars
from rankforce.show.plots.style import (
    DOWN,
    draw_lines,
    legend_above,
    panels,
    share_legend,
    style,
)
from rankforce.show.plots.style import percent as percent_axis
from rankforce.studies.figure import Drawn, Finding, figure, percent, value_of
from rankforce.studies.sets import TRAIN, VALIDATION
from rankforce.studies.study import AGAINST, HISTORY, TOP, Study, Trial, Want

PAPER = "Svore et al. 2011, Figure"
# A synthetic query, as it is ranked: two relevant documents, the lower one is clicked more.
GRADES = [0, 2, 2, 0, 0, 0]
COSTS: tuple[dict[str, Any], ...] = ({}, {"cost": "sigmoid"})
CLICKS = [0.05, 0.2, 0.6, 0.1, 0.0, 0.0]


def baseline(**settings: Any) -> Trial:
    """LambdaMART for NDCG without truncation."""
    return Trial(rf.objective("lambdarank-ndcg"), settings=tuple(settings.items()))


def wants(study: Study) -> list[Want]:
    """The baseline, with what pictures show of it whatever labels there are."""
    return [Want(baseline(), ("contributions", "label_mix", "rank_changes", HISTORY))]


def click_wants(study: Study) -> list[Want]:
    """The baseline, compared with what clicks want."""
    return [Want(baseline(), tuple(AGAINST))]


@figure("svore-1", f"{PAPER} 1")
def draw_graded(study: Study) -> Drawn:
    """A list before and after two relevant documents (dark) change places: only clicks tell them
    apart.
    """
    swapped = [0, 2, 1, *range(3, len(GRADES))]
    names = {f"NDCG@{TOP}": f"ndcg@{TOP}", f"CNDCG@{TOP}": f"cndcg@{TOP}(source=clicks)"}
    values: dict[str, list[float]] = {name: [] for name in names}
    scores = -np.arange(len(GRADES), dtype=np.float64)
    with style():
        axes = panels(1, 2, (3.4, 2.6))
        for one, order in zip(axes, (list(range(len(GRADES))), swapped), strict=True):
            labels = {
                "grade": np.array([GRADES[row] for row in order], dtype=np.float64),
                "clicks": np.array([CLICKS[row] for row in order]),
            }
            for name, metric in names.items():
                values[name].append(value_of(metric, scores, labels))
            texts = [f"clicks {click:g}" for click in labels["clicks"]]
            title = "\n".join(f"{name} = {value[-1]:.3f}" for name, value in values.items())
            draw_bars(one, labels["grade"], texts=texts, title=title)
        axes[0].set_ylabel("rank")
        axes[0].annotate(
            "",
            (1.02, 2.0),
            (1.02, 3.0),
            arrowprops={"arrowstyle": "<|-|>", "color": DOWN, "connectionstyle": "arc3,rad=0.6"},
            annotation_clip=False,
        )
    grades, clicks = values.values()
    finding = Finding(
        f"swapping two documents of one grade leaves NDCG@{TOP} and raises CNDCG@{TOP}",
        f"NDCG@{TOP} {grades[0]:.3f} and {grades[1]:.3f}, "
        f"CNDCG@{TOP} {clicks[0]:.3f} and {clicks[1]:.3f}",
        grades[0] == grades[1] and clicks[1] > clicks[0],
    )
    return Drawn(axes[0], [finding])


@figure("svore-2", f"{PAPER} 2", click_wants, needs="clicks")
def draw_agreement(study: Study) -> Drawn:
    """Share of documents that clicks push the same way as grades do, or not at all, by forces under
    the norm of training. Over all pairs a document that was never shown has 0 clicks; within a
    grade only clicked ones push.
    """
    curves = study.train(baseline()).agreement
    axes = rf.plots.agreement(curves)
    # Without the first trees, as the paper says.
    every, one_grade = (
        float(np.mean(found.series["agreement"]["share"][1:])) for found in curves.values()
    )
    findings = [
        Finding(
            "about 70 % of the forces of grades and clicks agree",
            f"{percent(every)}",
            0.6 <= every <= 0.8,
        ),
        Finding(
            "almost 15 points more if clicks order clicked documents of one grade only",
            f"{100 * (one_grade - every):+.1f} points",
            one_grade - every >= 0.1,
        ),
    ]
    return Drawn(axes, findings)


def low_share(curves: Any, kind: str) -> list[float]:
    """Share of the labels 0 and 1 in a series, after each recorded tree."""
    series = curves.series[kind]
    shares = np.sum([series.get(label, [0.0]) for label in ("0", "1")], axis=0)
    return [float(share) for share in shares]


@figure("svore-3a", f"{PAPER} 3(a)", wants)
def draw_contributions(study: Study) -> Drawn:
    """Where the force on highly relevant documents comes from, by the label of the other one: sums
    of forces with their signs over the sum of all, without a norm. The mean of such ratios over
    documents, as equation 11 is printed, is unstable: some documents have a sum near 0.
    """
    curves = study.train(baseline()).curves
    axes = rf.plots.contributions(curves)
    share = float(np.mean(low_share(curves, "contributions")))
    finding = Finding(
        "documents of the labels 0 and 1 make more than 70 % of the force on highly relevant ones",
        f"{percent(share)}, mean over the trees",
        share > 0.7,
    )
    return Drawn(axes, [finding])


@figure("svore-3b", f"{PAPER} 3(b)", wants)
def draw_label_mix(study: Study) -> Drawn:
    """Labels of the top {TOP} documents of the training queries after each tree."""
    curves = study.train(baseline()).curves
    axes = rf.plots.label_mix(curves)
    last = curves.last["label_mix"]
    high = last.get("3", 0.0) + last.get("4", 0.0)
    finding = Finding(
        f"of the top {TOP}, under 5 % have label 0, under 20 % label 1, over 40 % label 3 or 4",
        f"{percent(last.get('0', 0.0))}, {percent(last.get('1', 0.0))} and {percent(high)}",
        last.get("0", 0.0) < 0.05 and last.get("1", 0.0) < 0.2 and high > 0.4,
    )
    return Drawn(axes, [finding])


@figure("svore-4", f"{PAPER} 4", wants)
def draw_changes(study: Study) -> Drawn:
    """NDCG@{TOP}, and the share of positions whose document each tree changes."""
    trained = study.train(baseline())
    with style():
        axes = panels(2, 1, (3.4, 3.6), share_x=True)
        history = {
            name: study.history(baseline(), part, f"ndcg@{TOP}")
            for name, part in (("training", TRAIN), ("validation", VALIDATION))
        }
        trees = range(1, len(history["training"]) + 1)
        draw_lines(axes[0], {name: (trees, values) for name, values in history.items()})
        axes[0].set_ylabel(f"NDCG@{TOP}")
        legend_above(axes[0])
        rf.plots.rank_changes(trained.curves, ax=axes[1])
    changes = trained.curves.series["rank_changes"]
    half = len(changes["top"]) // 2
    top, overall = (float(np.mean(changes[key][half:])) for key in ("top", "overall"))
    finding = Finding(
        f"late in training under 3 % of the top {TOP} change, and 5 to 15 % of the whole list",
        f"{percent(top)} and {percent(overall)} with each tree of the second half",
        top < 0.03 and 0.05 <= overall <= 0.15,
    )
    return Drawn(axes[0], [finding])


@figure("svore-5", f"{PAPER} 5")
def draw_costs(study: Study) -> Drawn:
    """Force of a pair of weight 1 under the logistic and the sigmoid cost."""
    axes = rf.plots.pair_costs()
    logistic, sigmoid = (line.get_ydata() for line in axes.get_lines()[:2])
    finding = Finding(
        "for misranked pairs far apart one derivative tends to 1 and the other to 0",
        f"{logistic[0]:.3f} and {sigmoid[0]:.3f} at a difference of -6",
        logistic[0] > 0.99 and sigmoid[0] < 0.01,
    )
    return Drawn(axes, [finding])


@figure("svore-6", f"{PAPER} 6")
def draw_schedules(study: Study) -> Drawn:
    """Weight of the second objective while learning, at three rates of each schedule."""
    axes = rf.plots.schedules(trees=500)
    reached = {
        line.get_label(): int(np.argmax(line.get_ydata() >= 1.0))
        for line in axes.get_lines()
        if (line.get_ydata() >= 1.0).any()
    }
    seen = ", ".join(f"{name} after {trees} trees" for name, trees in reached.items())
    flat = [
        line
        for line in axes.get_lines()
        if line.get_label().startswith("exp") and line.get_ydata()[9] < 0.1
    ]
    finding = Finding(
        "exponential weights begin flat and then rise fast, linear ones rise evenly",
        f"{len(flat)} of 3 exponential ones are below 0.1 at tree 10; 1 is reached by {seen}",
        len(flat) == 3,
        is_of_paper=False,
    )
    return Drawn(axes, [finding])


SHARES = (0.1, 0.25, 0.5, 1.0)  # of the training queries
JUDGED = (1, TOP, 10)


def contenders() -> dict[str, Trial]:
    """LambdaMART with both steps, and the gradient step with an objective that changes."""
    usual, near = (rf.objective("lambdarank-ndcg", norm="std", **cost) for cost in COSTS)
    step = (("step", "gradient"),)
    linear = rf.scheduled(usual, near, schedule="linear", start=0.1, rate=0.01)
    exponential = rf.scheduled(usual, near, schedule="exponential", start=0.1, rate=100.0)
    return {
        "Newton step": Trial(rf.objective("lambdarank-ndcg", norm="none")),
        "gradient step": Trial(usual, settings=step),
        "moving to sigmoid, linear": Trial(linear, settings=step),
        "moving to sigmoid, exponential": Trial(exponential, settings=step),
    }


def share_wants(study: Study) -> list[Want]:
    """Each of them on shares of the training queries."""
    return [Want(run._replace(share=share)) for run in contenders().values() for share in SHARES]


@figure("svore-7", f"{PAPER} 7", share_wants)
def draw_shares(study: Study) -> Drawn:
    """NDCG of the test queries by the share of the training queries, with the trees that are best
    by NDCG@{TOP} on the validation queries.
    """
    found = {
        name: [study.train(run._replace(share=share)).values for share in SHARES]
        for name, run in contenders().items()
    }
    means = {
        k: {
            name: [float(np.nanmean(one[f"NDCG@{k}"])) for one in values]
            for name, values in found.items()
        }
        for k in JUDGED
    }
    with style():
        axes = panels(1, len(JUDGED), (7.0, 2.6))
        for one, (k, lines) in zip(axes, means.items(), strict=True):
            draw_lines(one, {name: (SHARES, values) for name, values in lines.items()})
            one.set_ylabel(f"NDCG@{k}, test queries")
            one.set_xlabel("training queries (%)")
            percent_axis(one.xaxis)
        share_legend(axes)
    newton, gradient, *moving = means[TOP].values()
    wins = [sum(a > b for a, b in zip(one, gradient, strict=True)) for one in moving]
    steps = sum(a > b for a, b in zip(gradient, newton, strict=True))
    return Drawn(
        axes[0],
        [
            Finding(
                "an objective that changes beats the gradient step at every size",
                f"NDCG@{TOP} is higher at {wins[0]} (linear) and {wins[1]} (exponential) of "
                f"{len(SHARES)} sizes",
                min(wins) == len(SHARES),
            ),
            Finding(
                "the gradient step beats the Newton step at every size",
                f"NDCG@{TOP} is higher at {steps} of {len(SHARES)} sizes",
                steps == len(SHARES),
            ),
        ],
    )
