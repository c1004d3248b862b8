"""The conventions of other tools, as parameters of `rf.metric`."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankforce.common.checks import listed
from rankforce.common.errors import RankforceError
from rankforce.measures.definition import Entry


class Preset(NamedTuple):
    """How one tool computes its metrics."""

    tool: str
    metrics: dict[str, dict[str, Any]]  # parameters by name of a metric; the tool has no others
    without_cutoff: frozenset[str] = frozenset()  # metrics that it has for whole lists only
    usual_k: int | None = None  # the cutoff where none is said; None: the whole list


_SINGLE = {"score_type": "float32"}
_TREC = _SINGLE | {"no_relevant": 0}

# As of LightGBM 4.7, XGBoost 3.2, scikit-learn 1.9 and trec_eval 9.0; tests/parity compares them.
PRESETS = {
    "lightgbm": Preset("LightGBM", {"NDCG": {"no_relevant": 1}, "MAP": {"no_relevant": 1}}),
    "xgboost": Preset(
        "XGBoost",
        {"NDCG": _SINGLE | {"no_relevant": 1}, "MAP": _SINGLE | {"no_relevant": 1}, "P": _SINGLE},
        usual_k=32,
    ),
    "sklearn": Preset(
        "scikit-learn",
        {
            "NDCG": {"gain": "y", "no_relevant": 0, "ties": "average"},
            "DCG": {"gain": "y", "ties": "average"},
            "MAP": {"ties": "last"},
        },
        without_cutoff=frozenset({"MAP"}),
    ),
    "trec_eval": Preset(
        "trec_eval",
        {
            "NDCG": _TREC | {"gain": "y"},
            "MAP": _TREC | {"over": "relevant"},
            "P": _TREC | {"over": "k"},
            "Recall": _TREC,
            "MRR": _TREC,
        },
    ),
}
_ALIASES = {"lgb": "lightgbm", "xgb": "xgboost", "scikit-learn": "sklearn", "trec": "trec_eval"}


def find_preset(name: Any) -> tuple[str, Preset]:
    """The preset called `name`, with its canonical name.

    >>> find_preset("scikit-learn")[0]
    'sklearn'
    """
    plain = name.lower() if isinstance(name, str) else name
    plain = _ALIASES.get(plain, plain)
    if plain not in PRESETS:
        raise RankforceError(f"preset is {name!r}: choose {listed(PRESETS)}")
    return plain, PRESETS[plain]


def preset_parameters(preset: Preset, entry: Entry, k: int | None) -> dict[str, Any]:
    """How the tool computes `entry`, or an error if it does not."""
    if entry.name not in preset.metrics:
        has = ", ".join(preset.metrics)
        raise RankforceError(f"{preset.tool} has no {entry.name}: its preset is for {has}")
    if k is not None and entry.name in preset.without_cutoff:
        raise RankforceError(f"{preset.tool} has {entry.name} for whole lists only, not @{k}")
    return preset.metrics[entry.name]
