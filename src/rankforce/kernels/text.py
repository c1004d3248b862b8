"""Parses lines `label qid:ID index:value ... # comment` from bytes, straight into the arrays.

Every loop here ends at a newline: the caller puts one behind the last line, so that no position
needs a check. A piece may be parsed again, from its start, with the same result.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.decimal import (
    LONG,
    NOT_A_NUMBER,
    as_float32,
    as_float64,
    is_digit,
    read_decimal,
    read_short,
)
from rankforce.kernels.memory import byte

# Places of the numbers that go in and out with a piece.
(
    BEGIN, END, ROW, BASE, IS_FIXED, COLUMNS, STRIDE, MODE, HAS_LABEL,  # in
    STATUS, AT, TOP, TOP_AT, SAW_ZERO, HARD, DOC_END, QID_END, HIGH, ADDRESS, LARGE,  # out
    STATE_SIZE,
) = range(21)  # fmt: skip

# Where query ids go: nowhere, to int64, to bytes.
NO_QID, WHOLE_QID, TEXT_QID = range(3)

# What STATUS says of the token at AT; MORE_HARD asks for a longer list of hard numbers.
(
    FINE, MORE_HARD, BAD_LABEL, NO_QUERY, SECOND_QUERY, EMPTY_QUERY, WORD_QUERY,
    BAD_INDEX, TOO_WIDE, BELOW_BASE, DUPLICATE, BAD_VALUE, NUL,
    OUT_OF_ORDER,
) = range(14)  # fmt: skip

# A matrix with more columns is a mistake in the file, not a wish.
MAX_INDEX = 10_000_000
MAX_SIZE = 18  # digits of a whole number: more do not fit in 64 bits
# The column that stands for a row's label in the list of hard numbers.
LABEL = -1

NEWLINE, RETURN, TAB, SPACE, HASH, COLON, EQUALS, PLUS, MINUS, ZERO = (
    np.uint64(ord(c)) for c in "\n\r\t #:=+-0"
)
# Words as the numbers that `word` makes of them.
QID, DOCID = (np.uint64(int.from_bytes(w, "big")) for w in (b"qid:", b"docid"))
LARGEST = np.float32(np.finfo(np.float32).max)
EXACT = np.float32(1 << 24)  # whole numbers up to here are float32 numbers
ONE, EIGHT, TEN = np.uint64(1), np.uint64(8), np.uint64(10)


@kernel
def skip_blanks(p):
    """The next byte that is no space, tab or carriage return."""
    while byte(p) == SPACE or byte(p) == TAB or byte(p) == RETURN:
        p += ONE
    return p


@kernel
def is_blank(c):
    """Whether a byte is a blank or a line end."""
    return c <= SPACE and (c == SPACE or c == NEWLINE or c == TAB or c == RETURN)  # noqa: SIM109


@kernel
def is_end(c):
    """Whether a token ends before this byte."""
    return c <= HASH and (is_blank(c) or c == HASH)


@kernel
def word(p, size):
    """Up to eight bytes as one number, with 0 for those behind the end of the token."""
    number = np.uint64(0)
    for i in range(np.uint64(size)):
        if is_end(byte(p + i)):
            return number
        number = number << EIGHT | byte(p + i)
    return number


@kernel
def is_row(p):
    """Whether the line from `p` holds more than blanks and a comment."""
    c = byte(skip_blanks(p))
    return c != NEWLINE and c != HASH


@entry
def count_rows(buffer, begin, end):
    """Rows and lines from `begin` up to `end`; the last line is whole."""
    first, last = np.uint64(begin), np.uint64(end)
    if first >= last:
        return 0, 0
    lines = 1
    odd = 0
    for i in range(first, last - ONE):
        is_line = np.int64(buffer[i] == 10)
        lines += is_line
        # A line that starts with a blank, a comment or a line end may hold no row.
        odd += is_line & np.int64(buffer[i + ONE] <= 35)
    if odd == 0 and buffer[first] > 35:
        return lines, lines
    address = np.uint64(buffer.ctypes.data)
    rows = np.int64(is_row(address + first))
    for i in range(first, last - ONE):
        if buffer[i] == 10:
            rows += np.int64(is_row(address + i + ONE))
    return rows, lines


@entry
def parse_piece(
    buffer, state, features, labels, qids, qid_sizes, doc_sizes, qid_text, doc_text, hard, large
):
    """Parse the lines of a piece into rows from ROW on; stop at the first that is wrong.

    A number that is not exact here goes to `hard`: begin, end, row, column. Texts are written from
    BEGIN on: they are never longer than the piece. `large` takes whole numbers that float32 may
    round, with their columns; LARGE says how many there are, which may be more than it holds.
    """
    state[STATUS], state[HARD], state[HIGH], state[LARGE] = FINE, 0, 0, 0
    state[TOP], state[TOP_AT], state[SAW_ZERO] = -1, 0, 0
    state[DOC_END] = state[QID_END] = state[BEGIN]
    state[ADDRESS] = buffer.ctypes.data
    address = np.uint64(state[ADDRESS])
    p, end = address + np.uint64(state[BEGIN]), address + np.uint64(state[END])
    row = np.uint64(state[ROW])
    seen = np.full(1, -1, np.int64)
    while p < end:
        p = skip_blanks(p)
        if is_row(p):
            if state[HAS_LABEL]:
                p = read_label(p, row, labels, state, hard)
            else:
                labels[row] = 0.0
            if state[STATUS] == FINE:
                p = read_query(p, row, qids, qid_sizes, qid_text, state)
            if state[STATUS] == FINE:
                start = p
                p = read_features(start, row, features, state, hard, seen, large)
                if state[STATUS] == OUT_OF_ORDER:
                    state[STATUS] = FINE
                    if len(seen) <= state[COLUMNS]:
                        # One mark more than columns: a list of one mark asks for none.
                        seen = np.full(state[COLUMNS] + 2, -1, np.int64)
                    p = read_features(start, row, features, state, hard, seen, large)
            if state[STATUS] != FINE:
                return
            doc_sizes[row] = 0
            if byte(p) == HASH:
                p = read_comment(p, row, doc_sizes, doc_text, state)
            row += ONE
        elif byte(p) == HASH:
            p = skip_comment(p, state)
        if state[STATUS] != FINE:
            return
        p += ONE


@kernel
def fail(state, status, p):
    """Note what is wrong with the token at `p`."""
    state[STATUS] = status
    state[AT] = np.int64(p) - state[ADDRESS]


@kernel
def put_off(state, hard, begin, end, row, column):
    """List a number for Python's float(), which is right for every number and slow."""
    place = state[HARD]
    if place >= len(hard):
        fail(state, MORE_HARD, begin)
        return
    hard[place, 0] = np.int64(begin) - state[ADDRESS]
    hard[place, 1] = np.int64(end) - state[ADDRESS]
    hard[place, 2] = np.int64(row)
    hard[place, 3] = column
    state[HARD] = place + 1


