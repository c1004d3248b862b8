"""The grammar of metrics' names, with the spellings of other tools and their conventions.

A name says everything: "NDCG@10", "P@5(rel=2, over=k)", "RBP(0.8)", "MAP(trec_eval)",
"CNDCG@3(source=click)". Case does not matter but in the name of a source.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from rankforce.common.checks import listed
from rankforce.common.errors import RankforceError
from rankforce.measures.definition import Entry
from rankforce.measures.registry import ENTRIES

# "@10" here; "_cut_10", "_cut.10", "_5" and ".5" in trec_eval.
_CUTOFF = re.compile(r"(.*?[a-z])(?:@|[_.]cut[_.]|[_.])([0-9]+)")
# In parentheses at the end, or before the cutoff as ir-measures writes them.
_INSIDE = re.compile(r"([^()]*)\(([^()]*)\)([^()]*)")
_TEXTS = {"gain", "ties", "over", "score_type", "preset"}
Named = TypeVar("Named", bound=Any)  # has a name and aliases
_NUMBERS = {"k", "no_relevant", "p", "max_label", "rel"}


class Parsed(NamedTuple):
    """What a name says: the metric, and the parameters written into the name."""

    entry: Entry
    parameters: dict[str, Any]


def plain(name: str) -> str:
    """A name without what does not count in it: case, spaces, `-` and `_`."""
    return re.sub(r"[\s_-]", "", name.lower())


def _squeeze(text: str) -> str:
    return re.sub(r"\s", "", text.lower())


def by_name(entries: Iterable[Named]) -> dict[str, Named]:
    """The entries of a registry by their plain names and aliases."""
    return {plain(name): entry for entry in entries for name in (entry.name, *entry.aliases)}


def suggest(name: str, entries: Mapping[str, Any]) -> str:
    """Which entries a plain name may mean, as the start of a sentence; nothing if none is close."""
    close = difflib.get_close_matches(name, entries, n=3, cutoff=0.5)
    names = dict.fromkeys(entries[match].name for match in close)
    return f"did you mean {' or '.join(map(repr, names))}? " if names else ""


_BY_NAME = by_name(ENTRIES)


def parse_name(name: str) -> Parsed:
    """Find the metric that `name` means.

    >>> parse_name("ndcg_cut_10").parameters
    {'k': 10}
    >>> parse_name("recip_rank").entry.name
    'MRR'
    >>> parse_name("P(rel=2)@5").parameters
    {'rel': 2.0, 'k': 5}
    >>> parse_name("cndcg@3(Source = Click)").parameters
    {'source': 'Click', 'k': 3}
    """
    rest = name.strip()
    said: list[tuple[str, Any]] = []
    if rest.endswith("-"):  # XGBoost: a query without relevant document counts 0
        rest = rest[:-1]
        said.append(("no_relevant", 0))
    if found := _INSIDE.fullmatch(rest):
        rest = found[1] + found[3]
        said += [_parameter(name, item) for item in found[2].split(",")]
    elif "(" in rest or ")" in rest:
        raise RankforceError(
            f"{name!r}: parentheses open and close once, as in 'P@5(rel=2, over=k)'"
        )
    rest = _squeeze(rest)
    if found := _CUTOFF.fullmatch(rest):
        rest = found[1]
        said.append(("k", int(found[2])))
    rest = rest.removesuffix("@k")
    parameters = dict(said)
    for key in parameters:
        if [other for other, _ in said].count(key) > 1:
            raise RankforceError(f"{name!r} says {key} twice")
    entry = _BY_NAME.get(plain(rest))
    if entry is None:
        raise RankforceError(_unknown(name, plain(rest)))
    if "k" in parameters and entry.cutoff == "none":
        k = parameters["k"]
        raise RankforceError(f"{name!r}: {entry.name} has no cutoff, so @{k} means nothing")
    return Parsed(entry, parameters)


def split_names(names: str) -> list[str]:
    """Names with commas between them; commas in parentheses belong to a name.

    >>> split_names("ndcg@5, p@5(rel=2, over=k)")
    ['ndcg@5', 'p@5(rel=2, over=k)']
    """
    return [name.strip() for name in re.split(r",(?![^()]*\))", names)]


def _parameter(name: str, item: str) -> tuple[str, Any]:
    """One item in parentheses: key=value, a persistence by itself, or a preset."""
    key, equals, value = item.partition("=")
    if equals and _squeeze(key) == "source":
        return "source", value.strip()  # as the data spells it
    item = _squeeze(item)
    if not item:
        raise RankforceError(f"{name!r}: a parameter is missing in the parentheses")
    key, equals, value = item.partition("=")
    if not equals:
        number = _number(item)
        return ("preset", item) if number is None else ("p", number)
    if key in _TEXTS or (key, value) == ("no_relevant", "skip"):
        return key, value
    if key == "k" and value.isdecimal():
        return key, int(value)
    number = _number(value)
    if number is None and key in _NUMBERS:
        raise RankforceError(f"{name!r}: {key} is {value!r}, which is no number")
    return key, number  # of keys that no metric has, any value will do


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _unknown(name: str, plain_name: str) -> str:
    hint = suggest(re.sub(r"[^a-z]", "", plain_name), _BY_NAME)
    choices = ", ".join(entry.name for entry in ENTRIES)
    return (
        f"unknown metric {name!r}: {hint}Choose one of {choices}, with a cutoff as in 'NDCG@10' "
        "and parameters as in 'RBP(0.8)' or 'P@5(rel=2)'"
    )


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
