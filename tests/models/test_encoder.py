"""Features for networks: scaled as a naive version does it, however they are kept, and restored."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from rankforce.common.errors import RankforceError
from rankforce.data.stored import StoredColumns
from rankforce.models.network import encoder as module
from rankforce.models.network.encoder import SCALINGS, Encoder

NAMES = ["count", "signed", "gaps", "same", "same_or_none", "none", "kind", "one_kind", "rare"]
KIND, ONE_KIND = NAMES.index("kind"), NAMES.index("one_kind")


def make_rows(rows: int = 500, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    found = np.zeros((rows, len(NAMES)), np.float32)
    found[:, 0] = np.floor(np.exp(random.normal(2, 2, rows)))
    found[:, 1] = random.normal(-3, 50, rows)
    found[:, 2] = np.where(random.random(rows) < 0.2, np.nan, random.random(rows))
    found[:, 3] = 7.5
    found[:, 4] = np.where(random.random(rows) < 0.5, np.nan, 1)
    found[:, 5] = np.nan
    found[:, KIND] = random.integers(0, 5, rows)
    found[3, KIND] = np.nan
    found[rows // 2, 8] = 1
    return found


ROWS = make_rows()


def fit(rows: Any = ROWS, scaling: str = "log", flags: bool = True) -> Encoder:
    return Encoder.fit(
        rows, names=NAMES, categorical=[KIND, ONE_KIND], scaling=scaling, flags=flags
    )


def naive_scaled(values: Any, scaling: str) -> list[float]:
    """One column in plain Python; of quantiles, only that the order stays."""
    there = [float(v) for v in values if not math.isnan(v)]
    if scaling == "log":
        there = [math.copysign(math.log(1 + abs(v)), v) for v in there]
    mean = sum(there) / len(there)
    spread = math.sqrt(sum((v - mean) ** 2 for v in there) / len(there))
    scaled = iter([min(max((v - mean) / spread, -8.0), 8.0) for v in there])
    return [0.0 if math.isnan(v) else next(scaled) for v in values]


@pytest.mark.parametrize("scaling", ["log", "standard"])
def test_numbers_are_scaled_as_the_naive_version_says(scaling):
    encoded = fit(scaling=scaling).apply(ROWS)
    for column in (0, 1, 2, 8):
        expected = naive_scaled(ROWS[:, column], scaling)
        np.testing.assert_allclose(
            encoded[:, column if column < 6 else 7], expected, rtol=1e-5, atol=1e-5
        )


def test_columns_are_numbers_then_flags_then_codes():
    encoder = fit()
    encoded = encoder.apply(ROWS)
    # All but "kind" are numbers; "one_kind" has one code only, and is left out like "same".
    assert encoder.numbers.tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    assert (encoder.dense, encoder.width) == (10, 11)
    np.testing.assert_array_equal(encoded[:, 8:10], np.isnan(ROWS[:, [2, 4]]))
    np.testing.assert_array_equal(encoded[:, 10], np.where(np.isnan(ROWS[:, 6]), 5, ROWS[:, 6]))
    assert encoder.constant == ["same", "none", "one_kind"]
    assert not encoded[:, [3, 4, 5, 6]].any()


def test_codes_that_training_has_not_seen_are_unknown():
    rows = np.repeat(ROWS[:1], 5, axis=0)
    rows[:, KIND] = [4, 5, 1e6, -1, np.nan]
    assert fit().apply(rows)[:, -1].tolist() == [4, 5, 5, 5, 5]


def test_without_flags_columns_are_features_and_codes_are_numbers():
    encoder = fit(flags=False, scaling="standard")
    encoded = encoder.apply(ROWS)
    assert encoded.shape == ROWS.shape
    expected = naive_scaled(ROWS[:, KIND], "standard")
    np.testing.assert_allclose(encoded[:, KIND], expected, rtol=1e-5, atol=1e-5)
    assert encoder.constant == ["same", "same_or_none", "none", "one_kind"]


def test_none_leaves_values_as_they_are_but_missing_and_constant_ones():
    encoded = fit(scaling="none", flags=False).apply(ROWS)
    expected = np.where(np.isnan(ROWS), 0, ROWS)
    expected[:, [3, 4]] = 0
    np.testing.assert_array_equal(encoded, expected)


def test_quantiles_spread_any_shape_over_the_same_range():
    encoded = fit(scaling="quantile").apply(ROWS)
    for column in (0, 1, 2):
        values, found = ROWS[:, column], encoded[:, column]
        is_there = ~np.isnan(values)
        order = np.argsort(values[is_there])
        assert (np.diff(found[is_there][order]) >= 0).all()
        assert abs(found[is_there].mean()) < 0.1
        assert found.min() == -2 or column == 0  # the lowest count occurs often
        assert found.max() == 2
    # 499 of 500 are 0: they stand in the middle of 62 of 64 places or more.
    assert abs(np.median(encoded[:, 7])) < 0.1
    assert encoded[:, 7].max() > 1.9


def test_quantiles_of_many_rows_come_from_a_sample_of_them_and_all_extremes(monkeypatch):
    rows = make_rows(4000)
    whole = fit(rows, "quantile").apply(rows)
    monkeypatch.setattr(module, "SAMPLE", 1000)
    sampled = fit(rows, "quantile")
    assert abs(sampled.apply(rows)[:, :3] - whole[:, :3]).max() < 0.4
    assert sampled.knots[1, [0, -1]].tolist() == [rows[:, 1].min(), rows[:, 1].max()]
    assert "rare" not in sampled.constant
    assert np.array_equal(fit(rows[::-1].copy(), "quantile").knots, sampled.knots)


def test_values_beyond_training_are_held_at_the_edge():
    rows = np.repeat(ROWS[:1], 2, axis=0)
    rows[:, 1] = [3e38, -3e38]
    for scaling, edge in (("log", 8), ("standard", 8), ("quantile", 2)):
        assert fit(scaling=scaling).apply(rows)[:, 1].tolist() == [edge, -edge]


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize(
    "values",
    [[3e38, -3e38, 1e38], [1e-40, 0, 1e-41], [16777216, 16777217, 16777218], [1e30, 0, 0]],
    ids=["huge", "tiny", "close", "outlier"],
)
def test_awkward_values_become_finite_ones(values, scaling):
    rows = np.array(values, np.float32)[:, None]
    encoder = Encoder.fit(rows, names=["a"], categorical=[], scaling=scaling)
    assert np.isfinite(encoder.apply(rows)).all()


@pytest.mark.parametrize("scaling", SCALINGS)
def test_features_may_be_kept_in_any_way(scaling, tmp_path: Path, monkeypatch):
    path = tmp_path / "features.parquet"
    pq.write_table(pa.table(dict(zip(NAMES, ROWS.T, strict=True))), path)
    whole = fit(scaling=scaling)
    monkeypatch.setattr(module, "STEP", 7 * len(NAMES))  # blocks of 7 rows
    for kept in (ROWS, sparse.csr_matrix(ROWS), StoredColumns(path)):
        found = fit(kept, scaling)
        assert found.record() == whole.record()
        for name, array in whole.arrays().items():
            np.testing.assert_allclose(found.arrays()[name], array, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("flags", [True, False])
def test_a_restored_encoder_does_the_same(scaling, flags):
    encoder = fit(scaling=scaling, flags=flags)
    again = Encoder.restore(encoder.record(), encoder.arrays())
    np.testing.assert_array_equal(again.apply(ROWS), encoder.apply(ROWS))
    assert again.constant == encoder.constant


@pytest.mark.parametrize("scaling", ["log", "quantile"])
@pytest.mark.parametrize("name", [*fit().arrays()])
def test_damaged_arrays_are_refused_in_a_sentence(name, scaling):
    encoder = fit(scaling=scaling)
    arrays = encoder.arrays()
    broken = [None, arrays[name][:-1], arrays[name].astype(np.float64)]
    if arrays[name].size and arrays[name].dtype == np.float32:
        broken.append(np.full_like(arrays[name], np.nan))
    for one in broken:
        given = {k: v for k, v in {**arrays, name: one}.items() if v is not None}
        with pytest.raises(RankforceError, match=f"encoded features: '{name}'"):
            Encoder.restore(encoder.record(), given)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("names", None),
        ("names", ["a"]),
        ("scaling", "cube"),
        ("categories", [[99, 5]]),
        ("categories", [[6, 0]]),
        ("categories", [6]),
        ("categories", 3),
    ],
)
def test_damaged_records_are_refused_in_a_sentence(key, value):
    encoder = fit()
    with pytest.raises(RankforceError, match="encoded features"):
        Encoder.restore({**encoder.record(), key: value}, encoder.arrays())
    rest = {k: v for k, v in encoder.record().items() if k != key}
    with pytest.raises(RankforceError, match="no record of encoded features"):
        Encoder.restore(rest, encoder.arrays())


def test_other_features_and_scalings_are_refused():
    with pytest.raises(RankforceError, match=r"shape \(500, 3\): expected rows of 9 features"):
        fit().apply(ROWS[:, :3])
    with pytest.raises(RankforceError, match="scaling is 'cube': choose 'log'"):
        fit(scaling="cube")


def test_no_rows_are_constant_features():
    assert fit(ROWS[:0]).constant == NAMES
