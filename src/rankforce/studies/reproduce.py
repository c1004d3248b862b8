"""A study of a paper, run again on one's own data: `rankforce reproduce`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from rankforce.common.checks import check_choice, check_whole, listed
from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.experiments.search import SEARCHERS, make_searcher
from rankforce.show.plots.style import save, style
from rankforce.studies import adalia, marcuzzi, svore
from rankforce.studies.account import Reproduced, write_report
from rankforce.studies.figure import FIGURES, Drawn, Figure
from rankforce.studies.make import make_folder
from rankforce.studies.remakes import REMAKES, metrics_of, settings_of
from rankforce.studies.sets import TRAIN, StudySet, open_set
from rankforce.studies.study import K, Rules, Study
from rankforce.studies.tables import Remake, make_table, matches, wants_of

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
    number = check_choice("the study", NAMES.get(paper.lower(), paper), PAPERS)
    with style():  # without matplotlib, say so before anything is trained
        parts = choose_parts(number, only)
    limit = None if queries is None else check_whole("queries", queries, least=2)
    own_seed = check_whole("seed", seed, least=0)
    sets = _open(data, limit, own_seed)
    wanted = [check_whole("k", k, least=1) for k in cutoffs]
    many = None if folds is None else check_whole("folds", folds, least=1)
    has_clicks = number == "002" and all("clicks" in one.read(TRAIN, 1).sources for one in sets)
    rules = Rules(
        check_whole("trees", trees, least=2),
        metrics_of(number, sorted({*wanted, K}), clicks=has_clicks),
        {one.name: settings_of(number, one.name) | dict(settings or {}) for one in sets},
        trials=check_whole("trials", trials, least=1),
        searcher=check_choice("the searcher", searcher, SEARCHERS),
        seed=own_seed,
        threads=threads,
    )
    if any(isinstance(one, Remake) and one.is_tuned for one in parts):
        make_searcher(rules.searcher, {"num_leaves": [7, 15]}, {"num_leaves": 7}, 0)  # is it there?
    _check_algorithms(algorithms, [one for one in parts if isinstance(one, Remake)])
    folder = make_folder(out)
    voice = Voice(True, stream=stream, is_timed=True)
    study = Study(sets, rules, keep=make_folder(folder / KEPT), say=voice.for_now)
    left_out = [
        f"{part.name} needs a column of {part.needs}, which the data has not"
        for part in parts
        if part.needs and not has_clicks
    ]
    kept = [part for part in parts if not part.needs or has_clicks]
    remakes = {one.name: one for one in kept if isinstance(one, Remake)}
    figures = [one for one in kept if isinstance(one, Figure)]
    folds_of = partial(_folds, many)
    tens = range(1, 11)  # the cutoffs of 002
    cells = {
        name: one.keys(tens if number == "002" else wanted, algorithms)
        for name, one in remakes.items()
    }
    for name, one in remakes.items():
        study.plan(wants_of(one, study, folds_of, cells[name]))
    for part in map(study.only, study.sets):
        part.plan([want for figure in figures for want in figure.wants(part)])
    study.work()
    tables = {name: make_table(one, study, folds_of, cells[name]) for name, one in remakes.items()}
    drawn = _draw(figures, study, folder, voice)
    full = {name: table for name, table in tables.items() if table.records}
    found = Reproduced(number, study, full, remakes, drawn, left_out)
    for path in write_report(found, folder, command):
        voice.say(f"{path}  what came out")
    return found


def _folds(many: int | None, data: StudySet) -> Sequence[int]:
    """The folds of a data set that count: so many, or as many as the papers had."""
    usual = 1 if data.name in ONE_FOLD else data.folds
    return range(1, min(data.folds, many or usual) + 1)


def _check_algorithms(patterns: Sequence[str], remakes: Sequence[Remake]) -> None:
    """Refuse a pattern that is of no algorithm of these tables."""
    names = {str(one["algorithm"]): None for remake in remakes for one in remake.theirs.records}
    for pattern in patterns:
        if remakes and not any(matches(name, pattern) for name in names):
            raise RankforceError(f"algorithms has {pattern!r}, which is none of {', '.join(names)}")


def _open(data: Sequence[str | Path], queries: int | None, seed: int) -> list[StudySet]:
    if not data:
        raise RankforceError("there is no data: give a folder, or made:mslr for synthetic queries")
    sets = [open_set(one, queries=queries, seed=seed) for one in data]
    names = [one.name for one in sets]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RankforceError(f"two data sets are called {twice[0]!r}: give each once")
    return sets


def _draw(
    figures: Sequence[Figure], study: Study, folder: Path, voice: Voice
) -> dict[str, tuple[Figure, Drawn]]:
    """Draw each picture for each data set."""
    drawn = {}
    for part in map(study.only, study.sets):
        (name,) = part.sets
        for figure in figures:
            file = f"{figure.name}-{name.replace(':', '-')}.png"
            drawn[file] = figure, figure.draw(part)
            save(drawn[file][1].axes, folder / file)
            voice.say(f"{folder / file}  {figure.source}")
    return drawn


def parts_of(paper: str) -> dict[str, Remake | Figure]:
    """The parts of a study by name.

    >>> list(parts_of("000"))
    ['table-5', 'table-5-label', 'table-6', 'figure-3', 'figure-4']
    """
    tables = {one.name: one for one in REMAKES[paper]}
    made = {one.name: one for one in FIGURES[PAPERS[paper].__name__]}
    pictures = {f"figure-{name.split('-')[1]}": made[name] for name in PICTURES[paper]}
    return {**tables, **pictures}


def choose_parts(paper: str, only: Sequence[str] | None) -> list[Remake | Figure]:
    """Tables and pictures of these names; by default all."""
    parts = parts_of(paper)
    if only is not None and not only:
        raise RankforceError(f"there is nothing to make: choose from {listed(parts)}")
    names = [*parts] if only is None else [check_choice("a part", one, parts) for one in only]
    return [part for name, part in parts.items() if name in names]
