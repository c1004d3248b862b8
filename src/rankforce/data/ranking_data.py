"""Feature vectors with labels, grouped by query: what every part of the toolkit takes."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats, Ints
from rankforce.data.codes import not_numbers
from rankforce.data.columns import COLUMNS, check_columns, check_labels, cut_columns
from rankforce.data.frames import to_matrix
from rankforce.data.preferences import Preferences, check_preferences, take_preferences
from rankforce.data.queries import QueryIndex, index_queries, list_sizes, query_ids
from rankforce.data.schema import Schema, check_marks, check_names, match, numbered
from rankforce.data.sources import (
    Dense,
    as_source,
    block_rows,
    for_lists,
    mark_missing,
    recut,
    take_columns,
    take_rows,
)


class RankingData:
    """Documents of many queries: features, labels, and which query each row belongs to.

    `X` is a NumPy array, a SciPy sparse matrix, a pandas or polars frame or an Arrow table; it
    becomes float32; what float32 does not tell apart is said. `categorical` are columns of
    categories, beside those whose type says so; text becomes codes there. `qid` is one id per row
    in any order, `group` the sizes of queries that stand one behind the other. `weight` is one
    number per row, `query_weight` one per query in order of first appearance. `sources` are further
    label columns by name, NaN where unknown, and `label_name` is that of the first. `preferences`
    are pairs of rows, as a tuple (hi, lo) or (hi, lo, weight), or as a table of pairs with these
    columns: `hi` should rank above `lo`. Rows may also have an `init_score`, a score to start from,
    `positions`, ranks from 1 at which they were shown, and `propensities`, chances above 0 that
    they were looked at; NaN where these are not known. `from_frame` makes data from one frame.

    >>> import rankforce as rf
    >>> data = rf.RankingData([[0.1], [0.4], [0.3]], [0, 2, 1], qid=["a", "b", "a"])
    >>> data
    RankingData(3 rows, 2 queries, 1 features)
    >>> data.sizes.tolist()
    [2, 1]
    """

    weight: Floats | None
    query_weight: Floats | None
    init_score: Floats | None
    positions: Floats | None
    propensities: Floats | None
    sources: dict[str, Floats]
    preferences: Preferences | None

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        weight: Any = None,
        query_weight: Any = None,
        doc_ids: Any = None,
        feature_names: Sequence[str] | None = None,
        categorical: Sequence[int | str] | None = None,
        sources: Mapping[str, Any] | None = None,
        categories: Mapping[int, list[Any]] | None = None,
        label_name: str = "label",
        preferences: Any = None,
        like: Schema | None = None,
        **columns: Any,
    ) -> None:
        if like is None and categories:
            like = Schema((), categories)  # of columns as they stand
        matrix = to_matrix(X, like=like, categorical=numbered(categorical, feature_names))
        self.features = matrix.values
        rows, width = self.features.shape
        own = matrix.names if like is None else like.names or matrix.names
        self.feature_names = check_names(feature_names or own, width)
        self.categorical = check_marks(categorical, matrix.categorical, self.feature_names)
        self.categories = dict(matrix.categories)
        self.renumbered = list(matrix.renumbered)
        self.is_text = False  # what is not written is 0, features behind the last one too
        self.index = _index(rows, qid, group)
        self._qid = None if qid is None else np.asarray(qid)
        self.labels = check_labels("labels", np.zeros(rows) if y is None else y, rows)
        self.has_labels = y is not None
        if doc_ids is not None and len(doc_ids) != rows:
            raise RankforceError(f"doc_ids has {len(doc_ids)} entries, but there are {rows} rows")
        self._doc_ids = doc_ids
        self.label_name = label_name
        _check_label_names(label_name, sources or {})
        columns |= {"weight": weight, "query_weight": query_weight, "sources": sources or {}}
        vars(self).update(check_columns(columns, rows, len(self.index.sizes)))
        self.preferences = self._checked(preferences)
        self.origin: dict[str, Any] = {}  # what `rf.read` read: the file, and how

    @classmethod
    def from_frame(
        cls, frame: Any, *, labels: Any = None, like: Any = None, **columns: Any
    ) -> RankingData:
        """Documents from one frame of pandas, polars or Arrow that has all columns.

        Roles are found by usual names, or given: `label=`, `query=`, `document=`, `weight=`,
        `sources=`, `features=`, `categorical=`, `ignore=`, `labels=`, `like=`, as for `rf.read`.

        >>> import pandas as pd, rankforce as rf
        >>> frame = pd.DataFrame({"search_id": [7, 7], "grade": [1, 0], "bm25": [3.5, 2.5]})
        >>> data = rf.RankingData.from_frame(frame, label="grade", query="search_id")
        >>> data, data.feature_names
        (RankingData(2 rows, 1 queries, 1 features), ['bm25'])
        """
        from rankforce.formats.columnar import read_frame
        from rankforce.formats.read import make_asked, schema_of, with_labels

        wanted = schema_of(like)
        asked = make_asked(columns, like=wanted)
        data = read_frame(frame, asked._replace(**with_labels(asked, labels)))
        return data if wanted is None else data.like(wanted)

    @property
    def rows(self) -> int:
        """Number of documents."""
        return int(self.features.shape[0])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of documents of each query, in order of first appearance."""
        return self.index.sizes

    @property
    def group(self) -> NDArray[np.int64]:
        """Sizes of the queries, for `group=`; an error if their rows do not stand together."""
        if len(self.index.row):
            raise RankforceError(
                "rows of a query do not stand together: use qid= instead of group="
            )
        return self.index.sizes

    @cached_property
    def qid(self) -> NDArray[Any]:
        """Query of each row: the id as given, or the number of the query."""
        return self.index.of_rows() if self._qid is None else self._qid

    @cached_property
    def query_ids(self) -> NDArray[Any]:
        """Id of each query, in order of first appearance."""
        return query_ids(self.index, self._qid)

    @cached_property
    def doc_ids(self) -> NDArray[Any] | None:
        """Id of each document as text, or None if the data has none."""
        return None if self._doc_ids is None else _as_objects(self._doc_ids)

    def doc_ids_of(self, rows: Ints) -> NDArray[Any] | None:
        """Ids of some documents: where there are many, those of the others are not made.

        >>> import rankforce as rf
        >>> data = rf.RankingData([[0.1], [0.4]], [0, 1], group=[2], doc_ids=["a", "b"])
        >>> data.doc_ids_of([1])
        array(['b'], dtype=object)
        """
        if "doc_ids" in vars(self) or not _is_arrow(self._doc_ids):
            return None if self.doc_ids is None else self.doc_ids[rows]
        return _as_objects(self._doc_ids.take(rows))

    @property
    def beside(self) -> dict[str, Any]:
        """All that stands beside the labels, by the names of `rankforce.data.columns.COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS}

    @property
    def label_names(self) -> list[str]:
        """Names of the label columns: the label first, then the sources."""
        return [self.label_name, *self.sources]

    def column(self, source: str | None = None) -> Floats:
        """The label column of that name; the labels for None, and for "label" if no source has it.

        >>> import rankforce as rf
        >>> data = rf.RankingData([[0.5]], [2], qid=[1], label_name="grade", sources={"age": [7]})
        >>> data.column("age"), data.column("grade"), data.column("label")
        (array([7.]), array([2.]), array([2.]))
        """
        if source in self.sources:
            return self.sources[source]
        if source in (None, "label", self.label_name):
            return self.labels
        names = ", ".join(repr(name) for name in self.label_names)
        raise RankforceError(f"no label column {source!r}: the data has {names}")

    @cached_property
    def row_weight(self) -> Floats | None:
        """Weight of each row: its own times its query's; None if all are 1."""
        if self.query_weight is None:
            return self.weight
        by_row = self.query_weight[self.index.of_rows()]
        return by_row if self.weight is None else by_row * self.weight

    @cached_property
    def metric_weight(self) -> Floats | None:
        """Weight of each query in means of metrics: its own times the mean of its rows'."""
        if self.weight is None:
            return self.query_weight
        number = np.repeat(np.arange(len(self.sizes)), self.sizes)
        total = np.bincount(number, self.index.places(self.weight), len(self.sizes))
        average = np.asarray(total / np.maximum(self.sizes, 1))
        return average if self.query_weight is None else average * self.query_weight

    @property
    def schema(self) -> Schema:
        """The features: names, and values of categories."""
        roles = {key: value for key, value in self.origin.items() if key != "file"}
        return Schema(self.feature_names, self.categories, self.renumbered, roles)

    def like(self, wanted: Schema, *, place: str = "the data") -> RankingData:
        """The same data with the features of another set, or of a model; itself if it has them.

        Columns go by name where both have names. Features that are not wanted are left out with a
        note; one that is missing is an error. Values of categories get the codes that they have
        there, and NaN if they have none. `place` is what messages call the data.

        >>> import rankforce as rf
        >>> data = rf.RankingData([[0.1, 7]], [0], qid=["a"], feature_names=["age", "size"])
        >>> other = rf.RankingData([[8, 0.2]], [1], qid=["b"], feature_names=["size", "age"])
        >>> other.like(data.schema).features.tolist()
        [[0.20000000298023224, 8.0]]
        """
        columns = match(self.feature_names, wanted.names, widens=self.is_text, place=place)
        tables = self._recoded(wanted, columns)
        if columns is None and not tables:
            return self
        changed = self._with(
            features=take_columns(self.features, columns, tables),
            feature_names=list(wanted.names),
            categories=dict(wanted.categories),
            renumbered=list(wanted.renumbered),
        )
        if columns is not None:
            at = {int(column): place for place, column in enumerate(columns)}
            changed.categorical = sorted(at[c] for c in self.categorical if c in at)
        return changed

    def with_missing(self, value: float | None) -> RankingData:
        """The same data with NaN in place of a value of features."""
        marked = mark_missing(self.features, value)
        return self if marked is self.features else self._with(features=marked)

    def _with(self, **attributes: Any) -> RankingData:
        """A copy that differs in some attributes."""
        changed = copy.copy(self)
        vars(changed).update(attributes)
        return changed

    def _recoded(self, wanted: Schema, columns: Ints | None) -> dict[int, Floats]:
        """For columns whose codes must change, the new one of each old one, and of none."""
        tables = {}
        for place in range(len(wanted.names)):
            column = place if columns is None else int(columns[place])
            own, known = self.categories.get(column), wanted.categories.get(place)
            name = f"feature {wanted.names[place]!r}"
            if own is not None and known is None:
                raise RankforceError(not_numbers(name))
            if own is None and place in wanted.renumbered:
                raise RankforceError(
                    f"{name} has codes of categories that float32 does not hold: make the data "
                    f"with categorical=[{wanted.names[place]!r}]"
                )
            if own is None or known is None or own == known:
                continue
            numbers = {value: float(number) for number, value in enumerate(known)}
            tables[place] = np.array([numbers.get(value, np.nan) for value in own] + [np.nan])
        return tables

    def with_preferences(self, preferences: Any) -> RankingData:
        """The same data with these pairs, in any form that `RankingData` takes, and no others.

        >>> import rankforce as rf
        >>> data = rf.RankingData([[0.1], [0.4]], [0, 0], group=[2])
        >>> data.with_preferences([[1, 0]]).preferences
        Preferences(hi=array([1]), lo=array([0]), weight=array([1.]))
        """
        return self._with(preferences=self._checked(preferences))

    def _checked(self, preferences: Any) -> Preferences | None:
        if preferences is None:
            return None
        return check_preferences(preferences, self.index, self.query_ids)

    def take_queries(self, queries: ArrayLike) -> RankingData:
        """The data of some queries, by their numbers in order of first appearance."""
        chosen = _check_queries(queries, len(self.sizes))
        rows = self.index.rows_of(chosen)
        pairs = self.preferences
        taken = RankingData(
            take_rows(self.features, rows),
            self.labels[rows] if self.has_labels else None,
            qid=None if self._qid is None else self._qid[rows],
            group=self.sizes[chosen] if self._qid is None else None,
            doc_ids=self.doc_ids_of(rows),
            feature_names=self.feature_names,
            categorical=self.categorical,
            categories=self.categories,
            label_name=self.label_name,
            preferences=None if pairs is None else take_preferences(pairs, self.index, chosen),
            **cut_columns(self.beside, rows, chosen),
        )
        taken.renumbered, taken.is_text = list(self.renumbered), self.is_text
        return taken

    def blocks(self, *, whole_queries: bool = False) -> Iterator[RankingData]:
        """The rows in turn, in blocks of data in memory; all of it if it is in memory.

        Weights of queries go into those of rows; preferences are left out. `whole_queries` says
        that none is cut; where their rows stand apart, all is one block.

        >>> import rankforce as rf
        >>> data = rf.RankingData([[0.1], [0.4]], [0, 1], group=[2])
        >>> list(data.blocks())
        [RankingData(2 rows, 1 queries, 1 features)]
        """
        if hasattr(self.features, "pick"):  # bins
            yield self
            return
        features = for_lists(self.features, self.index) if whole_queries else self.features
        source = as_source(features)
        if isinstance(source, Dense):
            yield self._with(features=features)
            return
        found = source.blocks()
        if whole_queries:
            found = recut(found, list_sizes(self.index, block_rows(source.shape[1])))
        for first, block in found:
            yield self._block(block, slice(first, first + len(block)))

    def _block(self, features: Any, rows: slice) -> RankingData:
        """Consecutive rows, whose features are these."""
        beside = self.beside | {"weight": self.row_weight, "query_weight": None}
        block = RankingData(
            features,
            self.labels[rows] if self.has_labels else None,
            qid=self.qid[rows],
            doc_ids=None if self._doc_ids is None else self._doc_ids[rows],
            feature_names=self.feature_names,
            categorical=self.categorical,
            categories=self.categories,
            label_name=self.label_name,
            **cut_columns(beside, rows, rows),
        )
        block.renumbered, block.is_text = list(self.renumbered), self.is_text
        return block

    def __repr__(self) -> str:
        shape = f"{self.rows} rows, {len(self.sizes)} queries, {self.features.shape[1]} features"
        return f"RankingData({shape})"


