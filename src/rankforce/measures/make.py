"""Makes metrics: by name, or from a function of one's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from rankforce.common.checks import check_choice, check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.measures.definition import Definition, Entry, NoRelevant, OwnMetric, Parameters
from rankforce.measures.gains import GainLike, check_gain
from rankforce.measures.metric import Measurable, Metric
from rankforce.measures.names import find_preset, parse_name, preset_parameters, split_names
from rankforce.measures.registry import ENTRIES

MetricLike = str | OwnMetric | Metric | Measurable
_SCORE_TYPES = ("float64", "float32")


def metric(
    what: MetricLike,
    /,
    *,
    k: int | None = None,
    no_relevant: int | str | None = None,
    gain: GainLike | None = None,
    p: float | None = None,
    max_label: float | None = None,
    rel: float | None = None,
    ties: str | None = None,
    over: str | None = None,
    score_type: str | None = None,
    preset: str | None = None,
    source: str | None = None,
    name: str | None = None,
    higher_is_better: bool | None = None,
) -> Metric:
    """Make the metric called `what` (any case, and as other tools write it), as "NDCG@10".

    `k` is the cutoff, `gain` the worth of a label ("2^y-1", "y", "binary", a table or a function),
    `p` the persistence of RBP, `max_label` the top grade of ERR (default: the largest label of the
    data), `rel` the least label that counts as relevant (default: all above 0). `no_relevant` is
    what a query without relevant document counts: 1 (the default of NDCG), 0 (of the others) or
    "skip".

    `ties` says what tied scores mean: "row" (they rank in the order of rows), "average" (the mean
    over all orders of the tied documents) or, for MAP, "last" (each stands at the last rank of its
    tie). `over` is what P ("size": min(k, n), or "k") and MAP ("reachable": min(k, relevant), or
    "relevant") are divided by. `score_type="float32"` compares scores in single precision.
    `preset` takes all of these from "lightgbm", "xgboost", "sklearn" or "trec_eval". `source` names
    the labels to read where there are several; one that is missing there (NaN) counts 0. All but
    gains of one's own can be written into the name: "P@5(rel=2, over=k)", "NDCG@10(trec_eval)",
    "CNDCG@3(source=click)".

    In place of a name, a function `f(scores, labels)` of one query's arrays, with the `name` to
    print, whether `higher_is_better`, and its `source`; or an `rf.additive`.

    >>> metric("ndcg", k=10)
    rf.metric('NDCG@10')
    >>> metric("ndcg_cut_10", preset="trec_eval").conventions
    'gain y, query without relevant document counts 0, ties by row, scores in single precision'
    >>> top = metric(lambda scores, labels: labels[scores.argmax()], name="top label")
    >>> top([1.0, 2.0], [0, 3]).tolist()
    [3.0]
    >>> clicked = metric("cndcg@3", source="click")
    >>> clicked, clicked([1.0, 2.0], {"grade": [2, 0], "click": [0.0, 0.5]}).tolist()
    (rf.metric('CNDCG@3(source=click)'), [1.0])
    """
    options = {
        "preset": preset,
        "k": k,
        "no_relevant": no_relevant,
        "gain": gain,
        "p": p,
        "max_label": max_label,
        "rel": rel,
        "ties": ties,
        "over": over,
        "score_type": score_type,
        "source": source,
    }
    given = _told(**options)
    if isinstance(what, Metric):
        if given or name is not None or higher_is_better is not None:
            raise RankforceError(f"{what!r} is made already: give its name to change parameters")
        return what
    if isinstance(what, Measurable):
        return what.as_metric(name, given | _told(higher_is_better=higher_is_better))
    if callable(what):
        return _own(what, name, higher_is_better is not False, given)
    if not isinstance(what, str):
        raise RankforceError(f"a metric is made by name or from a function, got {what!r}")
    for key, value in (("name", name), ("higher_is_better", higher_is_better)):
        if value is not None:
            raise RankforceError(f"{key} is for a function of one's own: {what!r} has its own")
    return _named(what, given)


def metrics() -> list[Entry]:
    """Every metric that has a name: name, formula in one line, source.

    >>> metrics()[0].name
    'NDCG'
    """
    return list(ENTRIES)


def asked_for(given: Any) -> list[Any]:
    """Metrics that are asked for, one by one: a text may name several, with commas between them.

    >>> asked_for(["ndcg@5, mrr", min])
    ['ndcg@5', 'mrr', <built-in function min>]
    """
    is_one = isinstance(given, (str, Metric, Measurable)) or callable(given)
    several = [given] if is_one else list(given)
    return [
        name for one in several for name in (split_names(one) if isinstance(one, str) else [one])
    ]


def _told(**options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _named(what: str, given: dict[str, Any]) -> Metric:
    entry, named = parse_name(what)
    for key, value in named.items():
        if key in given and given[key] != value:
            raise RankforceError(f"{what!r} says {key}={value}, but {key}={given[key]!r} was given")
    kept = given | named
    preset = kept.pop("preset", None)
    source = check_source(kept.pop("source", None))
    for key in kept:
        if key not in entry.parameters:
            has = ", ".join([*entry.parameters, "source"])
            raise RankforceError(f"metric {entry.name!r} has no parameter {key!r}: it has {has}")
    kept = check_parameters(
        kept,
        no_relevant=check_no_relevant,
        rel=lambda value: check_number("rel", value, least=0.0),
        ties=lambda value: check_choice("ties", value, entry.ties),
        over=lambda value: check_choice("over", value, entry.over),
        score_type=lambda value: check_choice("score_type", value, _SCORE_TYPES),
    )
    usual = _usual(entry)
    if preset is not None:
        preset, found = find_preset(preset)
        if found.usual_k is not None:
            kept.setdefault("k", found.usual_k)
        usual |= preset_parameters(found, entry, kept.get("k"))
    definition, no_relevant = _define(entry, usual | kept)
    # In the order of the entry, so that a metric has one name.
    ordered = {key: kept[key] for key in entry.parameters if key in kept}
    told = {key: value for key, value in ordered.items() if value != usual.get(key)}
    if source is not None:
        told["source"] = source
    title = _title(entry, told, preset)
    return Metric(
        title,
        definition,
        k=kept.get("k"),
        no_relevant=no_relevant,
        source=source,
        higher_is_better=entry.higher_is_better,
        recipe=(metric, title, {key: value for key, value in told.items() if not _in_name(value)}),
        about={"formula": entry.formula, "source": entry.source},
    )


def _usual(entry: Entry) -> dict[str, Any]:
    """What the parameters of a metric are unless something else is said."""
    built = entry.build(Parameters(k=1 if entry.cutoff == "needed" else None))
    usual: dict[str, Any] = {
        "no_relevant": entry.no_relevant,
        "ties": entry.ties[0],
        "score_type": _SCORE_TYPES[0],
    }
    if "gain" in entry.uses:
        usual["gain"] = built.gain
    if entry.over:
        usual["over"] = entry.over[0]
    return usual


def _define(entry: Entry, parameters: dict[str, Any]) -> tuple[Definition, NoRelevant]:
    rest = dict(parameters)
    no_relevant: NoRelevant = rest.pop("no_relevant")
    changes = {
        "ties": rest.pop("ties"),
        "single": rest.pop("score_type") == "float32",
        "rel": rest.pop("rel", None),
    }
    if entry.over:
        changes["ideal"] = rest.pop("over")
    params = Parameters(**rest)
    if entry.cutoff == "needed" and params.k is None:
        raise RankforceError(
            f"metric {entry.name!r} needs k, its cutoff: '{entry.name}@10' or k=10"
        )
    return dataclasses.replace(entry.build(params), **changes), no_relevant


def _in_name(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _title(entry: Entry, told: dict[str, Any], preset: str | None) -> str:
    """The name that says everything but gains of one's own."""
    at = f"@{told['k']}" if "k" in told else ""
    inside = [] if preset is None else [preset]
    if "p" in entry.uses:
        inside.append(repr(told.get("p", Parameters.p)))
    for key, value in told.items():
        if key not in ("k", "p") and _in_name(value):
            is_whole = isinstance(value, float) and value.is_integer()
            inside.append(f"{key}={int(value) if is_whole else value}")
    return entry.name + at + (f"({', '.join(inside)})" if inside else "")


