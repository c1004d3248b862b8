"""Presets: settings by what one wants, for all that the user leaves open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rankforce.forces.objective import ALIASES
from rankforce.forces.registry import parse_name
from rankforce.training.settings_table import DEFAULT

PRESETS: dict[str, dict[str, Any]] = {
    "best": {
        "members": 8,
        "n_estimators": 300,
        "learning_rate": 0.05,
        "num_leaves": 12,
        "min_child_samples": 50,
    },
    "fast": {"n_estimators": 50, "learning_rate": 0.2, "num_leaves": 15},
}
# Beside the objective of the user: they make other mistakes.
OTHERS = ("lambdamart-ex random", "lambdarank(map)", "lambdarank(err)", "ranknet")
GAP = "lambdagap-s+"
USUAL_CUTOFF = 10  # of objectives that need one, where nobody says any


def fill_in(
    given: Mapping[str, Any], *, cutoff: int | None = None, has_tau: bool = False
) -> dict[str, Any]:
    """Settings with those of their preset, but for what is given.

    Members have the `cutoff` of the metric where there is no k; those of the user's objective
    differ in tau unless it `has_tau`.

    >>> fill_in({"preset": "fast", "n_estimators": 80})["n_estimators"]
    80
    >>> fill_in({"preset": "best", "k": 5})["members"][2:4]
    [{'tau': inf}, {'objective': 'lambdamart-ex random', 'k': 5}]
    """
    preset = given.get("preset")
    own = PRESETS.get(preset) if isinstance(preset, str) else None
    if own is None:
        return dict(given)
    said = {name: value for name, value in given.items() if value is not None}
    if "members" in own and "members" not in said:
        said["members"] = _members(said, cutoff, has_tau) or own["members"]
    return own | said


def _members(said: Mapping[str, Any], cutoff: int | None, has_tau: bool) -> list[dict[str, Any]]:
    """Three of the user's objective and five others; none where that has no name to go by."""
    name = said.get("objective", DEFAULT.objective)
    if not isinstance(name, str) or name.strip().lower() in ALIASES:
        return []
    entry, named, _ = parse_name(name)
    k = said.get("k") or named or cutoff or USUAL_CUTOFF
    levels = (k, 3 * k, 3 * k if entry.needs_k else math.inf)  # for precision not all pairs
    has_levels = "tau" in entry.parameters and not has_tau
    own: list[dict[str, Any]] = [{"tau": level} if has_levels else {} for level in levels]
    others = [{"objective": one, "k": k} for one in OTHERS]
    return [*own, *others, {"objective": GAP, "k": k, "tau": k}]
