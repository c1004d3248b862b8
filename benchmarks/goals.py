"""What several goals cost: a mix of objectives beside the sum of its parts.

    python benchmarks/goals.py                       # a minute
    python benchmarks/goals.py --shape yahoo --rounds 9 --json result.json

One gradient pass on a made-up set with grades and click rates (half of them missing, a third zero).
The parts are timed alone, on all their pairs; a second tier has fewer, those that the first does
not tell apart. All take turns on one thread with LightGBM's norm; the best round counts.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from shapes import SHAPES, make
from turns import best_times
from versions import installed

import rankforce as rf

LIMIT = 1.1  # of the sum of the parts


def mixes() -> dict[str, tuple[rf.Mixed, list[Any]]]:
    """Mixed objectives, and the parts to time them against."""
    grades = rf.objective("lambdarank-ndcg")
    clicks = rf.objective("lambdarank-ndcg", gain="2^(4c)-1", source="click")
    top = rf.objective("lambdarank-ndcg", k=5)
    near = rf.objective("lambdarank-ndcg", cost="sigmoid", norm="std")
    moving = rf.scheduled(grades, near, schedule=lambda m: 0.5)
    return {
        "two tiers": (rf.graded([grades, clicks]), [grades, clicks]),
        "two tiers, the first truncated at 5": (rf.graded([top, clicks]), [top, clicks]),
        "grades and clicks, all pairs": (grades.mixed(clicks, weight=0.3), [grades, clicks]),
        "logistic to sigmoid cost": (moving, [grades, near]),
    }


def measure(shape: str, rounds: int) -> dict[str, dict[str, float]]:
    data = make(SHAPES[shape])
    rng = np.random.default_rng(1)
    clicks = rng.beta(1.0, 8.0, len(data.labels)) * (rng.random(len(data.labels)) < 0.66)
    clicks[rng.random(len(clicks)) < 0.5] = np.nan
    labels = {"grade": data.labels.astype(np.float64), "click": clicks}
    out = np.empty(len(clicks)), np.empty(len(clicks))
    found = {}
    for name, (mix, parts) in mixes().items():
        ready = {str(n): one.prepare(labels, group=data.sizes) for n, one in enumerate(parts)}
        ready["mix"] = mix.prepare(labels, group=data.sizes)
        calls = {
            key: lambda one=one: one.gradients(data.scores, norm="lightgbm", out=out)
            for key, one in ready.items()
        }
        best_times(calls, 1)
        took = best_times(calls, rounds)
        whole = took.pop("mix")
        found[name] = {
            "mix": whole,
            "parts": sum(took.values()),
            "share": whole / sum(took.values()),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=list(SHAPES), default="mslr")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    versions = installed("rankforce", "numba", "numpy")
    print(f"{platform.machine()}, Python {platform.python_version()},", versions)
    found = measure(options.shape, options.rounds)
    print(f"{'':38}{'mix, ms':>9}{'parts, ms':>11}{'share':>8}   (limit {LIMIT})")
    for name, row in found.items():
        print(f"{name:38}{row['mix']:9.1f}{row['parts']:11.1f}{row['share']:8.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps({"versions": versions, "ms": found}, indent=2))


if __name__ == "__main__":
    main()
