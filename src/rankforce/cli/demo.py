"""Print the forces of every objective on the example of Marcuzzi et al. 2023, Table 1.

Five documents, best score first: a good one (grade 1) stands above the best (grade 2), and three
worthless ones below. An arrow shows where an objective pushes each document, and how hard. Where
the best document gets less push than the good one above it, the gradients are incoherent.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXAMPLES = """examples:
  rankforce demo
  rankforce demo --k 2
"""

SCORES = (0.04, 0.03, 0.02, 0.01, 0.00)
GRADES = (1, 2, 0, 0, 0)
WIDTH = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this verb."""
    parser.add_argument("--k", type=int, default=1, help="cutoff of the objectives (default 1)")


def run(options: argparse.Namespace) -> None:
    """Compute and draw the forces."""
    import rankforce as rf

    wide = max(len(entry.name) for entry in rf.objectives())
    print(f"Forces on five documents, k = {options.k}: up is to the right, down to the left.\n")
    cells = [f"grade {grade}" for grade in GRADES]
    print(f"{'':{wide}}  " + " ".join(f"{cell:^{WIDTH}}" for cell in cells))
    for entry in rf.objectives():
        lam, _ = rf.objective(entry.name, k=options.k).gradients(SCORES, GRADES)
        # Marcuzzi et al. 2023, definition 3.1: the best stands below a worse one, and gets less.
        note = "  incoherent" if lam[0] > lam[1] else ""
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
