"""Compiles the kernels once, before several workers of the suite would each do it for themselves.

`python tests/warm_kernels.py pairs` and `... rest` compile about a half each, so that two cores
share the work. Kernels are met through public calls: what is called inside may change.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def fit(data, objective, **more):
    import rankforce as rf

    ranker = rf.Ranker(objective, n_estimators=2, num_leaves=3, progress=False, **more)
    return ranker.fit(data, eval_set=[data] if objective != "ranknet" else None)


def warm_pairs(data, scores):
    """The pair loops: that of the forces takes as long as all else together."""
    import rankforce as rf

    fit(data, "ranknet", step="exact-newton", subsample=0.5, subsample_freq=1)
    rf.diagnostics.norm_factors(rf.objective("ranknet"), scores, data)
    rf.mix([(1.0, "ranknet")], norm="std").gradients(scores, data)


def warm_rest(data, scores):
    """Metrics, statistics, lists, preferences, trees, coherence, exact pairs, text."""
    import rankforce as rf

    for test in ("fisher", "bootstrap"):
        rf.compare({"a": scores, "b": -scores}, data, test=test, resamples=100)
    fit(data, "xendcg", step="exact-newton").predict(data)
    fit(data, "squared-error")
    fit(data, "squared-error", engine="xgboost")
    ends = data.sizes.cumsum()
    data = data.with_preferences([*zip(ends - 1, ends - 2, strict=True)])
    fit(data, "preferences", step="exact-newton")
    objective = rf.objective("preferences")
    for restricted in (True, False):
        rf.diagnostics.incoherence(objective, scores, data, restricted=restricted)
    rf.diagnostics.norm_factors(objective, scores, data)
    rf.objective("ranknet").pairs([2.0, 1.0], [0, 1])
    rf.objective("ranknet").loss([2.0, 1.0], [0, 1], equal_labels=True)
    rf.mix([(1.0, "xendcg"), (1.0, "squared-error"), (1.0, objective)]).loss(scores, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_text("1 qid:1 1:0.5\n0 qid:1 2:1e-3\n")
        rf.read(path)


HALVES = {"pairs": warm_pairs, "rest": warm_rest}


def warm_kernels() -> None:
    """Compile all, in two processes; whatever fails there fails again in a test, which tells."""
    started = [
        subprocess.Popen([sys.executable, __file__, half], stderr=subprocess.DEVNULL)
        for half in HALVES
    ]
    for process in started:
        process.wait()


if __name__ == "__main__":
    import numpy as np

    import rankforce as rf

    data = rf.make_data("yahoo", queries=40)
    HALVES[sys.argv[1]](data, np.linspace(0.0, 1.0, data.rows))
