"""Features and vectors from every kind of table, with the mistakes named."""

from __future__ import annotations

import datetime
import subprocess
import sys

import numpy as np
import pytest

from rankforce.data.frames import to_matrix, to_vector
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
sparse = pytest.importorskip("scipy.sparse")

NAN = float("nan")


def test_float32_in_c_order_is_not_copied():
    X = np.ones((3, 2), np.float32)
    assert to_matrix(X).values is X


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_real_dtype(dtype, order):
    X = np.asarray([[0, 1, 1], [1, 0, 1]], dtype=dtype, order=order)
    values = to_matrix(X).values
    assert values.dtype == np.float32
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, [[0, 1, 1], [1, 0, 1]])


@pytest.mark.parametrize(
    "X", [[[1, None], [True, 0.5]], np.ma.array([[1, 9], [1, 0.5]], mask=[[0, 1], [0, 0]])]
)
def test_missing_values_become_nan(X):
    np.testing.assert_array_equal(to_matrix(X).values, [[1, NAN], [1, 0.5]])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_arrays(shape):
    assert to_matrix(np.zeros(shape)).values.shape == shape


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([["a"]], "column 0 holds text, as 'a' in row 0: expected numbers"),
        (np.array([[1, 2], [3, "b"]], object), "column 1, row 1 is 'b': expected a number"),
        (np.array([[1j]]), "column 0 holds complex128 values"),
        ([[1, 2], [3]], "X has rows of different lengths"),
        ([1.0, 2.0], r"X has shape \(2,\): expected rows and columns"),
        (np.array([[0, 1e39]]), r"row 0, column 1 is 1e\+39: expected a number that float32"),
        (np.array([[0, 0], [-np.inf, 0]]), "row 1, column 0 is -inf: expected"),
        (np.array([[0, np.inf]], np.float32), "row 0, column 1 is inf: expected"),
    ],
)
def test_a_wrong_array_is_named(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_matrix(X)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_sparse_matrices_become_csr(kind, dtype):
    dense = np.asarray([[0, 1, 0], [1, 0, 1]], dtype)
    values = to_matrix(sparse.coo_array(dense).asformat(kind)).values
    assert values.format == "csr"
    assert values.dtype == np.float32
    assert values.has_canonical_format
    np.testing.assert_array_equal(values.toarray(), dense)


def test_sparse_is_copied_only_if_it_must_be():
    good = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    assert to_matrix(good).values is good
    unsorted = sparse.csr_matrix(
        (np.array([1, 2, 3], np.float32), np.array([2, 0, 0]), np.array([0, 3])), shape=(1, 3)
    )
    np.testing.assert_array_equal(to_matrix(unsorted).values.toarray(), [[5, 0, 1]])
    np.testing.assert_array_equal(unsorted.indices, [2, 0, 0])
    np.testing.assert_array_equal(unsorted.data, [1, 2, 3])


def test_sparse_overflow_is_named():
    with pytest.raises(ValueError, match=r"row 2, column 1 is 1e\+39"):
        to_matrix(sparse.csc_array(np.array([[0, 0], [1, 0], [0, 1e39]])))


def a_pandas_frame():
    return pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "truth": [True, False, True],
            "maybe": pd.array([1, None, 3], dtype="Int64"),
            "yes": pd.array([True, None, False], dtype="boolean"),
            "colour": pd.Categorical(["red", "blue", None], categories=["none", "blue", "red"]),
            "real": [0.5, NAN, 2.0],
        }
    )


PANDAS_VALUES = [[1, 1, 1, 1, 2, 0.5], [2, 0, NAN, NAN, 1, NAN], [3, 1, 3, 0, NAN, 2]]


def test_pandas_frame():
    matrix = to_matrix(a_pandas_frame())
    assert matrix.values.dtype == np.float32
    assert matrix.values.flags.c_contiguous
    np.testing.assert_array_equal(matrix.values, PANDAS_VALUES)
    assert matrix.names == ["whole", "truth", "maybe", "yes", "colour", "real"]
    assert matrix.categorical == [4]
    assert matrix.categories == {4: ["none", "blue", "red"]}