def _is_arrow(values: Any) -> bool:
    return type(values).__module__.startswith("pyarrow") and hasattr(values, "to_numpy")


def _as_objects(values: Any) -> NDArray[Any]:
    plain = values.to_numpy(zero_copy_only=False) if _is_arrow(values) else values
    return np.asarray(plain, dtype=object)


def _index(rows: int, qid: Any, group: Any) -> QueryIndex:
    if qid is None and group is None:
        raise RankforceError("rankers need queries: give qid= (one id per row) or group= (sizes)")
    return index_queries(rows, qid=qid, group=group)


def _check_label_names(label_name: str, sources: Mapping[str, Any]) -> None:
    for name in (label_name, *sources):
        if not isinstance(name, str) or not name:
            raise RankforceError(f"{name!r} is no name of a label column: expected text")
    if label_name in sources:
        raise RankforceError(f"source {label_name!r} has the name of the label: expected another")


def _check_queries(queries: ArrayLike, count: int) -> NDArray[np.int64]:
    chosen = np.asarray(queries)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        what = f"{chosen.dtype.name} of shape {chosen.shape}"
        raise RankforceError(f"queries is {what}: expected a list of numbers of queries")
    bad = np.flatnonzero((chosen < 0) | (chosen >= count))
    if bad.size:
        where = f"queries[{bad[0]}] is {chosen[bad[0]]}"
        raise RankforceError(f"{where}: expected an integer below {count}")
    return chosen.astype(np.int64)
