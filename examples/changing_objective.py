"""An objective that changes while learning (Svore et al. 2011, section 6.2, Table 2, Figure 7).

    python examples/changing_objective.py                      # about eight minutes
    python examples/changing_objective.py --queries 200 --trees 60
    python examples/changing_objective.py --sizes 0.1,0.25,0.5,1 --out curves.png

Baselines are LambdaMART with the Newton step and with the gradient step (forces over their standard
deviation in each query). Against the latter stand mixes that move from it to a cost that pushes
near documents only (the sigmoid cost), linearly and exponentially, for NDCG and for NDCG@3. The
learning rate of each is chosen by NDCG@3 on a validation set, and so is the number of trees. The
last lines say whether the findings of the paper hold here. With --sizes, the same for shares of the
training queries, and with --out a picture of that.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rankforce as rf

CUTOFFS = (1, 3, 5, 10)
RATES = (0.1, 0.2, 0.5)
NEWTON, GRADIENT = "Newton step", "gradient step"
LINEAR, LINEAR_3 = "moving to sigmoid, linear", "moving to sigmoid@3, linear"
USUAL = rf.objective("lambdarank-ndcg", norm="std")
NEAR = rf.objective("lambdarank-ndcg", cost="sigmoid", norm="std")
NEAR_3 = rf.objective("lambdarank(ndcg)", k=3, cost="sigmoid", norm="std")


def contenders(trees: int) -> dict[str, tuple[Any, str]]:
    """Objective and step by name; the schedules reach 1 towards the last tree."""
    linear = {"schedule": "linear", "start": 0.1, "rate": 0.9 / trees}
    exponential = {"schedule": "exponential", "start": 0.1, "rate": float(trees)}
    return {
        NEWTON: (rf.objective("lambdarank-ndcg"), "newton"),
        GRADIENT: (USUAL, "gradient"),
        LINEAR: (rf.scheduled(USUAL, NEAR, **linear), "gradient"),
        "moving to sigmoid, exponential": (rf.scheduled(USUAL, NEAR, **exponential), "gradient"),
        LINEAR_3: (rf.scheduled(USUAL, NEAR_3, **linear), "gradient"),
    }


def best_ranker(
    objective: Any, step: str, train: rf.RankingData, valid: rf.RankingData, trees: int
) -> rf.Ranker:
    """The learning rate and the number of trees with the best NDCG@3 on the validation set."""
    rankers = [
        rf.Ranker(
            objective,
            step=step,
            learning_rate=rate,
            n_estimators=trees,
            num_leaves=30,
            progress=False,
        ).fit(train, eval_set=[valid], eval_metric="ndcg@3", early_stopping_rounds=trees)
        for rate in RATES
    ]
    return max(rankers, key=lambda ranker: ranker.score(valid, metric="ndcg@3"))


def compare(
    train: rf.RankingData, valid: rf.RankingData, test: rf.RankingData, trees: int
) -> dict[Any, rf.Comparison]:
    scores = {}
    for name, (objective, step) in contenders(trees).items():
        ranker = best_ranker(objective, step, train, valid, trees)
        print(f"{name}: learning rate {ranker.learning_rate}, {ranker.best_iteration_} trees")
        scores[name] = ranker.predict(test)
    return {
        ("NDCG", f"@{k}"): rf.compare(
            scores, test, metric=f"ndcg@{k}", baseline=GRADIENT, test="t", correction="none"
        )
        for k in CUTOFFS
    }


def findings(found: rf.Comparison) -> list[str]:
    """What the paper reports, and whether it came out."""
    lines = []
    for name, is_expected in ((NEWTON, False), (LINEAR, True), (LINEAR_3, False)):
        contrast = found.contrasts[name]
        seen = "better" if contrast.is_better else "worse"
        sure = "" if contrast.p_value < 0.05 else "not significantly "
        holds = "as" if contrast.is_better is is_expected else "unlike"
        lines.append(
            f"{name} is {sure}{seen} than the {GRADIENT} at {found.metric.name} "
            f"(p = {contrast.p_value:.2g}), {holds} in the paper"
        )
    return lines


def draw(sizes: list[int], curves: dict[str, list[float]], path: Path) -> None:
    """Training-size curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, values in curves.items():
        axes.plot(sizes, values, marker="o", label=name)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training queries")
    axes.set_ylabel("NDCG@3 on the test set")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=800, help="of each of the three sets")
    parser.add_argument("--trees", type=int, default=300, help="at most")
    parser.add_argument("--sizes", default="1", help="shares of the training queries, with commas")
    parser.add_argument("--out", type=Path, help="picture of the curves over --sizes")
    options = parser.parse_args()
    train, valid, test = (
        rf.make_data("mslr", queries=options.queries, seed=seed) for seed in range(3)
    )
    sizes: list[int] = []
    curves: dict[str, list[float]] = {}
    for share in map(float, options.sizes.split(",")):
        sizes.append(max(round(share * len(train.sizes)), 1))
        part = train.take_queries(np.arange(sizes[-1]))
        found = compare(part, valid, test, options.trees)
        print("\n" + rf.results(found, caption=f"{sizes[-1]} training queries") + "\n")
        at_3 = found["NDCG", "@3"]
        print("\n".join(findings(at_3)) + "\n")
        for name, mean in at_3.means.items():
            curves.setdefault(name, []).append(mean)
    if options.out:
        draw(sizes, curves, options.out)
        print(options.out)


if __name__ == "__main__":
    main()
