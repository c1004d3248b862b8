"""The public data sets of the papers, in the folders in which they are distributed, and others."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rankforce.common.checks import check_choice, check_whole, listed
from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.formats.lines import open_blocks
from rankforce.formats.read import read
from rankforce.formats.registry import FORMATS
from rankforce.formats.streams import PACKINGS

Files = dict[str, tuple[Path, ...]]  # of each part
PARTS = ("train", "valid", "test")
OWN = "own"  # a set that is none of the public ones
QUERY = re.compile(rb"(?m)^[^\n#]*?\bqid:(\S+)")
# Istella writes 1.79769313486e+308; any number above all others does the same in a tree.
TOO_LARGE = re.compile(rb"(?i)(:-?)[0-9.]+e\+?(?:39|[4-9][0-9]|[0-9]{3})\b")


class Layout(NamedTuple):
    """How a data set comes: names of files, and what is in them."""

    # Of train, valid and test; {fold} is its number, .* any format, | stands between other names.
    files: tuple[str, str, str]
    n_features: int | None  # None: as many as there are in train
    largest_label: int | None
    citation: str
    words: str  # pattern of the folder's name, where others have the same files
    folder: str = ""  # in which the files lie
    folds: int = 1
    pieces: tuple[str, ...] = ()  # files of LETOR 4.0 that go round: three train, one is valid
    is_wild: bool = False  # numbers too large for float32, comments in Latin-1


LETOR = "Qin and Liu 2013, Introducing LETOR 4.0 Datasets"
FOLDS = ("Fold{fold}/train.txt", "Fold{fold}/vali.txt", "Fold{fold}/test.txt")
PIECES = ("S1.txt", "S2.txt", "S3.txt", "S4.txt", "S5.txt")
NO_WORDS = r"(?!)"  # a pattern that nothing has
SPLIT = ("train.txt", "vali.txt", "test.txt")
YAHOO = Layout(
    ("set1.train.txt", "set1.valid.txt", "set1.test.txt"),
    700,
    4,
    "Chapelle and Chang 2011, Yahoo! Learning to Rank Challenge Overview",
    "yahoo",
)
ISTELLA = Layout(
    SPLIT,
    220,
    4,
    "Lucchese et al. 2016, Post-Learning Optimization of Tree Ensembles for Efficient Ranking",
    "istellas",
    "sample",
    is_wild=True,
)
LAYOUTS = {
    "mslr-web30k": Layout(FOLDS, 136, 4, LETOR, "30k", folds=5),
    "mslr-web10k": Layout(FOLDS, 136, 4, LETOR, "10k", folds=5),
    "mq2007": Layout(FOLDS, 46, 2, LETOR, "mq2007", folds=5, pieces=PIECES),
    "mq2008": Layout(FOLDS, 46, 2, LETOR, "mq2008", folds=5, pieces=PIECES),
    "yahoo-1": YAHOO,
    "istella-s": ISTELLA,
    "istella-f": ISTELLA._replace(
        files=("train.txt", "", "test.txt"),  # no queries for validation
        citation="Dato et al. 2016, Fast Ranking with Additive Ensembles of Oblivious and "
        "Non-Oblivious Regression Trees",
        words="istellaf|istellaletor|full",
        folder="full",
    ),
    "istella-x": ISTELLA._replace(
        citation="Lucchese et al. 2018, Selective Gradient Boosting for Effective Learning to Rank",
        words="istellax",
        folder="",
    ),
    OWN: Layout(
        ("train.*", "valid|vali|validation.*", "test.*"), None, None, "not published", NO_WORDS
    ),
}


class DataSet(NamedTuple):
    """A data set that was found: its name, and the files of each part of each fold."""

    name: str
    folder: Path
    folds: tuple[Files, ...]

    @property
    def layout(self) -> Layout:
        """How it comes."""
        return LAYOUTS[self.name]

    def read(self, part: str, *, fold: int = 1, queries: int | None = None) -> RankingData | None:
        """A part of a fold: "train", "valid" or "test"; None if the set has no such part.

        `queries` takes the first so many, without reading the rest of the file. A set of one's own
        is read as a whole, and has the columns of its training data in every part.
        """
        number = check_whole("fold", fold, least=1)
        if number > len(self.folds):
            raise RankforceError(
                f"fold is {fold}: {self.name} has {len(self.folds)} in {self.folder}"
            )
        files, chosen = self.folds[number - 1], check_choice("the part", part, PARTS)
        many = None if queries is None else check_whole("queries", queries, least=1)
        if self.name == OWN:
            return _read_own(files, chosen, many)
        return _read(files[chosen], self.layout, many) if chosen in files else None


def find_dataset(folder: str | Path, *, name: str | None = None) -> DataSet:
    """The data set in a folder, packed or not: recognised by its files, and by the folder's name.

    A folder that is none of the public sets is one's own, and called "own", if it has a file
    train.*, one valid.* (or vali.*, validation.*) and one test.*, each in a format that `rf.read`
    knows. `name` is one of `LAYOUTS`; it is needed only where several sets have the same files and
    the folder's name does not tell them apart, or to say that a set is one's own.

    >>> root = Path(tempfile.mkdtemp()) / "MQ2008"
    >>> for fold in range(1, 6):
    ...     for part in ("train", "vali", "test"):
    ...         path = root / f"Fold{fold}" / f"{part}.txt"
    ...         path.parent.mkdir(parents=True, exist_ok=True)
    ...         _ = path.write_text("0 qid:1 1:0.5\\n1 qid:1 2:1\\n0 qid:2 1:1\\n")
    >>> found = find_dataset(root)
    >>> found.name, len(found.folds), found.read("train", fold=5, queries=1)
    ('mq2008', 5, RankingData(2 rows, 1 queries, 46 features))
    """
    place = Path(folder)
    if not place.is_dir():
        raise RankforceError(
            f"{folder} is no folder: give one with a data set as it is distributed, or your own"
        )
    names = [*LAYOUTS] if name is None else [check_choice("the name of a data set", name, LAYOUTS)]
    called = re.sub(r"[^a-z0-9]", "", "".join(place.resolve().parts[-2:]).lower())
    told = [one for one in names if name or re.search(LAYOUTS[one].words, called)]
    known = [one for one in names if one != OWN]
    found = {one: folds for one in known if (folds := _find(place, LAYOUTS[one], one in told))}
    if not found and OWN in names and (folds := _find(place, LAYOUTS[OWN], True)):
        found = {OWN: folds}
    if not found:
        inside = sorted(path.name for path in place.iterdir())
        wanted: dict[str, list[str]] = {}
        for one in names:
            wanted.setdefault(_wanted(LAYOUTS[one]), []).append(one)
        raise RankforceError(
            f"{folder} has {', '.join(inside[:8]) or 'no files'}: expected "
            + "; or ".join(f"{files} ({', '.join(sets)})" for files, sets in wanted.items())
        )
    chosen = [one for one in found if len(found) == 1 or one in told]
    if len(chosen) != 1:
        raise RankforceError(
            f"{folder} may be {listed(found)}, which have the same files: say which by name="
        )
    return DataSet(chosen[0], place, found[chosen[0]])


def _wanted(layout: Layout) -> str:
    named = [Path(layout.folder, name.format(fold=1)).as_posix() for name in layout.files if name]
    if layout is LAYOUTS[OWN]:
        return f"{', '.join(named).replace('|', ' or ')} in any format"
    if layout.pieces:
        return f"{', '.join(named)} or {layout.pieces[0]} to {layout.pieces[-1]}"
    needs_name = layout.files == SPLIT and not layout.folder
    return ", ".join(named) + (" in a folder of its name, or with name=" if needs_name else "")


def _find(place: Path, layout: Layout, is_told: bool) -> tuple[Files, ...]:
    """The files of each fold; empty if they are not all there.

    Plain names may be anyone's: without the folder around them the set must be told.
    """
    is_plain = layout.files[0] in SPLIT
    roots = [place / layout.folder] if layout.folder or not is_plain else []
    for root in [*roots, place] if is_told else roots:
        folds = [
            {
                part: _there(root, (name.format(fold=fold),))
                for part, name in zip(PARTS, layout.files, strict=True)
                if name
            }
            for fold in range(1, layout.folds + 1)
        ]
        if all(files for one in folds for files in one.values()):
            return tuple(folds)
    pieces = _there(place, layout.pieces)
    return tuple(_go_round(pieces, fold) for fold in range(layout.folds)) if pieces else ()


def _go_round(pieces: tuple[Path, ...], fold: int) -> Files:
    first, second, third, fourth, fifth = pieces[fold:] + pieces[:fold]
    return {"train": (first, second, third), "valid": (fourth,), "test": (fifth,)}


def _there(place: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """The files of these names, packed or not; empty if one is not there."""
    found = [_file(place, name) for name in names]
    return tuple(path for path in found if path is not None) if None not in found else ()


def _file(place: Path, name: str) -> Path | None:
    """The one file of a name, which may be open: see `Layout.files`."""
    stems, is_open, _ = name.partition(".*")
    kinds = FORMATS.values() if is_open else ()
    endings = [end for kind in kinds for end in kind.endings + kind.also_read] or [""]
    names = [stem + ending for stem in stems.split("|") for ending in endings]
    found = [path for one in names if (path := _packed_or_not(place, one)) is not None]
    if len(found) > 1:
        there = " and ".join(path.name for path in found)
        raise RankforceError(f"{place} has {there}: expected one of them")
    return found[0] if found else None


def _packed_or_not(place: Path, name: str) -> Path | None:
    paths = (place / f"{name}{end}" for end in ("", *PACKINGS))
    return next((path for path in paths if path.is_file()), None)


def _read_own(files: Files, part: str, queries: int | None) -> RankingData:
    train = read(files["train"][0])
    needs = ("label", "qid")
    data = train if part == "train" else read(files[part][0], like=train, needs=needs)
    return data if queries is None else data.take_queries(range(min(queries, len(data.sizes))))


def _read(files: tuple[Path, ...], layout: Layout, queries: int | None) -> RankingData:
    if len(files) == 1 and queries is None and not layout.is_wild:
        data = read(files[0], n_features=layout.n_features)
    else:
        with tempfile.TemporaryDirectory(prefix="rankforce-") as folder:
            copy = Path(folder) / "part.txt"
            with open(copy, "wb") as target:
                for block in _taken(files, queries):
                    target.write(_tame(block) if layout.is_wild else block)
            try:
                data = read(copy, n_features=layout.n_features)
            except RankforceError as error:
                raise RankforceError(str(error).replace(str(copy), str(files[0]))) from None
        data.origin = {}
    top = data.labels.max(initial=0.0)
    if layout.largest_label is not None and top > layout.largest_label:
        raise RankforceError(
            f"{files[0]} has a label {top:g}: expected labels from 0 to {layout.largest_label}"
        )
    return data


def _taken(files: tuple[Path, ...], queries: int | None) -> Iterator[bytes]:
    """The text of these files, one behind the other, up to the end of so many queries."""
    seen, last = 0, b""
    for path in files:
        with open_blocks(path) as blocks:
            for block in blocks:
                begin, end, _ = block.pieces[0]
                text = bytes(block.text[begin:end])
                for line in QUERY.finditer(text) if queries is not None else ():
                    if line[1] != last:
                        seen, last = seen + 1, line[1]
                    if queries is not None and seen > queries:
                        yield text[: line.start()]
                        return
                yield text


def _tame(block: bytes) -> bytes:
    """Text of Istella as the reader takes it.

    >>> _tame(b"0 qid:1 2:1.79769313486e+308 3:-2e5\\n")
    b'0 qid:1 2:3e38 3:-2e5\\n'
    """
    return TOO_LARGE.sub(rb"\g<1>3e38", block).decode("latin-1").encode()
