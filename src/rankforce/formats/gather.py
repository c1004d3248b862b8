"""Batches of Arrow columns become one data set: features, codes of categories, labels, ids."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.data.codes import (
    CodedColumn,
    check_value,
    is_missing,
    not_numbers,
    note_negative,
    note_unknown,
)
from rankforce.data.frames import fill, read_column, to_vector
from rankforce.data.precision import EXACT, Precision
from rankforce.data.schema import some_names
from rankforce.formats.cells import MISSING, to_number
from rankforce.formats.roles import UNWANTED, NoRowsError, Roles, plain_columns

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # without leading zeros: 07 and 7 are two ids
MOST = 1000  # different values of a column of text that becomes categories by itself
# A number in a dress: 5%, $3, 1,000, 2,5.
DRESSED = re.compile(
    r"[-+]?([$€£]\s?\d[\d.,]*|\d[\d.,]*\s?[%$€£]|\d{1,3}(,\d{3})+(\.\d+)?|\d+,\d+)"
)
REMEDIES = {
    "dates": "make it a number, such as days since a day",
    "lists": "give each entry a column of its own",
    "bytes": "make it numbers or text",
}


class Codes:
    """Values of one column of categories, met batch by batch."""

    def __init__(
        self,
        name: str,
        known: list[Any] | None = None,
        *,
        most: int | None = None,
        is_plain: bool = True,
    ) -> None:
        self.name = name
        self._is_plain = is_plain  # and no column of categories that has an order of its own
        self.number = {value: code for code, value in enumerate(known or ())}
        self._is_fixed = known is not None
        self._most = most
        self._seen = self._found = False

    @property
    def is_full(self) -> bool:
        """More values than a column that becomes categories by itself may have."""
        return self._most is not None and len(self.number) > self._most

    def of(self, array: Any) -> NDArray[np.float64]:
        """Codes of an Arrow array; NaN where a value is missing, or not known."""
        if not hasattr(array, "dictionary"):
            array = array.dictionary_encode()
        values = array.dictionary.to_pylist()
        if not self._is_fixed and not self.is_full:
            self._add(values)
        table = np.array([*(self._code(value) for value in values), np.nan])
        self._seen = self._seen or any(not _is_missing(value) for value in values)
        self._found = self._found or not np.isnan(table).all()
        indices = array.indices.fill_null(-1) if array.indices.null_count else array.indices
        return np.asarray(table[indices.to_numpy(zero_copy_only=False)])

    def _code(self, value: Any) -> float:
        code = self.number.get(value)
        if code is None and self._is_fixed:
            # A model's categories may be numbers where the file has text, or the other way round.
            code = self.number.get(_as_number(value) if isinstance(value, str) else str(value))
        return np.nan if code is None else float(code)

    def _add(self, values: list[Any]) -> None:
        for value in values:
            if _is_missing(value) or value in self.number:
                continue
            self.number[check_value(value, f"column {self.name!r}")] = len(self.number)

    def in_order(self) -> tuple[list[Any] | None, NDArray[np.float32], bool]:
        """Values in order, the new number of each old code and of none, whether they are numbers.

        Numbers that float32 holds are codes already, and have no values.
        """
        table = np.full(len(self.number) + 1, np.nan, np.float32)
        if not self._is_plain:
            table[:-1] = np.arange(len(self.number))
            return [*self.number], table, False
        kinds = {type(value) for value in self.number}
        if not kinds or not kinds <= {int, float}:
            values = sorted(self.number, key=lambda value: (str(type(value)), value))
            table[[self.number[value] for value in values]] = np.arange(len(values))
            return values, table, False
        if any(value < 0 for value in self.number):
            note_negative(f"column {self.name!r}")
        numbers = sorted(value for value in self.number if value >= 0)
        places = [self.number[value] for value in numbers]
        if not numbers or numbers[-1] <= EXACT:
            table[places] = numbers
            return None, table, True
        table[places] = np.arange(len(numbers))
        return [int(value) for value in numbers], table, True

    def check(self) -> None:
        """Say it if the column has values, and a model knows none of them."""
        if self._is_fixed and self._seen and not self._found:
            note_unknown(f"column {self.name!r}", self.number)


def _is_missing(value: Any) -> bool:
    return value in MISSING if isinstance(value, str) else is_missing(value)


def _as_number(text: str) -> Any:
    value = to_number(text)
    return int(value) if value is not None and value == value and value.is_integer() else value


def gather(
    batches: Any,
    roles: Roles,
    rows: int | None,
    *,
    place: str = "",
    is_part: bool = False,
    is_whole: bool | None = None,
) -> RankingData:
    """Batches as one data set; features go into place at once where the rows are known.

    For a part of a file, `roles` are those that `survey` found in all of it, and `is_whole` says
    whether all its query ids, which are text, are integers.
    """
    names, codes, watch = roles.features, codes_of(roles), Precision()
    blocks: list[NDArray[np.float32]] = []
    features = np.empty((rows or 0, len(names)), np.float32)
    plain: dict[str, list[Any]] = {name: [] for name in plain_columns(roles)}
    done = 0
    for batch in batches:
        block = features[done : done + batch.num_rows]
        if rows is None:
            block = np.empty((batch.num_rows, len(names)), np.float32)
            blocks.append(block)
        if done == 0 and not is_part:
            _check_dressed(batch, roles)
        columns = put_features(block, batch, roles, codes, first=done)
        for number, column in enumerate(columns):
            if number not in codes:
                watch.see(number, column.values)
        for name, pieces in plain.items():
            pieces.append(batch.column(name))
        done += batch.num_rows
    if done == 0:
        raise NoRowsError("holds no rows: expected one or more")
    if rows is None:
        features = _stack(blocks, done, len(names))
    if not is_part:
        if not roles.is_limited:  # it was said in training
            watch.say(names, place=place)
        tables, kept, roles = _decide(roles, codes, done, place)
        for number, table in tables.items():
            features[:, number] = table[_places(features[:, number])]
        features = features if len(kept) == len(names) else features[:, kept]
    is_text = rows is None or is_whole is not None
    qid = roles.qid
    ids = None if qid is None else _ids(plain[qid], qid, is_text=is_text, is_whole=is_whole)
    return _as_data(features, ids, plain, roles)


def survey(batches: Any, roles: Roles, *, place: str = "") -> Roles:
    """The roles with the categories that all of a file has, from batches of `coded` columns."""
    codes, rows = codes_of(roles), 0
    for batch in batches:
        if rows == 0:
            _check_dressed(batch, roles)
        for own in codes.values():
            own.of(batch.column(own.name))
        rows += batch.num_rows
    return _decide(roles, codes, rows, place)[2]


def codes_of(roles: Roles) -> dict[int, Codes]:
    """For each column that is, or may become, one of categories."""
    if roles.is_coded:
        return {}
    known, marked = roles.categories or {}, {*(roles.categorical or ())}
    return {
        number: Codes(
            name,
            known.get(number),
            most=MOST if name in roles.texts else None,
            is_plain=name in roles.texts or number in marked,
        )
        for number, name in enumerate(roles.features)
        if name in roles.coded
    }


def put_features(
    block: NDArray[np.float32], batch: Any, roles: Roles, codes: dict[int, Codes], *, first: int
) -> list[CodedColumn]:
    """Put the features of a batch into a block; `first` is the number of its first row."""
    names = roles.features
    columns = [_column(batch, name, codes.get(number)) for number, name in enumerate(names)]
    fill(block, columns, names, first=first)
    return columns


def _column(batch: Any, name: str, codes: Codes | None) -> CodedColumn:
    """A column of a batch as numbers."""
    array = batch.column(name)
    if codes is not None:
        return CodedColumn(codes.of(array), [])
    column = read_column(array, f"column {name!r}", "pyarrow")
    if column.categories is not None:
        raise RankforceError(not_numbers(f"column {name!r}"))
    return column


def _check_dressed(batch: Any, roles: Roles) -> None:
    """Refuse text that was meant as numbers."""
    for name in roles.texts:
        values = batch.column(name).unique().to_pylist()
        texts = [value for value in values if isinstance(value, str) and value not in MISSING]
        dressed = [text for text in texts if DRESSED.fullmatch(text.strip())]
        if 2 * len(dressed) > len(texts):
            raise RankforceError(
                f"column {name!r} holds numbers such as {dressed[0]!r}: write them plainly (0.05 "
                f"for 5%, 1000 for 1,000), or name the column in categorical= or ignore="
            )


def _decide(
    roles: Roles, codes: dict[int, Codes], rows: int, place: str
) -> tuple[dict[int, NDArray[np.float32]], list[int], Roles]:
    """Which columns of text are categories; say so. New numbers of codes, columns kept, roles."""
    known: dict[int, list[Any]] = dict(roles.categories or {})
    renumbered, tables = [*roles.renumbered], {}
    said, told, dropped = [], [], set()
    for number, own in codes.items():
        own.check()
        if number in known:
            continue
        if own.name in roles.texts:
            if own.is_full or 2 * len(own.number) > rows:
                dropped.add(number)
                count = f"over {MOST:,}" if own.is_full else f"{len(own.number):,}"
                said.append(f"{own.name!r} is text with {count} different values: left out")
                continue
            told.append(f"{own.name!r} ({len(own.number):,} values)")
        values, tables[number], is_number = own.in_order()
        if values is not None:
            known[number] = values
            renumbered += [number] if is_number else []
    if told:
        said.insert(0, f"{', '.join(told)}: text, which becomes categories")
    if said := [*said, *_left_out(roles)]:
        note(f"{place}{'; '.join(said)}")
    kept = [number for number in range(len(roles.features)) if number not in dropped]
    decided = roles._replace(
        categorical=[*(roles.categorical or ()), *known],
        categories=known,
        renumbered=renumbered,
        coded=[roles.features[number] for number in known],
        texts=(),
    )
    return tables, kept, decided.of_features([roles.features[number] for number in kept])


def _places(codes: NDArray[np.float32]) -> NDArray[np.int64]:
    """Codes as indices of a table whose last entry is for what is missing."""
    return np.where(np.isnan(codes), -1, codes).astype(np.int64)


def _left_out(roles: Roles) -> list[str]:
    """Sentences on columns that are no features, and were not asked to be left out."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in roles.left_out.items():
        if reason:
            by_reason.setdefault(reason, []).append(name)
    said = []
    for reason, names in by_reason.items():
        if reason == UNWANTED:
            said.append(f"{some_names(names)}: {reason}, left out")
        else:
            remedy = REMEDIES.get(reason, "")
            said.append(
                f"{some_names(names)} holds {reason}: left out" + (f" ({remedy})" if remedy else "")
            )
    return said


