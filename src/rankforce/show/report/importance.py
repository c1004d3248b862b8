"""Which features a model looks at: gain and number of splits."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankforce.models.importance import importance as importance_of
from rankforce.models.model import Model


def importance(model: Model) -> list[dict[str, Any]]:
    """Features by the gain of their splits, the largest first; those without a split are left out.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> ranker = rf.Ranker(n_estimators=2, num_leaves=4, progress=False).fit(data)
    >>> first = importance(ranker.model_)[0]
    >>> sorted(first), first["gain"] > 0
    (['feature', 'gain', 'splits'], True)
    """
    names = model.feature_names
    trees = model.trees[: model.used]
    splits = importance_of(trees, len(names), kind="split")
    gains = importance_of(trees, len(names), kind="gain")
    used = sorted(np.flatnonzero(splits), key=lambda f: (-gains[f], -splits[f], f))
    return [
        {"feature": names[f], "gain": float(f"{gains[f]:.6g}"), "splits": int(splits[f])}
        for f in used
    ]
