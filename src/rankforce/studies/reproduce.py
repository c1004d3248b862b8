"""A study of a paper, run again on one's own data: `rankforce reproduce`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rankforce.common.checks import check_choice, check_whole, listed
from rankforce.common.errors import RankforceError
from rankforce.show.plots.style import save, style
from rankforce.studies import adalia, marcuzzi, svore
from rankforce.studies.account import Reproduced, write_report
from rankforce.studies.figure import FIGURES, Figure
from rankforce.studies.make import Told, make_folder
from rankforce.studies.remakes import REMAKES, metrics_of, settings_of
from rankforce.studies.sets import TRAIN, StudySet, open_set
from rankforce.studies.study import K, Rules, Study
from rankforce.studies.tables import Keys, Remake, make_table, wants_of

PAPERS = {"000": marcuzzi, "001": adalia, "002": svore}
NAMES = {"marcuzzi": "000", "adalia": "001", "svore": "002"}
# Pictures that show data; the others are the same whatever the data is.
PICTURES = {
    "000": ("marcuzzi-3", "marcuzzi-4"),
    "001": ("adalia-3", "adalia-4", "adalia-5", "adalia-6", "adalia-a1"),
    "002": ("svore-2", "svore-3a", "svore-3b", "svore-4", "svore-5", "svore-6", "svore-7"),
}
ONE_FOLD = ("mslr-web30k", "mslr-web10k")  # the papers have the first fold of these
TREES, CUTOFFS, TRIALS = 1000, (5, 10, 15), 40
KEPT = "runs"  # the folder of outcomes


def reproduce(
    paper: str,
    data: Sequence[str | Path],
    out: str | Path,
    *,
    only: Sequence[str] | None = None,
    algorithms: Sequence[str] = ("*",),
    cutoffs: Sequence[int] = CUTOFFS,
    queries: int | None = None,
    folds: int | None = None,
    trees: int = TREES,
    trials: int = TRIALS,
    searcher: str = "flaml",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
    command: str = "",
    stream: TextIO | None = None,
) -> Reproduced:
    """Train what a paper trained, on other data or its own, and fill its tables and pictures.

    `paper` is "000" (Marcuzzi et al. 2023), "001" (Adalia et al. 2025) or "002" (Svore et al.
    2011), or the first author's name; `data` has folders of data sets (see
    `rankforce.experiments.datasets.find_dataset`) or "made:SHAPE" for synthetic queries. Every
    ranker is kept in the folder `out` when it is done: the same call goes on where it was left.

    `only` has names of parts, as "table-4" and "figure-3", `algorithms` patterns of names.
    `queries` limits each part of the data, `folds` the folds; `settings` go before the paper's.
    The report has `command` in it, as what makes it again.

    >>> import io, tempfile
    >>> place = tempfile.mkdtemp()
    >>> found = reproduce("000", ["made:yahoo"], place, only=["table-5"], algorithms=["*ex all"],
    ...                   cutoffs=[5], queries=20, trees=3, stream=io.StringIO())
    >>> [one["algorithm"] for one in found.tables["table-5"].records if one["tau"] == "k+3"]
    ['LambdaRank-NDCG', 'LambdaLoss-NDCG++']
    >>> sorted(path.name for path in Path(place).iterdir())
    ['report.html', 'report.json', 'report.md', 'runs']
    """
    number = NAMES.get(paper.lower(), paper)
    check_choice("the study", number, PAPERS)
    with style():  # without matplotlib, say so before anything is trained
        remakes, figures = choose_parts(number, only)
    if not data:
        raise RankforceError("there is no data: give a folder, or made:mslr for synthetic queries")
    limit = None if queries is None else check_whole("queries", queries, least=2)
    own_seed = check_whole("seed", seed, least=0)
    sets = [open_set(one, queries=limit, seed=own_seed) for one in data]
    folder = make_folder(out)
    told = Told(sys.stderr if stream is None else stream)
    wanted = [check_whole("k", k, least=1) for k in cutoffs]
    has_clicks = (
        all("clicks" in one.read(TRAIN, 1).sources for one in sets) if number == "002" else False
    )
    rules = Rules(
        check_whole("trees", trees, least=2),
        metrics_of(number, sorted({*wanted, K}), clicks=has_clicks),
        {one.name: settings_of(number, one.name) | dict(settings or {}) for one in sets},
        trials=check_whole("trials", trials, least=1),
        searcher=searcher,
        seed=own_seed,
        threads=threads,
    )
    study = Study(sets, rules, keep=make_folder(folder / KEPT), say=told.for_now)
    many = None if folds is None else check_whole("folds", folds, least=1)

    def folds_of(one: StudySet) -> Sequence[int]:
        usual = 1 if one.name in ONE_FOLD else one.folds
        return range(1, min(one.folds, many or usual) + 1)

    parts: list[Remake | Figure] = [*remakes, *figures]
    left_out = [
        f"{part.name} needs a column of {part.needs}, which the data has not"
        for part in parts
        if part.needs and not has_clicks
    ]
    remakes = [one for one in remakes if not one.needs or has_clicks]
    figures = [one for one in figures if not one.needs or has_clicks]
    cells = {one.name: _cells(one, number, wanted, algorithms) for one in remakes}
    for one in remakes:
        study.plan(wants_of(one, study, folds_of, cells[one.name]))
    for name in study.sets:
        for figure in figures:
            study.only(name).plan(figure.wants(study.only(name)))
    study.work()
    tables = {
        one.name: make_table(one, study, folds_of, cells[one.name])
        for one in remakes
        if cells[one.name]
    }
    drawn = {}
    for name in study.sets:
        for figure in figures:
            made = figure.draw(study.only(name))
            file = f"{figure.name}-{name.replace(':', '-')}.png"
            save(made.axes, folder / file)
            drawn[file] = figure, made
            told.keep(f"{folder / file}  {figure.source}")
    own = {one.name: one for one in remakes if one.name in tables}
    found = Reproduced(number, study, tables, own, drawn, left_out)
    for path in write_report(found, folder, command):
        told.keep(f"{path}  what came out")
    return found


def _cells(remake: Remake, paper: str, cutoffs: Sequence[int], names: Sequence[str]) -> list[Keys]:
    return remake.keys(range(1, 11) if paper == "002" else cutoffs, names)


def parts_of(paper: str) -> dict[str, Remake | Figure]:
    """The parts of a study by name.

    >>> list(parts_of("000"))
    ['table-5', 'table-5-label', 'table-6', 'figure-3', 'figure-4']
    """
    tables = {one.name: one for one in REMAKES[paper]}
    made = {one.name: one for one in FIGURES[PAPERS[paper].__name__]}
    pictures = {f"figure-{name.split('-')[1]}": made[name] for name in PICTURES[paper]}
    return {**tables, **pictures}


def choose_parts(paper: str, only: Sequence[str] | None) -> tuple[list[Remake], list[Figure]]:
    """Tables and pictures of these names; by default all."""
    parts = parts_of(paper)
    if only is not None and not only:
        raise RankforceError(f"there is nothing to make: choose from {listed(parts)}")
    names = [*parts] if only is None else [check_choice("a part", one, parts) for one in only]
    chosen = [part for name, part in parts.items() if name in names]
    return (
        [one for one in chosen if isinstance(one, Remake)],
        [one for one in chosen if isinstance(one, Figure)],
    )
