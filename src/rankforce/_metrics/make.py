"""Makes metrics: by name, or from a function of one's own."""

from __future__ import annotations

from typing import Any

from rankforce._metrics.definition import Definition, Entry, NoRelevant, OwnMetric
from rankforce._metrics.metric import Metric
from rankforce._metrics.names import parse_name
from rankforce._metrics.registry import ENTRIES
from rankforce._objectives.entry import Parameters
from rankforce._objectives.gains import GainLike, check_gain
from rankforce.checks import check_number, check_whole


def metric(
    what: str | OwnMetric | Metric,
    /,
    *,
    k: int | None = None,
    no_relevant: int | str | None = None,
    gain: GainLike | None = None,
    p: float | None = None,
    max_label: float | None = None,
    name: str | None = None,
    higher_is_better: bool | None = None,
) -> Metric:
    """Make the metric called `what` (any case, and as other tools write it), as "NDCG@10".

    `k` is the cutoff, `gain` the worth of a label ("2^y-1", "y", "binary", a table or a function),
    `p` the persistence of RBP, `max_label` the top grade of ERR (default: the largest label of the
    data). `no_relevant` is what a query without relevant document counts: 1 (the default of NDCG),
    0 (of the others) or "skip".

    In place of a name, a function `f(scores, labels)` of one query's arrays, with the `name` to
    print and whether `higher_is_better`.

    >>> metric("ndcg", k=10)
    rf.metric('NDCG@10')
    >>> top = metric(lambda scores, labels: labels[scores.argmax()], name="top label")
    >>> top([1.0, 2.0], [0, 3]).tolist()
    [3.0]
    """
    options = {"k": k, "no_relevant": no_relevant, "gain": gain, "p": p, "max_label": max_label}
    given = {key: value for key, value in options.items() if value is not None}
    if isinstance(what, Metric):
        if given or name is not None or higher_is_better is not None:
            raise ValueError(f"{what!r} is made already: give its name to change parameters")
        return what
    if callable(what):
        return _own(what, name, higher_is_better is not False, given)
    if not isinstance(what, str):
        raise ValueError(f"a metric is made by name or from a function, got {what!r}")
    for key, value in (("name", name), ("higher_is_better", higher_is_better)):
        if value is not None:
            raise ValueError(f"{key} is for a function of one's own: {what!r} has its own")
    return _named(what, given)


def metrics() -> list[Entry]:
    """Every metric that has a name: name, formula in one line, source.

    >>> metrics()[0].name
    'NDCG'
    """
    return list(ENTRIES)


def _named(what: str, given: dict[str, Any]) -> Metric:
    entry, named = parse_name(what)
    for key, value in named.items():
        if given.get(key, value) != value:
            raise ValueError(f"{what!r} says {key}={value}, but {key}={given[key]!r} was given")
    kept = given | named
    for key in kept:
        if key not in entry.parameters:
            has = ", ".join(entry.parameters)
            raise ValueError(f"metric {entry.name!r} has no parameter {key!r}: it has {has}")
    kept = _check_values(kept)
    no_relevant: NoRelevant = kept.pop("no_relevant", entry.no_relevant)
    params = Parameters(**kept)
    if entry.cutoff == "needed" and params.k is None:
        raise ValueError(f"metric {entry.name!r} needs k, its cutoff: '{entry.name}@10' or k=10")
    definition = entry.build(params)
    shown = {key: value for key, value in kept.items() if key in ("gain", "max_label")}
    if entry.build(Parameters(k=params.k, p=params.p)).gain == params.gain:
        del shown["gain"]  # the default, spelled out
    if no_relevant != entry.no_relevant:
        shown["no_relevant"] = no_relevant
    title = _title(entry, params)
    return Metric(
        title,
        definition,
        k=params.k,
        no_relevant=no_relevant,
        higher_is_better=entry.higher_is_better,
        recipe=(metric, title, shown),
        about={"formula": entry.formula, "source": entry.source},
    )


def _title(entry: Entry, params: Parameters) -> str:
    if "p" in entry.uses:
        return f"{entry.name}({params.p!r})"
    return entry.name if params.k is None else f"{entry.name}@{params.k}"


def _own(
    function: OwnMetric, name: str | None, higher_is_better: bool, given: dict[str, Any]
) -> Metric:
    for key in given:
        if key != "no_relevant":
            raise ValueError(f"a function of one's own has no parameter {key!r}: put it inside")
    title = getattr(function, "__name__", "own metric") if name is None else name
    if not isinstance(title, str) or not title:
        raise ValueError(f"the name of a metric is {name!r}: it must be a text")
    kept = _check_values(given)
    recipe = {"name": title, "higher_is_better": higher_is_better} | kept
    return Metric(
        title,
        Definition("own", function=function),
        k=None,
        no_relevant=kept.get("no_relevant"),
        higher_is_better=higher_is_better,
        recipe=(metric, function, recipe),
        about={"formula": "the user's function", "source": "the user"},
    )


def _check_values(kept: dict[str, Any]) -> dict[str, Any]:
    checked = dict(kept)
    if "k" in checked:
        checked["k"] = check_whole("k", checked["k"], least=1)
    if "no_relevant" in checked:
        checked["no_relevant"] = _check_no_relevant(checked["no_relevant"])
    if "p" in checked:
        checked["p"] = check_number("p", checked["p"], least=0.0)
        if not 0.0 < checked["p"] < 1.0:
            raise ValueError(f"p is {kept['p']!r}: it must lie between 0 and 1")
    if "max_label" in checked:
        checked["max_label"] = check_number("max_label", checked["max_label"], least=0.0)
    if "gain" in checked:
        checked["gain"] = check_gain(checked["gain"])
    return checked


def _check_no_relevant(value: Any) -> NoRelevant:
    for choice in (0, 1, "skip"):
        if not isinstance(value, bool) and value == choice:
            return choice
    raise ValueError(f"no_relevant is {value!r}: choose 1, 0 or 'skip'")
