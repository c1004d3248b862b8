"""Which column of a table is what: the label, the query, the features."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

PathLike = str | os.PathLike[str]

# Names that a column of each role may have, the first found; in any case.
USUAL = {
    "label": ("label", "grade", "relevance", "y", "target"),
    "qid": ("qid", "query_id", "query", "group_id"),
    "doc_id": ("doc_id", "docid", "document", "document_id", "url", "doc_url"),
    "weight": ("weight",),
}


class Asked(NamedTuple):
    """The columns that the caller names; the others are found."""

    label: str | None = None
    qid: str | None = None
    doc_id: str | None = None
    weight: str | None = None
    sources: Sequence[str] = ()
    features: Sequence[str] | None = None


class Roles(NamedTuple):
    """Which column is what."""

    label: str | None
    qid: str
    doc_id: str | None
    weight: str | None
    sources: dict[str, str]  # name of the source -> column
    features: list[str]
    categorical: list[int] | None = None
    categories: dict[int, list[Any]] | None = None
    label_name: str = "label"


class ColumnsError(ValueError):
    """A column is not there; the message is whole."""


def check_asked(path: PathLike, asked: Asked) -> None:
    """Refuse a label column that is asked for twice."""
    if isinstance(asked.sources, str):
        raise ColumnsError(f"{path}: sources is {asked.sources!r}: expected a list of names")
    names = [name for name in (asked.label, *asked.sources) if name is not None]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ColumnsError(f"{path}: label column {twice!r} is asked for twice, expected it once")


def find_roles(path: PathLike, names: list[str], kinds: dict[str, bool], asked: Asked) -> Roles:
    """The roles that names of columns tell, where the caller asks for no others.

    `kinds` says of each column whether it may be a feature.
    """
    sources, features = asked.sources, asked.features
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnsError(f"{path}: column {twice[0]!r} occurs twice, expected names that differ")
    given: dict[str, str | None] = {role: getattr(asked, role) for role in USUAL}
    others = {*given.values(), *sources, *(features or ())}
    found = {
        role: usual_column([n for n in names if n not in others], role) if name is None else name
        for role, name in given.items()
    }
    named = [("source", name) for name in sources] + [("feature", name) for name in features or ()]
    for what, name in [*found.items(), *named]:
        if name is None and what in ("label", "qid"):
            usual = ", ".join(USUAL[what])
            raise ColumnsError(
                f"{path}: no column for the {what} (one of {usual}, or {what}=NAME): "
                f"it has {_listed(names)}"
            )
        _check_column(path, what, name, names)
    # A label that is not asked for is no feature: it would give away the one that is.
    taken = {*found.values(), *sources, "label"}
    if features is None:
        features = [name for name in names if name not in taken and kinds.get(name, False)]
    doc_id, weight, by_name = found["doc_id"], found["weight"], {name: name for name in sources}
    label, qid = str(found["label"]), str(found["qid"])
    return Roles(label, qid, doc_id, weight, by_name, list(features), label_name=label)


def _check_column(path: PathLike, what: str, name: str | None, names: Iterable[str]) -> None:
    if name is not None and name not in names:
        raise ColumnsError(f"{path}: no column {name!r} ({what}): it has {_listed(list(names))}")


def usual_column(names: list[str], role: str) -> str | None:
    """The column that has a usual name of the role, if there is one.

    >>> usual_column(["y", "Grade", "f"], "label")
    'Grade'
    """
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in USUAL[role] if name in by_lower), None)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(repr(name) for name in names[:12]) + more


def written_roles(path: PathLike, written: dict[str, Any], names: list[str], asked: Asked) -> Roles:
    """The roles that rankforce wrote down, where the caller asks for no others."""
    categories = {int(column): values for column, values in written["categories"].items()}
    fields = {name: written[name] for name in Roles._fields[:7]}
    roles = Roles(**fields, categories=categories, label_name=written.get("label_name", "label"))
    if any(asked[:5]) or asked.features is not None:
        roles = _changed_roles(path, roles, names, asked)
    if not written["has_labels"] and roles.label == written["label"]:
        roles = roles._replace(label=None, label_name="label")
    return roles


def _changed_roles(path: PathLike, roles: Roles, names: list[str], asked: Asked) -> Roles:
    """Roles with those that the caller asks for; labels that are not asked for are left out."""
    called = {name: name for name in names} | roles.sources | {roles.label_name: str(roles.label)}
    named = [("label", asked.label), *(("source", name) for name in asked.sources)]
    for what, name in named:
        _check_column(path, what, name, called)
    for what in ("qid", "doc_id", "weight"):
        _check_column(path, what, getattr(asked, what), names)
    for name in asked.features or ():
        _check_column(path, "feature", name, names)
    label_name = roles.label_name if asked.label is None else asked.label
    sources = {name: called[name] for name in asked.sources}
    if asked.label is None and not asked.sources:
        sources = roles.sources
    taken = {called[label_name], asked.qid, asked.doc_id, asked.weight, *sources.values()}
    kept = [None if name in taken else name for name in (roles.qid, roles.doc_id, roles.weight)]
    qid, doc_id, weight = (
        new or old for new, old in zip((asked.qid, asked.doc_id, asked.weight), kept, strict=True)
    )
    features = asked.features
    if features is None:
        features = [name for name in roles.features if name not in taken]
    return Roles(
        called[label_name],
        str(qid or roles.qid),
        doc_id,
        weight,
        sources,
        list(features),
        *_kept_categories(roles, features),
        label_name,
    )


def _kept_categories(
    roles: Roles, features: Sequence[str]
) -> tuple[list[int], dict[int, list[Any]]]:
    """The marks and values of categories for some of the features."""
    before = {name: number for number, name in enumerate(roles.features)}
    numbers = [before.get(name, -1) for name in features]
    known = roles.categories or {}
    categorical = [new for new, old in enumerate(numbers) if old in (roles.categorical or [])]
    return categorical, {new: known[old] for new, old in enumerate(numbers) if old in known}


def plain_columns(roles: Roles) -> list[str]:
    """The columns that are no features."""
    names = (roles.label, roles.qid, roles.doc_id, roles.weight, *roles.sources.values())
    return [name for name in names if name is not None]


def wanted(roles: Roles) -> list[str]:
    """The columns that are read."""
    return list(dict.fromkeys([*plain_columns(roles), *roles.features]))


def wants(roles: Roles) -> dict[str, str]:
    """What the cells of each column of a CSV file must be, for `find_fault`."""
    cells = dict.fromkeys([*roles.features, *roles.sources.values()], "number")
    cells.update({name: "label" for name in (roles.label, roles.weight) if name is not None})
    return {**cells, roles.qid: "id"}
