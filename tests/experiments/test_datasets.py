"""Data sets as they are distributed, made up in small: which files are which, and what is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.experiments.datasets import LAYOUTS, OWN, find_dataset
from rankforce.formats import lines
from rankforce.formats.write import write

PLACES = {
    "mslr-web30k": "MSLR-WEB30K",
    "mslr-web10k": "MSLR-WEB10K",
    "mq2007": "MQ2007",
    "mq2008": "MQ2008",
    "yahoo-1": "anything",
    "istella-s": "istella-s-letor",
    "istella-f": "istella-letor",
    "istella-x": "istella-X",
}


def text(first: int, queries: int = 3, label: int = 1) -> str:
    """Queries of two documents, numbered from `first`."""
    rows = []
    for qid in range(first, first + queries):
        rows += [f"{label} qid:{qid} 1:0.5 3:{qid}", f"0 qid:{qid} 2:1 # docid = {qid}"]
    return "\n".join(rows) + "\n"


def make(root: Path, name: str) -> Path:
    """A set as it is distributed: query numbers tell the fold (hundreds) and the part (tens)."""
    folder = root / PLACES[name]
    layout = LAYOUTS[name]
    for fold in range(1, layout.folds + 1):
        for part, file in enumerate(layout.files):
            if file:
                path = folder / layout.folder / file.format(fold=fold)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text(100 * fold + 10 * part))
    return folder


def test_every_public_set_is_tested() -> None:
    assert [*PLACES, OWN] == [*LAYOUTS]


@pytest.mark.parametrize("name", PLACES)
def test_every_layout_is_recognised_and_read(name: str, tmp_path: Path) -> None:
    found = find_dataset(make(tmp_path, name))
    layout = LAYOUTS[name]
    assert found.name == name
    assert len(found.folds) == layout.folds == (5 if name.startswith("m") else 1)
    for fold in range(1, layout.folds + 1):
        for number, part in enumerate(("train", "valid", "test")):
            data = found.read(part, fold=fold)
            if name == "istella-f" and part == "valid":
                assert data is None
                continue
            assert data is not None
            assert data.features.shape == (6, layout.n_features)
            first = 100 * fold + 10 * number
            assert data.query_ids.tolist() == [first, first + 1, first + 2]
            assert data.labels.tolist() == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("queries", [1, 2, 3, 7])
@pytest.mark.parametrize("name", ["mslr-web30k", "istella-s"])
def test_the_first_queries_are_those_of_the_whole(name: str, queries: int, tmp_path: Path) -> None:
    found = find_dataset(make(tmp_path, name))
    whole, some = found.read("train"), found.read("train", queries=queries)
    assert whole is not None
    assert some is not None
    rows = 2 * min(queries, 3)
    assert np.array_equal(some.features, whole.features[:rows])
    assert some.qid.tolist() == whole.qid[:rows].tolist()


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("size", [8, 50, 1000])
def test_blocks_may_end_anywhere(
    size: int, packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", size)
    folder = make(tmp_path, "yahoo-1")
    whole = text(100, 9).removesuffix("\n").encode()
    (folder / "set1.train.txt").unlink()
    packed = gzip.compress(whole) if packing else whole
    (folder / f"set1.train.txt{packing}").write_bytes(packed)
    found = find_dataset(folder)
    for queries in (1, 4, 9, 12):
        some = found.read("train", queries=queries)
        assert some is not None
        assert some.qid.tolist() == [100 + row // 2 for row in range(2 * min(queries, 9))]


def test_the_rest_of_a_file_is_not_read(tmp_path: Path) -> None:
    folder = make(tmp_path, "yahoo-1")
    with open(folder / "set1.train.txt", "a") as file:
        file.write("this is no line\n" * 3)
    found = find_dataset(folder)
    some = found.read("train", queries=2)
    assert some is not None
    assert some.query_ids.tolist() == [100, 101]
    with pytest.raises(rf.RankforceError, match=r"set1.train.txt, line 7"):
        found.read("train")
    with pytest.raises(rf.RankforceError, match=r"set1.train.txt, line 7"):
        found.read("train", queries=4)


def test_pieces_of_letor_go_round(tmp_path: Path) -> None:
    folder = tmp_path / "MQ2008"
    folder.mkdir()
    for piece in range(1, 6):
        (folder / f"S{piece}.txt.gz").write_bytes(gzip.compress(text(100 * piece).encode()))
    found = find_dataset(folder)

    def first_of(part: str, fold: int, **some: int) -> list[int]:
        data = found.read(part, fold=fold, **some)
        assert data is not None
        return [int(qid) // 100 for qid in data.query_ids]

    for fold in range(1, 6):
        train, valid, test = (first_of(part, fold)[::3] for part in ("train", "valid", "test"))
        assert [*train, *valid, *test] == [(fold - 1 + step) % 5 + 1 for step in range(5)]
    assert first_of("train", 5, queries=4) == [5, 5, 5, 1]


def test_a_set_given_by_the_folder_inside(tmp_path: Path) -> None:
    for name in ("istella-s", "istella-f"):
        folder = make(tmp_path, name)
        assert find_dataset(folder / LAYOUTS[name].folder).name == name
    plain = make(tmp_path, "istella-s") / "sample"
    plain = plain.rename(tmp_path / "plain")
    assert find_dataset(plain).name == OWN  # plain names may be anyone's
    assert find_dataset(plain, name="istella-x").name == "istella-x"


def make_own(folder: Path, *names: str) -> list[rf.RankingData]:
    """Three parts under these names."""
    folder.mkdir()
    made = (rf.make_data("yahoo", queries=4, seed=seed) for seed in range(3))
    parts = [rf.RankingData(data.features, data.labels, qid=data.qid) for data in made]
    for data, name in zip(parts, names, strict=True):
        write(data, folder / name)
    return parts


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "vali.txt", "test.txt"),
        ("train.parquet", "valid.csv.gz", "test.pq"),
        ("train.svm.zst", "validation.dat", "test.letor.gz"),
    ],
)
def test_a_set_of_ones_own(names: tuple[str, str, str], tmp_path: Path) -> None:
    parts = make_own(tmp_path / "mine", *names)
    found = find_dataset(tmp_path / "mine")
    assert (found.name, len(found.folds)) == (OWN, 1)
    assert (found.layout.n_features, found.layout.largest_label) == (None, None)
    assert find_dataset(tmp_path / "mine", name="own") == found
    width = rf.read(tmp_path / "mine" / names[0]).features.shape[1]
    for part, wanted in zip(("train", "valid", "test"), parts, strict=True):
        whole = found.read(part)
        assert whole is not None
        assert whole.labels.tolist() == wanted.labels.tolist()
        assert np.array_equal(whole.features, wanted.features[:, :width])
        for queries in (1, 3, 9):
            some = found.read(part, queries=queries)
            assert some is not None
            rows = wanted.sizes[:queries].sum()
            assert some.labels.tolist() == wanted.labels[:rows].tolist()
            assert np.array_equal(some.features, whole.features[:rows])
    with pytest.raises(rf.RankforceError, match="fold is 2: own has 1"):
        found.read("train", fold=2)


@pytest.mark.filterwarnings("ignore:.*text, which becomes categories")
def test_every_part_has_the_columns_of_train(tmp_path: Path) -> None:
    rows = "9,1,b,3\n0,1,a,4\n0,1,c,4\n" * 20
    (tmp_path / "train.csv").write_text(f"label,qid,shop,price\n{rows}")
    (tmp_path / "valid.csv").write_text("price,shop,qid,label\n5,a,7,1\n6,b,7,0\n")
    (tmp_path / "test.csv").write_text("qid,label,price,shop\n8,1,5,c\n8,0,6,d\n")
    found = find_dataset(tmp_path)
    train, valid, test = (found.read(part) for part in ("train", "valid", "test"))
    assert train is not None
    assert valid is not None
    assert test is not None
    assert train.feature_names == valid.feature_names == test.feature_names
    shop, price = (train.feature_names.index(name) for name in ("shop", "price"))
    codes = dict(zip("bac", train.features[:3, shop].tolist(), strict=True))
    assert valid.features[:, shop].tolist() == [codes["a"], codes["b"]]
    assert valid.features[:, price].tolist() == [5, 6]
    assert test.features[0, shop] == codes["c"]
    assert np.isnan(test.features[1, shop])
    some = found.read("valid", queries=1)
    assert some is not None
    assert some.schema == valid.schema


def test_text_is_as_wide_as_train(tmp_path: Path) -> None:
    for part, line in (("train", "1 qid:1 3:1"), ("vali", "1 qid:2 2:1"), ("test", "0 qid:3 1:1")):
        (tmp_path / f"{part}.txt").write_text(f"{line}\n")
    found = find_dataset(tmp_path)
    assert [found.read(part).features.shape for part in ("train", "valid", "test")] == [(1, 3)] * 3


def test_a_public_set_goes_before_ones_own(tmp_path: Path) -> None:
    folder = make(tmp_path, "istella-x")
    assert find_dataset(folder).name == "istella-x"
    assert find_dataset(folder, name="own").name == OWN
    folder = make(tmp_path, "yahoo-1")
    for name in ("train.csv", "train.txt", "valid.csv", "test.csv"):
        (folder / name).write_text("")
    assert find_dataset(folder).name == "yahoo-1"


def test_mistakes_in_a_folder_of_ones_own(tmp_path: Path) -> None:
    for name in ("train.csv", "test.csv", "valid.json"):
        (tmp_path / name).write_text("")
    with pytest.raises(rf.RankforceError, match=r"; or train\.\*, valid or vali or .* \(own\)$"):
        find_dataset(tmp_path)
    with pytest.raises(rf.RankforceError, match=r"has .*valid.json: expected train\.\*, valid or"):
        find_dataset(tmp_path, name="own")
    (tmp_path / "vali.txt").write_text("")
    (tmp_path / "valid.csv.gz").write_text("")
    with pytest.raises(rf.RankforceError, match=r"has valid.csv.gz and vali.txt: expected one"):
        find_dataset(tmp_path)


def test_numbers_of_istella_keep_their_order(tmp_path: Path) -> None:
    folder = make(tmp_path, "istella-s")
    line = b"2 qid:1 1:1.79769313486e+308 2:-1.79769313486E+308 3:2e+05 # caf\xe9\n"
    (folder / "sample" / "train.txt").write_bytes(line + b"0 qid:1 1:5\n")
    for queries in (None, 1):
        data = find_dataset(folder).read("train", queries=queries)
        assert data is not None
        assert data.features[0, :3].tolist() == np.float32([3e38, -3e38, 2e5]).tolist()


def test_mistakes_are_told(tmp_path: Path) -> None:
    with pytest.raises(rf.RankforceError, match="is no folder"):
        find_dataset(tmp_path / "nothing")
    with pytest.raises(rf.RankforceError, match=r"has no files: expected Fold1/train.txt"):
        find_dataset(tmp_path)
    with pytest.raises(rf.RankforceError, match=r"expected set1.train.txt, .* \(yahoo-1\)$"):
        find_dataset(tmp_path, name="yahoo-1")
    with pytest.raises(rf.RankforceError, match="choose 'mslr-web30k'"):
        find_dataset(tmp_path, name="mslr")
    folder = make(tmp_path, "mslr-web30k").rename(tmp_path / "folds")
    with pytest.raises(rf.RankforceError, match=r"may be 'mslr-web30k', .* say which by name="):
        find_dataset(folder)
    found = find_dataset(folder, name="mslr-web30k")
    with pytest.raises(rf.RankforceError, match="fold is 6: mslr-web30k has 5"):
        found.read("train", fold=6)
    with pytest.raises(rf.RankforceError, match="the part is 'dev': choose 'train'"):
        found.read("dev")
    with pytest.raises(rf.RankforceError, match="queries is 0"):
        found.read("train", queries=0)
    (folder / "Fold1" / "train.txt").write_text(text(1, label=7))
    with pytest.raises(rf.RankforceError, match="has a label 7: expected labels from 0 to 4"):
        found.read("train")
    (folder / "Fold1" / "train.txt").write_text("1 qid:1 137:1\n")
    with pytest.raises(rf.RankforceError, match="has 137 features, but n_features is 136"):
        found.read("train")
