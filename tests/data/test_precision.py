"""What float32 does not tell apart is said, with the column and how many values were lost."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import rankforce as rf
from rankforce.common.notes import Note

pd = pytest.importorskip("pandas")

TIMES = 1_700_000_000 + 60 * np.arange(1000)
EXPECTED = len(np.unique(TIMES.astype(np.float32)))
QID = np.repeat(np.arange(100), 10)
LOST = rf"column 'time': 1,000 different values from 16,777,216 on become {EXPECTED} in float32"


@pytest.mark.parametrize("kind", ["int64", "float64", "uint64"])
def test_arrays(kind: str) -> None:
    X = np.column_stack([np.arange(1000), TIMES]).astype(kind)
    with pytest.warns(Note, match=LOST.replace("'time'", "1")):
        rf.RankingData(X, qid=QID)


def test_sparse() -> None:
    X = sparse.csr_matrix(np.column_stack([np.arange(1000), TIMES]))
    with pytest.warns(Note, match=LOST.replace("'time'", "1")):
        rf.RankingData(X, qid=QID)
    with pytest.raises(ValueError, match="column 1 of a sparse matrix has codes of categories"):
        rf.RankingData(X, qid=QID, categorical=[1])


@pytest.mark.parametrize("dtype", [None, "Int64"])
def test_frames(dtype: str | None) -> None:
    frame = pd.DataFrame({"f": np.arange(1000), "time": pd.Series(TIMES, dtype=dtype)})
    with pytest.warns(Note, match=LOST):
        rf.RankingData(frame, qid=QID)


@pytest.mark.parametrize("ending", ["csv", "parquet", "txt"])
def test_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"d.{ending}"
    frame = pd.DataFrame({"qid": QID, "label": 0, "time": TIMES})
    if ending == "txt":
        path.write_text("".join(f"0 qid:{q} 1:{t}\n" for q, t in zip(QID, TIMES, strict=True)))
    elif ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    with pytest.warns(Note, match=LOST.replace("time", "1" if ending == "txt" else "time")):
        rf.read(path)


def test_features_by_number_from_0(tmp_path: Path) -> None:
    lines = [f"0 qid:{q} 1:{t}\n" for q, t in zip(QID, TIMES, strict=True)]
    (tmp_path / "d.txt").write_text("".join(lines) + "0 qid:1 0:1\n")
    with pytest.warns(Note, match=LOST.replace("time", "1")):
        rf.read(tmp_path / "d.txt")


def test_what_is_not_lost_is_not_said() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            np.arange(1000) << 24,  # float32 holds these
            np.where(np.arange(1000) % 2, 0.1, np.nan),
            rng.uniform(0, 1e9, 1000),  # rounded, not collapsed
            np.full(1000, 1_700_000_001),  # one value
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rf.RankingData(X, qid=QID)


def test_codes_of_categories_are_any_int64() -> None:
    codes = np.array([5, -3, 2**62, 2**62 + 1] * 250)
    X = np.column_stack([np.arange(1000), codes])
    labels = (codes == 2**62 + 1).astype(float)
    with pytest.warns(Note, match="column 1: negative codes of categories count as missing"):
        data = rf.RankingData(X, labels, qid=QID, categorical=[1])
    assert data.categories == {1: [5, 2**62, 2**62 + 1]}
    np.testing.assert_array_equal(data.features[:4, 1], [0, np.nan, 1, 2])
    ranker = rf.Ranker(n_estimators=10, min_child_samples=5, progress=False).fit(data)
    assert (
        ranker.score(data, metric="p@3") > rf.metric("p@3")(np.zeros(1000), labels, qid=QID).mean()
    )
    assert np.array_equal(ranker.predict(X), ranker.predict(data))
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert np.array_equal(ranker.predict(frame), ranker.predict(data))
    with pytest.raises(ValueError, match="codes of categories that float32 does not hold"):
        ranker.predict(rf.RankingData(X.astype(np.float32), labels, qid=QID))


def test_renumbered_codes_survive_a_file_and_a_model(tmp_path: Path) -> None:
    codes = 10**12 + np.tile(np.arange(4), 250)
    X = np.column_stack([np.arange(1000), codes])
    data = rf.RankingData(X, codes % 2, qid=QID, categorical=[1])
    ranker = rf.Ranker(n_estimators=5, min_child_samples=5, progress=False).fit(data)
    ranker.save(tmp_path / "run")
    assert np.array_equal(rf.load(tmp_path / "run").predict(X), ranker.predict(data))
    from rankforce.formats.write import write

    write(data, tmp_path / "d.parquet")
    back = rf.read(tmp_path / "d.parquet")
    assert back.schema[:3] == data.schema[:3]
    assert np.array_equal(ranker.predict(back), ranker.predict(data))