def check_title(title: Any) -> str:
    """The name of a metric, a text that is not empty."""
    if not isinstance(title, str) or not title:
        raise RankforceError(f"the name of a metric is {title!r}: it must be a text")
    return title


def _own(
    function: OwnMetric, name: str | None, higher_is_better: bool, given: dict[str, Any]
) -> Metric:
    for key in given:
        if key not in ("no_relevant", "source"):
            raise RankforceError(f"a function of one's own has no parameter {key!r}: put it inside")
    kept = check_parameters(given, no_relevant=check_no_relevant, source=check_source)
    title = check_title(_name_of(function, kept) if name is None else name)
    recipe = {"name": title, "higher_is_better": higher_is_better} | kept
    return Metric(
        title,
        Definition("own", function=function),
        k=None,
        no_relevant=kept.get("no_relevant"),
        source=kept.get("source"),
        higher_is_better=higher_is_better,
        recipe=(metric, function, recipe),
        about={"formula": "the user's function", "source": "the user"},
    )


def _name_of(function: OwnMetric, kept: dict[str, Any]) -> str:
    source = f"(source={kept['source']})" if "source" in kept else ""
    return getattr(function, "__name__", "own metric") + source


def check_parameters(kept: dict[str, Any], **more: Callable[[Any], Any]) -> dict[str, Any]:
    """Parameters that metrics and their objectives share, checked, and `more` with its checks."""
    checks = _CHECKS | more
    return {key: checks[key](value) for key, value in kept.items()}


def check_source(value: Any) -> str | None:
    """A name that can stand in the name of a metric, and be read from there again."""
    if value is None:
        return None
    is_name = isinstance(value, str) and value and value == value.strip()
    if not is_name or any(mark in value for mark in "(),="):
        rule = "it must be the name of labels, without any of ( ) , = and without space around it"
        raise RankforceError(f"source is {value!r}: {rule}")
    return str(value)


def _check_persistence(value: Any) -> float:
    found = check_number("p", value, least=0.0)
    if not 0.0 < found < 1.0:
        raise RankforceError(f"p is {value!r}: it must lie between 0 and 1")
    return found


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "k": lambda value: check_whole("k", value, least=1),
    "p": _check_persistence,
    "max_label": lambda value: check_number("max_label", value, least=0.0),
    "gain": check_gain,
}


def check_no_relevant(value: Any) -> NoRelevant:
    """What a query without relevant document counts."""
    for choice in (0, 1, "skip"):
        if not isinstance(value, bool) and value == choice:
            return choice
    raise RankforceError(f"no_relevant is {value!r}: choose 1, 0 or 'skip'")