def _as_data(features: Any, qid: Any, plain: dict[str, list[Any]], roles: Roles) -> RankingData:
    from rankforce.data.ranking_data import RankingData

    weight, label = roles.weight, roles.label
    beside: dict[str, Any] = {n: _floats(plain[c], c) for n, c in roles.beside.items()}
    data = RankingData(
        features,
        None if label is None else _floats(plain[label], label),
        qid=qid,
        group=[len(features)] if qid is None else None,
        weight=None if weight is None else _floats(plain[weight], weight),
        doc_ids=None if roles.doc_id is None else _texts(plain[roles.doc_id]),
        feature_names=roles.features,
        categorical=roles.categorical,
        sources={name: _floats(plain[column], name) for name, column in roles.sources.items()},
        categories=roles.categories or None,
        label_name=roles.label_name,
        **beside,
    )
    data.renumbered = list(roles.renumbered)
    return data


def _stack(blocks: list[NDArray[np.float32]], rows: int, columns: int) -> NDArray[np.float32]:
    """Blocks one below the other; each is freed as it is copied, so that no two copies stay."""
    values = np.empty((rows, columns), np.float32)
    while blocks:
        block = blocks.pop()
        values[rows - len(block) : rows] = block
        rows -= len(block)
    return values


def _floats(pieces: list[Any], name: str) -> NDArray[np.float64]:
    # A dictionary is a way to store numbers here, no category.
    plain = [p.dictionary_decode() if hasattr(p, "dictionary") else p for p in pieces]
    return np.concatenate([np.empty(0), *(to_vector(p, f"column {name!r}") for p in plain)])


