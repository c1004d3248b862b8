"""Which features a model or a data set has, and how those of one become those of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note

SHOWN = 5  # names in a message


class Schema(NamedTuple):
    """Features in the order of columns, and the values behind the codes of categories.

    Columns of an array are called Column_0, Column_1, ..., features of LETOR text by their numbers:
    both say where a column stands and no more. Any other name is a name.
    """

    names: Sequence[str]
    categories: Mapping[int, list[Any]]
    # Categorical columns whose numbers, in an array too, are values and not codes.
    renumbered: Sequence[int] = ()
    # What columns of the file were for: as `rf.read` was told.
    roles: Mapping[str, Any] = {}

    @property
    def by_name(self) -> dict[str, list[Any]]:
        """Values of categories by the name of the feature."""
        return {self.names[column]: values for column, values in self.categories.items()}


def usual_names(columns: int) -> list[str]:
    """What columns without a name are called.

    >>> usual_names(2)
    ['Column_0', 'Column_1']
    """
    return [f"Column_{column}" for column in range(columns)]


def kind_of(names: Sequence[str]) -> str:
    """What names say: "place" (columns of an array), "number" (features of text), or "name".

    >>> kind_of(["Column_0", "Column_1"]), kind_of(["1", "2"]), kind_of(["bm25", "age"])
    ('place', 'number', 'name')
    """
    if list(names) == usual_names(len(names)):
        return "place"
    # Some may be left out: they are numbers still, and no places.
    return "number" if all(name.isascii() and name.isdigit() for name in names) else "name"


def numbers_from(first: int, columns: int) -> list[str]:
    """What features of text are called: their numbers, of which one is the first.

    >>> numbers_from(1, 3)
    ['1', '2', '3']
    """
    return [str(first + column) for column in range(columns)]


def match(
    names: Sequence[str], wanted: Sequence[str], *, widens: bool = False, place: str = "the data"
) -> NDArray[np.int64] | None:
    """The column of each feature that is wanted, -1 where it is 0 throughout; None: as they stand.

    By name, or by number, where both sides have such; else by place. What is not wanted is left out
    with a note. `widens` is said of text, where features that are not written are 0. Without names
    that are wanted, columns are as they stand.

    >>> match(["b", "a"], ["a", "b"])
    array([1, 0])
    >>> match(["1", "2"], ["1", "2", "3"], widens=True)
    array([ 0,  1, -1])
    """
    if not wanted or list(names) == list(wanted):
        return None
    kind = kind_of(names)
    if kind == kind_of(wanted) != "place":
        at = {name: column for column, name in enumerate(names)}
        # LightGBM's own models have no blanks in names.
        at |= {n.replace(" ", "_"): c for n, c in at.items() if n.replace(" ", "_") not in at}
        if len({*names}) < len(names):
            raise RankforceError(
                f"{place}: {twice(names)!r} occurs twice, expected names that differ"
            )
        missing = [name for name in wanted if name not in at]
        if missing and not widens:
            raise RankforceError(lacks(place, missing, names))
        found = [at.get(name, -1) for name in wanted]
        taken = {*found}
        _say_extra([name for column, name in enumerate(names) if column not in taken], place)
        return np.array(found, np.int64)
    if len(names) == len(wanted):
        return None
    if not widens:
        raise RankforceError(
            f"{place} has {len(names)} features, the model was trained on {len(wanted)}"
        )
    _say_extra(list(names[len(wanted) :]), place)
    columns = np.arange(len(wanted))
    return np.where(columns < len(names), columns, -1)


def twice(names: Iterable[str]) -> str | None:
    """The first name that occurs again, if there is one.

    >>> twice(["a", "b", "a"]), twice("ab")
    ('a', None)
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def lacks(place: str, missing: Sequence[str], names: Sequence[str]) -> str:
    """The sentence on features that are wanted and not there."""
    are = "the feature" if len(missing) == 1 else "the features"
    return (
        f"{place} lacks {are} {some_names(missing)}, which the model was trained on: it has "
        f"{some_names(names)}"
    )


def _say_extra(extra: list[str], place: str) -> None:
    if extra:
        are = "is no feature" if len(extra) == 1 else "are no features"
        note(f"{place}: {some_names(extra)} {are} of the model: left out")


def some_names(names: Iterable[Any], shown: int = SHOWN) -> str:
    """Names for a message, the first few.

    >>> some_names(["a", "b"]), some_names("abc", shown=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    names = list(names)
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(str(name)) for name in names[:shown]) + more


def merge(schemas: Sequence[Schema]) -> Schema | None:
    """One schema that has the features of several, to read a file once for all of them."""
    if len(schemas) <= 1:
        return schemas[0] if schemas else None
    if any(kind_of(one.names) != "name" for one in schemas):
        return max(schemas, key=lambda one: len(one.names))
    names = list(dict.fromkeys(name for one in schemas for name in one.names))
    values: dict[str, dict[Any, None]] = {}
    for one in schemas:
        for name, known in one.by_name.items():
            values.setdefault(name, {}).update(dict.fromkeys(known))
    categories = {names.index(name): [*known] for name, known in values.items()}
    return Schema(names, categories, (), schemas[0].roles)


def check_width(columns: int, like: Schema) -> None:
    """Refuse columns without names that a model has no features for."""
    if columns != len(like.names):
        match(usual_names(columns), like.names)
    for column in like.categories:
        if not 0 <= column < columns:
            raise RankforceError(f"categories of column {column}, but there are {columns} columns")


def check_names(names: Sequence[str] | None, columns: int) -> list[str]:
    """Names of so many features, the usual ones if there are none."""
    if names is None:
        return usual_names(columns)
    if len(names) != columns:
        raise RankforceError(f"{len(names)} feature names for {columns} features")
    texts = [str(name) for name in names]
    if (again := twice(texts)) is not None:
        raise RankforceError(f"feature names must differ, but {again!r} occurs twice")
    return texts


def numbered(
    given: Sequence[int | str] | None, names: Sequence[str] | None
) -> Sequence[int | str] | None:
    """Columns by number where the names of an array are known."""
    if given is None or names is None:
        return given
    places = {str(name): column for column, name in enumerate(names)}
    return [places.get(c, c) if isinstance(c, str) else c for c in given]


def check_marks(
    given: Sequence[int | str] | None, found: Sequence[int], names: list[str]
) -> list[int]:
    """Numbers of the columns of categories: those given, by number or name, and those found."""
    if given is None:
        return list(found)
    columns = []
    for entry in given:
        if isinstance(entry, str) and entry in names:
            columns.append(names.index(entry))
        elif isinstance(entry, (int, np.integer)) and 0 <= entry < len(names):
            columns.append(int(entry))
        else:
            has = f"the {len(names)} features, {some_names(names)}"
            raise RankforceError(f"categorical column {entry!r} is none of {has}")
    return sorted({*columns, *found})