@kernel
def read_label(p, row, labels, state, hard):
    """The first token of a line."""
    start = p
    p, kind, is_negative, digits, power = read_decimal(p)
    if kind > LONG or not is_end(byte(p)):
        fail(state, BAD_LABEL, start)
        return p
    value, is_exact = as_float64(is_negative, digits, power)
    labels[row] = value
    if kind == LONG or not is_exact:
        put_off(state, hard, start, p, row, LABEL)
    return skip_blanks(p)


@kernel
def read_query(p, row, qids, sizes, text, state):
    """The query id, a whole number or a copy of the word, where the file has any."""
    mode = state[MODE]
    has_query = word(p, 4) == QID
    if mode == NO_QID:
        if has_query:
            fail(state, SECOND_QUERY, p)
        return p
    start = p
    p += np.uint64(4)
    if not has_query:
        fail(state, NO_QUERY, start)
    elif is_end(byte(p)):
        fail(state, EMPTY_QUERY, start)
    elif mode == WHOLE_QID:
        p, qids[row], is_whole = read_whole(p)
        if not is_whole:
            fail(state, WORD_QUERY, start)
    else:
        sizes[row] = copy_word(p, text, state)
        p += np.uint64(sizes[row])
    return skip_blanks(p)


@kernel
def read_whole(p):
    """Where the token ends, its value, and whether it is a whole number of at most 18 digits."""
    is_negative = byte(p) == MINUS
    if is_negative or byte(p) == PLUS:
        p += ONE
    first = p
    value = np.int64(0)
    while is_digit(byte(p)):
        value = value * 10 + np.int64(byte(p) - ZERO)
        p += ONE
    is_whole = p > first and p - first <= MAX_SIZE and is_end(byte(p))
    return p, -value if is_negative else value, is_whole


@kernel
def copy_word(p, text, state):
    """Append the token at `p` to the bytes of query ids; its size."""
    to = np.uint64(state[QID_END])
    size = np.uint64(0)
    bits = np.uint64(0)
    while not is_end(byte(p + size)):
        c = byte(p + size)
        if c == 0:
            fail(state, NUL, p)
            break
        bits |= c
        text[to + size] = c
        size += ONE
    state[HIGH] |= np.int64(bits >> np.uint64(7))
    state[QID_END] += np.int64(size)
    return np.int64(size)