def test_pandas_frame_over_a_float32_array_is_not_copied():
    X = np.ones((4, 3), np.float32)
    assert np.shares_memory(to_matrix(pd.DataFrame(X, copy=False)).values, X)
    mixed = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    assert to_matrix(mixed).values.flags.c_contiguous


def test_pandas_arrow_columns_and_numbers_as_names():
    frame = pd.DataFrame({0: pd.array([1, None], dtype="int64[pyarrow]"), 1: [1.0, 2.0]})
    matrix = to_matrix(frame)
    np.testing.assert_array_equal(matrix.values, [[1, 1], [NAN, 2]])
    assert matrix.names is None  # pandas counts columns that have no name


def a_polars_frame():
    return pl.DataFrame(
        {
            "whole": [1, None, 3],
            "truth": [True, None, False],
            "real": [0.5, None, NAN],
            "colour": pl.Series(["red", "blue", None], dtype=pl.Categorical),
            "size": pl.Series(["s", "l", None], dtype=pl.Enum(["s", "m", "l"])),
        }
    )


def test_polars_frame():
    matrix = to_matrix(a_polars_frame())
    expected = [[1, 1, 0.5, 0, 0], [NAN, NAN, NAN, 1, 2], [3, 0, NAN, NAN, NAN]]
    np.testing.assert_array_equal(matrix.values, expected)
    assert matrix.values.dtype == np.float32
    assert matrix.categories == {3: ["red", "blue"], 4: ["s", "m", "l"]}


def an_arrow_table():
    pieces = [pa.array(["red"]).dictionary_encode(), pa.array(["blue", None]).dictionary_encode()]
    return pa.table(
        {
            "whole": [1, None, 3],
            "truth": [True, None, False],
            "half": pa.array([0.5, None, 2], pa.float16()),
            "colour": pa.chunked_array(pieces),
            "nothing": pa.nulls(3),
        }
    )


def test_arrow_table_and_batch():
    table = an_arrow_table()
    expected = [[1, 1, 0.5, 0, NAN], [NAN, NAN, NAN, 1, NAN], [3, 0, 2, NAN, NAN]]
    matrix = to_matrix(table)
    np.testing.assert_array_equal(matrix.values, expected)
    assert matrix.names == ["whole", "truth", "half", "colour", "nothing"]
    assert matrix.categories == {3: ["red", "blue"]}
    np.testing.assert_array_equal(to_matrix(table.to_batches()[0]).values, expected[:1])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_many_rows_are_filled_in_blocks(make):
    X = np.random.default_rng(0).normal(size=(5000, 7))
    frame = make({f"f{c}": X[:, c] for c in range(7)})
    np.testing.assert_array_equal(to_matrix(frame).values, X.astype(np.float32))


CATEGORIES = {0: ["none", "blue", "red"]}
COLOURS = ["red", "green", None, "none"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"colour": pd.Categorical(COLOURS)}),
        pd.DataFrame({"colour": COLOURS}),
        pl.DataFrame({"colour": pl.Series(COLOURS, dtype=pl.Categorical)}),
        pl.DataFrame({"colour": COLOURS}),
        pa.table({"colour": pa.array(COLOURS).dictionary_encode()}),
        pa.table({"colour": COLOURS}),
    ],
    ids=["pandas", "pandas text", "polars", "polars text", "arrow", "arrow text"],
)
def test_a_later_frame_gets_the_same_codes(frame):
    matrix = to_matrix(frame, like=Schema((), CATEGORIES))
    np.testing.assert_array_equal(matrix.values.ravel(), [2, NAN, NAN, 0])
    assert matrix.categorical == [0]
    assert matrix.categories == CATEGORIES


def test_an_array_holds_codes_already():
    matrix = to_matrix(np.array([[2.0, 5.0]]), like=Schema((), CATEGORIES))
    np.testing.assert_array_equal(matrix.values, [[2, 5]])
    assert (matrix.categorical, matrix.categories) == ([0], CATEGORIES)
    with pytest.raises(ValueError, match="categories of column 7, but there are 2 columns"):
        to_matrix(np.ones((1, 2)), like=Schema((), {7: ["a"]}))


