"""Which column of a table is what: the label, the query, the features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.data.columns import COLUMNS
from rankforce.data.schema import Schema, kind_of, lacks, some_names, twice
from rankforce.formats.streams import PathLike

NUMBERS, CATEGORIES, TEXT = KINDS = ("numbers", "categories", "text")  # that a feature may hold
UNWANTED = "no feature of the model"
SHOWN = 12  # names in a message
_LISTS = {"sources": "source", "features": "feature"} | {n: n for n in ("categorical", "ignore")}

# Names that a column of each role may have, the first found; in any case.
USUAL = {
    "label": ("label", "grade", "relevance", "y", "target"),
    "qid": ("qid", "query_id", "query", "group_id"),
    "doc_id": ("doc_id", "docid", "document", "document_id", "url", "doc_url"),
    "weight": ("weight",),
}


# Columns of rows that have no usual name: found if asked for, or if rankforce wrote them.
OF_ROWS = [name for name, column in COLUMNS.items() if not column.is_of_queries]
OF_ROWS = [name for name in OF_ROWS if name not in (*USUAL, "sources")]


class Asked(NamedTuple):
    """The columns that the caller names; the others are found."""

    label: str | None = None
    qid: str | None = None
    doc_id: str | None = None
    weight: str | None = None
    sources: Sequence[str] = ()
    features: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    ignore: Sequence[str] = ()
    like: Schema | None = None  # of a model: its features are read, and no others
    has_labels: bool | None = True  # None: where there are some
    has_queries: bool | None = True
    labels: str | Sequence[str] | None = None  # the label and the sources, in one
    n_features: int | None = None  # of text, which does not name them
    beside: Mapping[str, str] = {}  # column of each of `OF_ROWS`
    has_documents: bool = True  # whether their ids are kept, where there are some

    def has(self, role: str) -> bool | None:
        """Whether there is a column of this role: yes, no, or None where the names tell."""
        return {"label": self.has_labels, "qid": self.has_queries}.get(role)


class Roles(NamedTuple):
    """Which column is what."""

    label: str | None
    qid: str | None
    doc_id: str | None
    weight: str | None
    sources: dict[str, str]  # name of the source -> column
    features: list[str]
    categorical: list[int] | None = None
    categories: dict[int, list[Any]] | None = None
    label_name: str = "label"
    coded: Sequence[str] = ()  # features of categories
    texts: Sequence[str] = ()  # those of them that hold text: left out if it has many values
    left_out: Mapping[str, str] = {}  # other columns, and why
    renumbered: Sequence[int] = ()
    is_limited: bool = False  # whether a model says which columns are features
    is_coded: bool = False  # whether columns of categories hold codes: rankforce wrote them
    beside: Mapping[str, str] = {}

    def without_features(self) -> Roles:
        """The same, of the columns that are no features alone."""
        return self.of_features([])._replace(coded=(), texts=(), left_out={})

    def of_features(self, features: Sequence[str]) -> Roles:
        """The same with these features: marks and values of categories go with their columns."""
        before = {name: number for number, name in enumerate(self.features)}
        numbers = [before.get(name, -1) for name in features]
        known, marked = self.categories or {}, self.categorical or []
        return self._replace(
            features=list(features),
            categorical=[new for new, old in enumerate(numbers) if old in marked],
            categories={new: known[old] for new, old in enumerate(numbers) if old in known},
            renumbered=[new for new, old in enumerate(numbers) if old in self.renumbered],
        )


class ColumnsError(RankforceError):
    """A column is not there; the message is whole."""


class NoRowsError(RankforceError):
    """A file is what it should be, and has no rows."""


def split_labels(labels: str | Sequence[str]) -> list[str]:
    """The names in a list, or in a text with commas; each once.

    >>> split_labels("grade, click")
    ['grade', 'click']
    """
    names = [name.strip() for name in labels.split(",")] if isinstance(labels, str) else labels
    names = list(names)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise RankforceError(f"labels is {labels!r}: expected names, such as 'grade,click'")
    if (again := twice(names)) is not None:
        raise RankforceError(f"labels is {labels!r}: {again!r} occurs twice, expected it once")
    return names


def check_asked(path: PathLike, asked: Asked) -> None:
    """Refuse a label column that is asked for twice."""
    for key in ("sources", "features", "categorical", "ignore"):
        if isinstance(getattr(asked, key), str):
            raise ColumnsError(
                f"{path}: {key} is {getattr(asked, key)!r}: expected a list of names"
            )
    names = [name for name in (asked.label, *asked.sources) if name is not None]
    if (again := twice(names)) is not None:
        raise ColumnsError(f"{path}: label column {again!r} is asked for twice, expected it once")


def find_roles(path: PathLike, names: list[str], kinds: Mapping[str, str], asked: Asked) -> Roles:
    """The roles that names of columns tell, where the caller asks for no others.

    `kinds` says of each column what it holds: one of `KINDS`, or something that is no feature.
    """
    if (again := twice(names)) is not None:
        raise ColumnsError(f"{path}: column {again!r} occurs twice, expected names that differ")
    given: dict[str, str | None] = {role: getattr(asked, role) for role in USUAL}
    features, left_out = asked.features, dict.fromkeys(asked.ignore, "")
    others = {*given.values(), *asked.sources, *(features or ()), *asked.ignore}
    others |= {*asked.beside.values()}
    # A feature of the model that is called "weight", say, is no weight of rows.
    others |= {*(asked.like.names if asked.like is not None else ())}
    found = {role: name or _found(names, role, others, asked) for role, name in given.items()}
    named = [(what, name) for what in _LISTS for name in getattr(asked, what) or ()]
    for what, name in [*found.items(), *asked.beside.items(), *named]:
        if name is None and asked.has(what) is True:
            usual = ", ".join(USUAL[what])
            raise ColumnsError(
                f"{path}: no column for the {what} (one of {usual}, or {what}=NAME, or {what}=None "
                f"if it has none): it has {some_names(names, SHOWN)}"
            )
        _check_column(path, _LISTS.get(what, what), name, names)
    # A label that is not asked for is no feature: it would give away the one that is.
    taken = {*found.values(), *asked.sources, *asked.beside.values(), "label"}
    if features is None:
        rest = [name for name in names if name not in taken and name not in asked.ignore]
        features = [n for n in rest if kinds.get(n) in KINDS or n in asked.categorical]
        left_out |= {name: kinds[name] for name in rest if name not in features}
    # Text that is asked for is asked for as categories: there is nothing else it could be.
    marked = {*asked.categorical, *(n for n in asked.features or () if kinds.get(n) == TEXT)}
    coded = [n for n in features if kinds.get(n) in (CATEGORIES, TEXT) or n in marked]
    texts = [n for n in coded if kinds.get(n) == TEXT and n not in marked]
    label = found["label"]
    return Roles(
        *(label, found["qid"], found["doc_id"], found["weight"]),
        {name: name for name in asked.sources},
        list(features),
        [number for number, name in enumerate(features) if name in marked],
        label_name=label or "label",
        coded=coded,
        texts=texts,
        left_out=left_out,
        beside=asked.beside,
    )


def _found(names: list[str], role: str, others: set[Any], asked: Asked) -> str | None:
    """The column of a role that is not asked for; none where the caller says that there is none."""
    if asked.has(role) is False:
        return None
    before = None if asked.like is None else asked.like.roles.get(role)
    if before in names:
        return str(before)
    return usual_column([name for name in names if name not in others], role)


def limit_roles(path: PathLike, roles: Roles, names: list[str], like: Schema) -> Roles:
    """Roles with the features of a model in place of all; only if it has names for them."""
    if kind_of(like.names) != "name":
        return roles
    missing = [name for name in like.names if name not in names]
    if missing:
        raise ColumnsError(lacks(str(path), missing, names))
    taken = {*plain_columns(roles), *like.names}
    extra = [name for name in names if name not in taken and roles.left_out.get(name) != ""]
    return roles._replace(
        features=list(like.names),
        categorical=sorted(like.categories),
        categories=dict(like.categories),
        coded=[name for number, name in enumerate(like.names) if number in like.categories],
        texts=(),
        left_out=dict.fromkeys(extra, UNWANTED),
        renumbered=like.renumbered,
        is_limited=True,
    )


def _check_column(path: PathLike, what: str, name: str | None, names: Iterable[str]) -> None:
    if name is not None and name not in names:
        raise ColumnsError(
            f"{path}: no column {name!r} ({what}): it has {some_names(names, SHOWN)}"
        )


def usual_column(names: list[str], role: str) -> str | None:
    """The column that has a usual name of the role, if there is one.

    >>> usual_column(["y", "Grade", "f"], "label")
    'Grade'
    """
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in USUAL[role] if name in by_lower), None)


def written_roles(path: PathLike, written: dict[str, Any], names: list[str], asked: Asked) -> Roles:
    """The roles that rankforce wrote down, where the caller asks for no others."""
    categories = {int(column): values for column, values in written["categories"].items()}
    fields = {name: written[name] for name in Roles._fields[:7]}
    roles = Roles(
        **fields,
        categories=categories,
        label_name=written.get("label_name", "label"),
        renumbered=written.get("renumbered", ()),
        is_coded=True,
        beside=written.get("beside", {}) | {**asked.beside},
    )
    is_asked = any(asked[:5]) or asked.categorical or asked.ignore or asked.beside
    if is_asked or asked.features is not None:
        roles = _changed_roles(path, roles, names, asked)
    has_labels = written["has_labels"] or roles.label != written["label"]
    if not has_labels or asked.has_labels is False:
        roles = roles._replace(label=None, label_name="label")
    return roles


def _changed_roles(path: PathLike, roles: Roles, names: list[str], asked: Asked) -> Roles:
    """Roles with those that the caller asks for; labels that are not asked for are left out."""
    called = {name: name for name in names} | roles.sources | {roles.label_name: str(roles.label)}
    for what, name in [("label", asked.label), *(("source", name) for name in asked.sources)]:
        _check_column(path, what, name, called)
    for what in ("qid", "doc_id", "weight"):
        _check_column(path, what, getattr(asked, what), names)
    for what, column in asked.beside.items():
        _check_column(path, what, column, names)
    for what in ("features", "categorical", "ignore"):
        for name in getattr(asked, what) or ():
            _check_column(path, _LISTS[what], name, names)
    label_name = roles.label_name if asked.label is None else asked.label
    sources = {name: called[name] for name in asked.sources}
    if asked.label is None and not asked.sources:
        sources = roles.sources
    taken = {called[label_name], asked.qid, asked.doc_id, asked.weight, *sources.values()}
    taken |= {*asked.beside.values()}
    features = asked.features
    if features is None:
        features = [n for n in roles.features if n not in taken and n not in asked.ignore]
    changed = roles.of_features(features)
    marks = {n for n, name in enumerate(features) if name in asked.categorical}
    return changed._replace(
        label=called[label_name],
        qid=asked.qid or roles.qid,
        doc_id=asked.doc_id or (None if roles.doc_id in taken else roles.doc_id),
        weight=asked.weight or (None if roles.weight in taken else roles.weight),
        sources=sources,
        categorical=sorted({*marks, *(changed.categorical or ())}),
        label_name=label_name,
        left_out=dict.fromkeys(asked.ignore, ""),
    )


def plain_columns(roles: Roles) -> list[str]:
    """The columns that are no features."""
    names = (roles.label, roles.qid, roles.doc_id, roles.weight, *roles.sources.values())
    names += (*roles.beside.values(),)
    return [name for name in names if name is not None]


def wanted(roles: Roles) -> list[str]:
    """The columns that are read."""
    return list(dict.fromkeys([*plain_columns(roles), *roles.features]))


def wants(roles: Roles) -> dict[str, str]:
    """What the cells of each column of a CSV file must be, for `find_fault`."""
    numbers = [name for name in roles.features if name not in roles.coded]
    cells = dict.fromkeys([*numbers, *roles.sources.values(), *roles.beside.values()], "number")
    cells.update({name: "label" for name in (roles.label, roles.weight) if name is not None})
    return cells if roles.qid is None else {**cells, roles.qid: "id"}