@kernel
def read_features(p, row, features, state, hard, seen, large):
    """The tokens `index:value` up to the comment or the line end, into the row that is 0 before.

    Rising indices cannot repeat. Where they do not rise the caller asks again, with marks.
    """
    columns, base = np.uint64(state[COLUMNS]), np.uint64(state[BASE])
    stride = np.uint64(state[STRIDE])
    cells = row * stride
    # Up to the next row: a later, wider line may make columns of what lies behind these.
    for j in range(stride):
        features[cells + j] = np.float32(0.0)
    is_marked = len(seen) > 1
    least = np.uint64(0)
    while True:
        if byte(p) <= HASH:
            p = skip_blanks(p)
            if is_end(byte(p)):
                return p
        start = p
        index = np.uint64(0)
        while is_digit(byte(p)):
            index = index * TEN + (byte(p) - ZERO)
            p += ONE
        if byte(p) != COLON or p == start or p - start > MAX_SIZE:
            fail(state, BAD_INDEX, start)
            return p
        column = index - base
        is_inside = column < columns
        if index < least or is_marked or not is_inside:
            check_index(index, start, row, column, is_inside, state, seen)
        least = index + ONE
        end, value, is_right = read_short(p + ONE)
        is_certain = True
        if not is_right or byte(end) != SPACE:
            end, value, is_right, is_certain = read_value(p + ONE)
        p = end
        if not is_right:
            fail(state, BAD_VALUE, start)
        elif is_inside:
            features[cells + column] = value
            if abs(value) >= EXACT:
                keep_large(start, column, state, large)
            if not is_certain:
                put_off(state, hard, start, p, row, np.int64(column))
        if state[STATUS] != FINE:
            return p


@kernel
def keep_large(p, column, state, large):
    """List the number of the token at `p`, if it is a whole one."""
    while byte(p) != COLON:
        p += ONE
    _, _, is_negative, digits, power = read_decimal(p + ONE)
    value, _ = as_float64(is_negative, digits, power)
    if value == np.floor(value):
        place = state[LARGE]
        if place < len(large):
            large[place, 0] = np.float64(column)
            large[place, 1] = value
        state[LARGE] = place + 1


@kernel
def check_index(index, start, row, column, is_inside, state, seen):
    """Note an index that repeats, or that asks the caller for a wider matrix."""
    if index > MAX_INDEX:
        fail(state, TOO_WIDE, start)
    elif index < np.uint64(state[BASE]):
        if state[IS_FIXED]:
            fail(state, BELOW_BASE, start)
        state[SAW_ZERO] = 1
    elif not is_inside:
        if np.int64(index) > state[TOP]:
            state[TOP], state[TOP_AT] = np.int64(index), np.int64(start) - state[ADDRESS]
    elif len(seen) == 1:
        state[STATUS] = OUT_OF_ORDER
    else:
        if seen[column] == np.int64(row):
            fail(state, DUPLICATE, start)
        seen[column] = np.int64(row)


@kernel
def read_value(p):
    """Where the number behind a colon ends, its float32, and whether it is one and is certain."""
    p, kind, is_negative, digits, power = read_decimal(p)
    if kind <= LONG:
        value, is_certain = as_float32(kind, is_negative, digits, power)
        # A number that is not certain has yet to show that it is no infinity.
        is_right = is_end(byte(p)) and (abs(value) <= LARGEST or not is_certain)
        return p, value, is_right, is_certain
    return p, np.float32(np.nan), kind == NOT_A_NUMBER and is_end(byte(p)), True


@kernel
def skip_comment(p, state):
    """The end of the line from `#` on; a byte that text does not hold is noted."""
    start = p
    bits = np.uint64(0)
    while byte(p) != NEWLINE:
        if byte(p) == 0:
            fail(state, NUL, start)
            return p
        bits |= byte(p)
        p += ONE
    state[HIGH] |= np.int64(bits >> np.uint64(7))
    return p


@kernel
def read_comment(p, row, sizes, text, state):
    """Append the document id of a comment: the word behind `docid =`, or else all of it."""
    end = skip_comment(p, state)
    p = skip_blanks(p + ONE)
    begin, stop = find_docid(p, end)
    if begin == stop:
        begin, stop = p, end
        while stop > begin and is_blank(byte(stop - ONE)):
            stop -= ONE
    to = np.uint64(state[DOC_END])
    for i in range(stop - begin):
        text[to + i] = byte(begin + i)
    sizes[row] = np.int64(stop - begin)
    state[DOC_END] += np.int64(stop - begin)
    return end


@kernel
def find_docid(p, end):
    """Begin and end of the word behind `docid =` or `docid=`; nothing where there is none."""
    is_start = True
    while p < end:
        if is_start and word(p, 5) == DOCID:
            begin = skip_blanks(p + np.uint64(5))
            if byte(begin) == EQUALS:
                begin = skip_blanks(begin + ONE)
                stop = begin
                while not is_blank(byte(stop)):
                    stop += ONE
                return begin, stop
        is_start = is_blank(byte(p))
        p += ONE
    return end, end
