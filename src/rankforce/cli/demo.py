"""Train several objectives on a synthetic set, and see what the objective changes.

All rankers have the same trees; only what pushes the documents differs. The set has the lengths
of lists and the label mix of MSLR-WEB30K; quality is that on queries not seen in training. With
--report, a page shows the same rankers: their curves, diagnostics, queries and forces.

With --forces, the forces of every objective on the example of Marcuzzi et al. 2023, Table 1: five
documents, best score first, where a good one (grade 1) stands above the best (grade 2). An arrow
shows where an objective pushes each document, and how hard. Where the best document gets less push
than the good one above it, the gradients are incoherent.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankforce.cli.files import add_option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXAMPLES = """examples:
  rankforce demo
  rankforce demo -k 10 --queries 1000 --trees 200
  rankforce demo --report demo.html
  rankforce demo --forces
"""

OBJECTIVES = (
    "lambdarank-ndcg",
    "lambdamart-ex static",
    "ranknet",
    "lambdarank(map)",
    "lambdarank-p@k",
    "lambdagap-x+",
)

SCORES = (0.04, 0.03, 0.02, 0.01, 0.00)
GRADES = (1, 2, 0, 0, 0)
WIDTH = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("-k", "--k", type=int, default=5, help="cutoff (default %(default)s)")
    add_option(parser, "--queries", 300, "to train on")
    add_option(parser, "--trees", 60, "of a ranker")
    parser.add_argument("--report", metavar="FILE", help="write a page about the rankers, too")
    parser.add_argument("--forces", action="store_true", help="draw forces instead of training")


def run(options: argparse.Namespace) -> None:
    """Train, or draw."""
    if options.forces:
        print_forces()
    else:
        print_training(options.k, options.queries, options.trees, options.report)


def print_training(k: int, queries: int, trees: int, report: str | None) -> None:
    """One line for each objective, with stars where it is better than the first."""
    import rankforce as rf

    train = rf.make_data("mslr", queries=queries, seed=0)
    test = rf.make_data("mslr", queries=queries, seed=1)
    print(f"train {train}\ntest  {test}\n{trees} trees each, k = {k}\n")
    scores, rankers = {}, {}
    for name in OBJECTIVES:
        title = rf.objective(name, k=k).name
        print(f"training {title}", flush=True)
        ranker = rf.Ranker(name, k=k, n_estimators=trees, progress=False)
        rankers[title] = ranker.fit(train, callbacks=[rf.Recorder()] if report else [])
        scores[title] = ranker.predict(test)
    found = {}
    for name in (f"ndcg@{k}", f"p@{k}", "map", "mrr", f"arpb@{k}"):
        metric = rf.metric(name)
        arrow = "" if metric.higher_is_better else ", lower is better"
        found[metric.name + arrow] = rf.compare(scores, test, metric=metric)
    print("\n" + rf.results(found, digits=4, percent=False))
    if report:
        page = rf.write_report(rankers, test, out=report, metric=f"ndcg@{k}")
        print(f"\n{page}: the same as a page")


def print_forces() -> None:
    """Every objective's forces on five documents, as arrows."""
    import rankforce as rf

    wide = max(len(entry.name) for entry in rf.objectives())
    print("Forces on five documents, k = 1: up is to the right, down to the left.\n")
    cells = [f"grade {grade}" for grade in GRADES]
    print(f"{'':{wide}}  " + " ".join(f"{cell:^{WIDTH}}" for cell in cells))
    for entry in rf.objectives():
        labels = [grade / 4 for grade in GRADES] if entry.of_clicks else GRADES
        objective = rf.objective(entry.name, k=1)
        lam, _ = objective.gradients(SCORES, labels)
        found = rf.diagnostics.incoherence(objective, SCORES, labels, k=1)
        note = "  incoherent" if found.share else ""
        print(f"{entry.name:{wide}}  {draw_forces(lam)}{note}")


def draw_forces(lam: NDArray[np.float64]) -> str:
    """One cell per document: a bar from the middle, right for up, left for down."""
    largest = max((abs(float(force)) for force in lam), default=0.0)
    half = WIDTH // 2 - 1
    cells = []
    for force in lam:
        share = float(force) / largest if largest > 0.0 else 0.0
        bar = "=" * max(round(abs(share) * (half - 1)), 0)
        right = f"{bar}>" if share > 0.0 else ""
        left = f"<{bar}" if share < 0.0 else ""
        cells.append(f"{left:>{half}}|{right:<{half}} ")
    return " ".join(cells)