def _chunked(pieces: list[Any]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    array = pa.chunked_array(pieces) if pieces else pa.chunked_array([], pa.string())
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _ids(pieces: list[Any], name: str, *, is_text: bool, is_whole: bool | None) -> NDArray[Any]:
    """Query ids; those of a text file are integers where all are written as such."""
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    array = _chunked(pieces)
    row = pc.index(pc.equal(array, "") if is_text else array.is_null(), True).as_py()
    if row >= 0:
        raise RankforceError(f"row {row}, column {name!r} is empty: every row needs a query id")
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return np.asarray(array.to_numpy())
    coded = array.cast(pa.string()).combine_chunks().dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes: NDArray[np.int64] = coded.indices.to_numpy()
    if is_text and (are_whole(values) if is_whole is None else is_whole):
        return np.array([int(value) for value in values], dtype=np.int64)[codes]
    names: NDArray[Any] = np.array([*values, None], dtype=object)  # not as a table of letters
    return names[codes]


def are_whole(ids: list[str]) -> bool:
    """Whether query ids, as text, are all integers."""
    return all(WHOLE.fullmatch(value) for value in ids)


def _texts(pieces: list[Any]) -> Any:
    """Document ids as one Arrow array of text, empty where there is none."""
    pa: Any = importlib.import_module("pyarrow")
    array = _chunked(pieces).cast(pa.string())
    return (array.fill_null("") if array.null_count else array).combine_chunks()
