"""Random tables through text and back, beside a parser of a few plain lines."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankforce.formats.letor_text import read_text

PROFILE = settings(max_examples=150, deadline=None, derandomize=True)
BLANKS = st.text(alphabet=" \t", min_size=1, max_size=3)


def numbers(largest: float) -> st.SearchStrategy[str]:
    """Numbers as people and programs write them."""
    digits = st.text(alphabet="0123456789", max_size=24)
    spelled = st.builds(
        lambda sign, whole, point, power: sign + (whole or "0") + point + power,
        st.sampled_from(["", "-", "+"]),
        digits,
        st.one_of(st.just(""), digits.map(lambda d: "." + d)),
        st.one_of(st.just(""), st.integers(-60, 20).map(lambda p: f"e{p}")),
    )
    doubles = st.floats(allow_nan=False, allow_infinity=False)
    singles = st.floats(allow_nan=False, allow_infinity=False, width=32)
    # Halfway between two float32, and next to it: where a number rounded twice goes wrong.
    halves = singles.map(lambda x: (x + float(np.nextafter(np.float32(x), np.float32(0)))) / 2)
    near = st.one_of(halves, halves.map(lambda x: math.nextafter(x, 0.0))).map(repr)
    plain = st.one_of(
        st.integers(-1000, 10**12).map(str),
        st.floats(-1e6, 1e6).map(lambda x: f"{x:.6f}"),
        doubles.map(repr),
        doubles.map(lambda x: f"{x:.30g}"),
        near,
        spelled,
    )
    return plain.filter(lambda text: abs(float(text)) <= largest)


FEATURE = st.one_of(numbers(3.4028235e38), st.sampled_from(["nan", "NaN"]))
LABEL = numbers(1.7e308)
WORD = st.text(
    alphabet=st.characters(blacklist_categories=["Cs", "Cc", "Z"], blacklist_characters="#"),
    min_size=1,
    max_size=6,
)


@st.composite
def lines(draw: Any, first: int) -> list[str]:
    """Lines of one file, with blank lines and comments among them."""
    query = draw(st.sampled_from([st.integers(-5, 10**17).map(str), WORD, None]))
    found = []
    for _ in range(draw(st.integers(1, 12))):
        parts = [draw(LABEL)]
        if query is not None:
            parts.append("qid:" + draw(query))
        indices = draw(st.lists(st.integers(first, 12), unique=True, max_size=8))
        parts += [f"{index}:{draw(FEATURE)}" for index in indices]
        line = draw(BLANKS.map(lambda b: b[1:])) + "".join(p + draw(BLANKS) for p in parts)
        if draw(st.booleans()):
            line += draw(st.sampled_from(["#", "# ", "#docid = ", "# x docid="])) + draw(WORD)
        found.append(line)
        found += draw(st.lists(st.sampled_from(["", "  ", "# note", "\t#"]), max_size=2))
    return found


def naive(text: list[str]) -> tuple[Any, ...]:
    """Labels, ids, features and comments, line by line."""
    rows = []
    for line in text:
        body, _, comment = line.partition("#")
        tokens = body.split()
        if not tokens:
            continue
        qid = None
        if len(tokens) > 1 and tokens[1].startswith("qid:"):
            qid = tokens.pop(1)[4:]
        pairs = [token.split(":") for token in tokens[1:]]
        cells = {int(index): np.float32(float(value)) for index, value in pairs}
        comment = comment.strip()
        before, found, doc_id = comment.replace("docid=", "docid =").partition("docid =")
        is_id = found and (not before or before[-1] == " ") and doc_id.split()
        rows.append((float(tokens[0]), qid, cells, doc_id.split()[0] if is_id else comment))
    labels, qids, cells, doc_ids = zip(*rows, strict=True)
    indices = {index for row in cells for index in row}
    base = 0 if 0 in indices else 1
    features = np.zeros((len(rows), max(indices, default=base - 1) - base + 1), np.float32)
    for row, values in enumerate(cells):
        for index, value in values.items():
            features[row, index - base] = value
    return features, labels, qids, doc_ids


@given(st.integers(0, 1).flatmap(lines), st.integers(1, 3), st.integers(1, 300), st.booleans())
@PROFILE
def test_same_as_a_naive_parser(
    text: list[str], threads: int, block_bytes: int, is_ended: bool
) -> None:
    features, labels, qids, doc_ids = naive(text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        path.write_bytes(("\n".join(text) + "\n" * is_ended).encode())
        found = read_text(path, threads=threads, block_bytes=block_bytes)
    np.testing.assert_array_equal(found.features, features)
    np.testing.assert_array_equal(np.signbit(found.features), np.signbit(features))
    assert found.features.dtype == np.float32
    np.testing.assert_array_equal(found.labels, labels)
    if qids[0] is None:
        assert found.qid is None
    else:
        assert found.qid is not None
        is_whole = found.qid.dtype == np.int64
        assert found.qid.tolist() == [int(qid) if is_whole else qid for qid in qids]
    if any(doc_ids):
        assert tuple(found.doc_ids.to_pylist()) == doc_ids
    else:
        assert found.doc_ids is None


@given(st.lists(FEATURE, min_size=1, max_size=60))
@settings(PROFILE, max_examples=400)
def test_values_to_the_last_bit(values: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        path.write_text("1 " + " ".join(f"{j}:{v}" for j, v in enumerate(values)))
        found = read_text(path, base=0, threads=1).features[0]
    expected = np.array([float(value) for value in values]).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