def test_a_column_without_any_category_is_still_categorical():
    matrix = to_matrix(pd.DataFrame({"c": pd.Categorical([None, None])}))
    assert (matrix.categorical, matrix.categories) == ([0], {0: []})
    assert np.isnan(matrix.values).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("values", [["a", "b"], [datetime.date(2024, 1, 1)] * 2])
def test_a_column_of_something_else_is_named(make, values):
    with pytest.raises(ValueError, match=r"column 'odd' holds .*: expected numbers, or make"):
        to_matrix(make({"good": [1.0, 2.0], "odd": values}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("value", "shown"), [(1e300, r"1e\+300"), (-np.inf, "-inf")])
def test_a_value_beyond_float32_is_named(make, value, shown):
    with pytest.raises(ValueError, match=f"row 2500, column 'x' is {shown}: expected"):
        to_matrix(make({"w": [0.0] * 3000, "x": [0.0] * 2500 + [value] + [0.0] * 499}))


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 1],
        np.array([1, None, True], dtype=object),
        pd.Series([1, None, 1], dtype="Int64"),
        pd.Series([1.0, None, 1.0]),
        pl.Series([1, None, 1]),
        pa.array([1, None, 1]),
        pa.array([True, None, True]),
        pa.chunked_array([[1], [None, 1]]),
    ],
)
def test_vectors(values):
    vector = to_vector(values, "labels")
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector, [1, NAN, 1])


def test_a_float64_vector_is_not_copied():
    values = np.arange(3.0)
    assert to_vector(values, "labels") is values


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["a"], "labels holds text, as 'a' in row 0: expected numbers"),
        ([[1]], r"labels has shape \(1, 1\): expected one number for each row"),
        (3, r"labels has shape \(\): expected one number"),
        (np.array([1, "x"], object), "labels, row 1 is 'x': expected a number"),
        (pd.Series(["a"]), "labels holds (str.*|object) values: expected numbers$"),
        (pd.Series(pd.Categorical([1, 2])), "labels holds categories: expected numbers"),
        (pl.Series(["a"]), "labels holds String values: expected numbers$"),
        (pa.array(["a"]), "labels holds string values: expected numbers$"),
    ],
)
def test_a_wrong_vector_is_named(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        to_vector(values, "labels")


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.Series(values, dtype="Float64", index=[7, 7, 9]),
        lambda values: pl.Series(values),
        lambda values: pa.chunked_array([values[:1], values[1:]]),
        lambda values: np.ma.masked_invalid(np.array(values, dtype=float)),
    ],
    ids=["pandas", "polars", "arrow", "masked"],
)
def test_sources_of_any_library_go_by_place_and_keep_what_is_missing(make):
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "red"]), "f": [1.0, 2.0, 3.0]})
    data = RankingData(
        frame, [0, 1, 2], qid=["b", "a", "b"], sources={"clicks": make([0.5, None, 0.0])}
    )
    assert data.sources["clicks"].dtype == np.float64
    np.testing.assert_array_equal(data.column("clicks"), [0.5, NAN, 0])
    taken = data.with_preferences([[2, 0]]).take_queries([0])
    np.testing.assert_array_equal(taken.column("clicks"), [0.5, 0])
    assert (taken.categorical, taken.categories) == ([0], {0: ["blue", "red"]})
    assert taken.features[:, 0].tolist() == [1, 1]


def test_a_source_of_words_is_named():
    with pytest.raises(ValueError, match="source 'clicks' holds text, as 'many' in row 0: expect"):
        RankingData([[1.0]], [0], qid=[1], sources={"clicks": ["many"]})


def test_no_library_is_loaded_for_an_array():
    code = (
        "import sys, numpy as np; from rankforce.data.frames import to_matrix, to_vector;"
        "to_matrix(np.ones((2, 2))); to_vector([1], 'y');"
        "print([m for m in ('scipy', 'pandas', 'polars', 'pyarrow') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr
