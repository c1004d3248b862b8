"""Every picture of the papers, on synthetic data, into a folder, with a page about them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from rankforce.common.checks import check_choice, check_whole, listed
from rankforce.common.errors import RankforceError
from rankforce.common.files import write_whole
from rankforce.common.live_line import Voice
from rankforce.show.plots.style import FORMATS, save, style
from rankforce.studies import adalia, marcuzzi, svore, tunys
from rankforce.studies.figure import FIGURES as FIGURES_OF
from rankforce.studies.figure import Drawn, Figure, Finding
from rankforce.studies.sets import make_set
from rankforce.studies.study import Rules, Study

PAPERS = (marcuzzi, adalia, svore, tunys)
FIGURES = {one.name: one for paper in PAPERS for one in FIGURES_OF[paper.__name__]}
PAGE = "index.md"
QUERIES, TREES = 200, 60
SHAPES = ("mslr", "istella-s")
METRICS = {"ndcg@3": ["ndcg@1", "ndcg@3", "ndcg@10"], "ndcg@5": ["ndcg@5"], "p@5": ["p@5"]}
SETTINGS = {"learning_rate": tunys.RATES[0], "num_leaves": 15}


def make_figures(
    out: str | Path,
    *,
    queries: int = QUERIES,
    trees: int = TREES,
    format: str = "png",
    only: Sequence[str] | None = None,
    seed: int = 0,
    stream: TextIO | None = None,
) -> list[Path]:
    """Draw the pictures into the folder `out`, and write what they show into its index.md.

    Rankers of `trees` trees are trained on `queries` synthetic queries, each once, however many
    pictures show it. `only` has names of pictures, `stream` gets a line for each one.

    >>> import io, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> [path.name for path in make_figures(folder, only=["svore-5"], stream=io.StringIO())]
    ['svore-5.png', 'index.md']
    """
    with style():  # without matplotlib, say so before anything is trained
        chosen = choose(only)
    ending = check_choice("format", format, FORMATS)
    many = check_whole("queries", queries, least=2)
    rules = Rules(
        check_whole("trees", trees, least=2),
        METRICS,
        {"": SETTINGS},
        seed=check_whole("seed", seed, least=0),
    )
    folder = make_folder(out)
    voice = Voice(True, stream=stream, is_timed=True)
    sets = [make_set(shape, queries=many, seed=rules.seed) for shape in SHAPES]
    study = Study(sets, rules, say=voice.for_now)
    for figure in chosen:
        study.plan(figure.wants(study))
    paths, drawn = [], {}
    for figure in chosen:
        drawn[figure] = figure.draw(study)
        paths.append(save(drawn[figure].axes, folder / f"{figure.name}.{ending}"))
        voice.say(f"{paths[-1]}  {figure.source}")
    page = folder / PAGE
    write_whole(page, describe(drawn, f"{many} synthetic queries", rules, ending))
    voice.say(f"{page}  what they show")
    return [*paths, page]


def choose(only: Sequence[str] | None) -> list[Figure]:
    """The pictures of these names, in the order of the table; by default all."""
    if only is None:
        return list(FIGURES.values())
    if not only:
        raise RankforceError(f"there is no picture to draw: choose from {listed(FIGURES)}")
    names = [check_choice("the name of a picture", name, FIGURES) for name in only]
    return [figure for name, figure in FIGURES.items() if name in names]


def make_folder(out: str | Path) -> Path:
    """The folder to write into, made if it is not there."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise RankforceError(
            f"{out} is no folder, or lies in a file: pictures need a folder"
        ) from None
    except OSError as error:
        raise RankforceError(f"{out}: the folder cannot be made ({error.strerror})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RankforceError(f"{out}: one may not write into this folder")
    return folder


def describe(drawn: dict[Figure, Drawn], data: str, rules: Rules, ending: str) -> str:
    """A page with every picture: what it shows, what its paper says, and whether that holds."""
    findings = [finding for one in drawn.values() for finding in one.findings]
    lines = [
        "# Pictures of the papers, on synthetic data",
        "",
        f"Rankers of {rules.trees} trees on {data}, seed {rules.seed}: "
        "far smaller than in the papers, and no data of theirs. Every sentence on what holds is "
        f"computed, from this one seed and without tests of significance. {count_held(findings)}",
    ]
    for figure, one in drawn.items():
        name = f"{figure.name}.{ending}"
        link = f"[{name}]({name})" if ending == "pdf" else f"![{figure.name}]({name})"
        lines += ["", f"## {figure.name}", "", link, "", f"{figure.source}. {figure.caption}", ""]
        lines += [f"- {finding}" for finding in one.findings]
    return "\n".join(lines) + "\n"


def count_held(findings: Sequence[Finding]) -> str:
    """How many hold: the papers' claims, and apart from them what was expected beside those.

    >>> found = [("a", "b", True), ("a", "b", False), ("a", "b", True, False)]
    >>> count_held([Finding(*one) for one in found])
    "Of the papers' claims 1 of 2 hold. Of our own expectations 1 of 1 hold."
    """
    said = []
    for whose, is_of_paper in (("the papers' claims", True), ("our own expectations", False)):
        held = [one.holds for one in findings if one.is_of_paper is is_of_paper]
        if held:
            said.append(f"Of {whose} {sum(held)} of {len(held)} hold.")
    return " ".join(said)
