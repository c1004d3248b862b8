"""The pictures of Svore et al. 2011: two label sources, and what moves the top three."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf
from rankforce.show.plots.lists import draw_bars
from rankforce.show.plots.style import DOWN, draw_lines, legend_above, panels, style
from rankforce.studies.study import (
    AGAINST,
    TOP,
    TRAIN,
    VALIDATION,
    Drawn,
    Finding,
    Study,
    Trial,
    Want,
    figure,
    percent,
    value_of,
)

PAPER = "Svore et al. 2011, Figure"
# A synthetic query, as it is ranked: two relevant documents, the lower one is clicked more.
GRADES = [0, 2, 2, 0, 0, 0]
CLICKS = [0.05, 0.2, 0.6, 0.1, 0.0, 0.0]


def baseline(learning_rate: float = 0.1) -> Trial:
    """LambdaMART for NDCG without truncation."""
    return Trial(rf.objective("lambdarank-ndcg"), learning_rate=learning_rate)


def wants() -> list[Want]:
    """The baseline, with all that the pictures show of it."""
    records = ("contributions", "label_mix", "rank_changes", *AGAINST)
    return [Want(baseline(), records)]


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


@figure("svore-2", f"{PAPER} 2", wants)
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
