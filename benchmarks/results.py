"""Runs the papers' studies on real and synthetic data; writes docs/results.md and choosing.md.

    python benchmarks/results.py --data FOLDER --out results/     # MQ2008 and MQ2007* in the folder

Rankers are kept in the folder of --out: the same command goes on where it was left. The five
studies take about two hours on two cores. Every sentence with a number in it is computed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.files import write_whole
from rankforce.forces.auto import choices
from rankforce.show.pages import (
    Block,
    Command,
    Document,
    Heading,
    Items,
    Picture,
    Shown,
    Words,
    to_markdown,
)
from rankforce.show.tables import Cell, Table
from rankforce.studies.account import describe, judge_tables
from rankforce.studies.figure import Finding
from rankforce.studies.papers import Printed, printed
from rankforce.studies.reproduce import reproduce
from rankforce.studies.tables import PERFECT, RANDOM
from rankforce.studies.verdicts import LEVEL, Judged, count_tests

DOCS = Path(__file__).parent.parent / "docs"
SHOWN = 12  # of the objectives, best first
REAL = ("MQ2008", "MQ2007*")


class Study(NamedTuple):
    title: str
    paper: str
    data: tuple[str, ...]
    options: dict[str, Any]
    about: str


STUDIES = (
    Study(
        "Precision at k: 42 algorithms on MQ2008 and MQ2007",
        "001",
        REAL,
        {"only": ["table-4", "table-4-ndcg"], "trees": 500},
        "Adalia et al. 2025 on two small sets of LETOR 4.0 with three grades. Each query is tested "
        "once, by the ranker of the fold that has not seen it.",
    ),
    Study(
        "Precision at k: 42 algorithms on synthetic data of three shapes",
        "001",
        ("made:mslr", "made:istella-s", "made:yahoo"),
        {
            "only": ["table-4", "table-4-ndcg"],
            "trees": 300,
            "queries": 400,
            "cutoffs": [10],
        },
        "The same on synthetic queries with the list lengths and label mix of the paper's sets.",
    ),
    Study(
        "Coherent gradients: Lambda-eX on MQ2008 and MQ2007",
        "000",
        REAL,
        {"only": ["table-5", "table-5-label"], "trees": 500},
        "Marcuzzi et al. 2023 on the same sets, whose lists are short: about 20 and 35 documents, "
        "where truncation leaves few pairs out.",
    ),
    Study(
        "Coherent gradients on long lists: data with Istella-X's label mix",
        "000",
        ("made:istella-x",),
        {
            "only": ["table-5", "table-6", "figure-3", "figure-4"],
            "trees": 300,
            "queries": 150,
            "cutoffs": [5],
            "algorithms": ["lambdarank*", "lambdamart*"],
        },
        "Synthetic queries of about 2,700 documents, 1 in 600 of them relevant, as in Istella-X: "
        "where the effect should show. Times are of one thread on a busy machine.",
    ),
    Study(
        "Several measures: clicks below grades, and an objective that changes",
        "002",
        ("made:mslr",),
        {"only": ["table-1", "table-2", "figure-2", "figure-7"], "trees": 150, "queries": 200},
        "Svore et al. 2011 on synthetic queries with grades and click rates; the web search log of "
        "the paper is not public. All sweeps of the paper, documents of a leaf in proportion to "
        "the number of queries.",
    ),
)


ADVICE = (
    "Begin with the metric that you are judged by, at the cutoff that users see, and with "
    '`objective="auto"`. It picks an objective for that metric and says why; the choices come from '
    "the tables below, whose rows are in the order of their mean rank over print and our runs. "
    "Then look at your own queries: `rankforce compare` tells whether another one is better there.",
    "On small sets with short lists (MQ2008, MQ2007) hardly any difference survives a correction "
    "for many tests, so that tuning on folds, committees and more queries are worth more than the "
    "choice. On longer lists it matters. LambdaLoss without ++, with and without Lambda-eX, is the "
    "one family to avoid: it was worse than the baseline in most cells on real and on synthetic "
    "data. For NDCG do not truncate: all pairs were best, and cost little more time in this "
    "software. For P@k, pairs below rank k help.",
)


def shown_command(study: Study) -> str:
    words = [f"rankforce reproduce {study.paper} --data"]
    words += [place if ":" in place else f"{place.rstrip('*')}/" for place in study.data]
    words.append("--out results/")
    for name, value in study.options.items():
        if isinstance(value, list) and name != "cutoffs":
            value = ",".join(value)
        if name == "cutoffs":
            words.append("-k " + " ".join(map(str, value)))
        else:
            words.append(f"--{name} {value}")
    return " ".join(words)


def run(study: Study, data: Path, out: Path, threads: int | None) -> Any:
    places = [
        place if ":" in place else str(next(iter(sorted(data.glob(place))))) for place in study.data
    ]
    return reproduce(study.paper, places, out, threads=threads, **study.options)


def blocks_of(study: Study, found: Any, judged: list[Judged]) -> list[Block]:
    """The report of a study as a section: headings a level down, no pictures."""
    blocks: list[Block] = [Heading(study.title), Words(study.about)]
    for block in describe(found, judged, shown_command(study)).blocks:
        if isinstance(block, Heading):
            blocks.append(Heading(block.text, block.level + 1))
        elif not isinstance(block, Picture):
            blocks.append(block)
    return blocks


def summary(study: Study, found: Any, judged: list[Judged]) -> str:
    findings: list[Finding] = [
        one for _, drawn in found.drawn.values() for one in drawn.findings if one.is_of_paper
    ]
    verdicts = [one.holds for one in judged if one.holds is not None]
    verdicts += [one.holds for one in findings]
    tests = " ".join(
        f"{name.replace('table-', 'Table ')}: {count_tests(table)}"
        for name, table in found.tables.items()
        if count_tests(table)
    )
    return f"**{study.title}**: {sum(verdicts)} of {len(verdicts)} claims hold. {tests}"


def gains(table: Printed, base: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Mean gain of each algorithm over another one, in points, by data set."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in table.records:
        if one["algorithm"] not in (PERFECT, RANDOM):
            gain = one["value"] - table.value(data=one["data"], k=one["k"], **base)
            found.setdefault(one["data"], {}).setdefault(label(one), []).append(gain)
    return {
        data: {name: float(np.mean(values)) for name, values in own.items()}
        for data, own in found.items()
    }


def label(one: dict[str, Any]) -> str:
    """An algorithm, with its truncation where it has one."""
    has_tau = "tau" in one and "-eX" not in one["algorithm"]
    return f"{one['algorithm']}, tau = {one['tau']}" if has_tau else str(one["algorithm"])


def evidence(name: str, base: dict[str, Any], theirs: Printed, ours: list[Printed]) -> Table:
    """Gains in print and here of what is in all columns, in the order of their mean rank."""
    in_print = list(gains(theirs, base).values())
    columns = {
        "in print": {
            one: float(np.mean([own[one] for own in in_print if one in own]))
            for one in {each: None for own in in_print for each in own}
        }
    }
    for table in ours:
        columns |= gains(table, base)
    names = [one for one in columns["in print"] if all(one in own for own in columns.values())]

    def rank(one: str) -> float:
        return float(
            np.mean([sum(own[each] > own[one] for each in names) + 1 for own in columns.values()])
        )

    rows: list[list[Cell] | str] = [
        [
            Cell(one),
            *(Cell(f"{own[one]:+.2f}") for own in columns.values()),
            Cell(f"{rank(one):.1f}"),
        ]
        for one in sorted(names, key=rank)[:SHOWN]
    ]
    head: list[tuple[str, ...]] = [("objective",), *((one,) for one in columns), ("mean rank",)]
    than = label({**base})
    notes = [f"points of {name} above {than}, mean over cutoffs; the first of {len(names)}"]
    return Table(head, rows, notes)


def losers(table: Printed) -> str:
    """Objectives that are significantly worse than the baseline in most of their cells."""
    tests: dict[str, list[bool]] = {}
    for one in table.records:
        if "p_value" in one:
            is_worse = one["gain"] < 0 and one["p_value"] > 1.0 - LEVEL  # one-sided
            tests.setdefault(one["algorithm"], []).append(is_worse)
    names = [name for name, own in tests.items() if sum(own) > len(own) / 2]
    return f"Significantly worse in most cells: {', '.join(names) or 'none'}."


def choosing(found: list[Any]) -> Document:
    """Which objective to take: what "auto" does, and what that rests on."""
    known = choices()
    rows: list[list[Cell] | str] = []
    for reason in dict.fromkeys(row.reason for row in known.values()):
        alike = {name: row.shown for name, row in known.items() if row.reason == reason}
        objectives = dict.fromkeys(alike.values())
        rows.append([Cell(", ".join(alike)), Cell("; ".join(objectives)), Cell(reason)])
    mine, synthetic, extended, long = (one.tables for one in found[:4])
    precision = evidence(
        "P@k",
        {"algorithm": "LambdaRank-P@k"},
        printed("001", "4"),
        [mine["table-4"], synthetic["table-4"]],
    )
    ndcg = evidence(
        "NDCG@k",
        {"algorithm": "LambdaRank-NDCG", "tau": "k"},
        printed("000", "5"),
        [extended["table-5"], long["table-5"]],
    )
    on_real, on_synthetic = "On MQ2008 and MQ2007, P@k: ", "On synthetic data, P@k: "
    told = [
        f"{on_real}{count_tests(mine['table-4'])} {losers(mine['table-4'])}",
        f"{on_synthetic}{count_tests(synthetic['table-4'])} {losers(synthetic['table-4'])}",
    ]
    label_told = f"Lambda-eX as printed against as coded: {count_tests(extended['table-5-label'])}"
    blocks: list[Block] = [
        *map(Words, ADVICE),
        Heading("By metric"),
        Words('What `objective="auto"` takes; `rankforce objectives auto` prints the same.'),
        Shown(Table([("metric",), ("objective",), ("because",)], rows)),
        Heading("For precision"),
        Items(told),
        Shown(precision),
        Heading("For NDCG"),
        Words("Truncation levels and Lambda-eX; the last column is of long synthetic lists."),
        Shown(ndcg),
        Words(label_told),
        Words("All cells and the commands are in [results.md](results.md)."),
    ]
    return Document("Which objective to choose", blocks)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="with MQ2008 and MQ2007*")
    parser.add_argument("--out", type=Path, required=True, help="where rankers are kept")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    lines, sections = [], []
    found_of = []
    for study in STUDIES:
        found = run(study, options.data, options.out, options.threads)
        found_of.append(found)
        judged = judge_tables(found)
        lines.append(summary(study, found, judged))
        sections += blocks_of(study, found, judged)
    intro: list[Block] = [
        Words(
            "What the papers claim, on data that is not theirs: which claims hold, which do not, "
            "and at which p. Tests compare the values of single test queries, as the papers did "
            "and without a correction; how many cells would be significant by chance, and how "
            "many stay so after Holm's correction, stands below each table. MQ2007 is a copy with "
            "85 % of the rows of every query, so its figures are comparable with each other, not "
            "with published ones."
        ),
        Items(lines),
        Command("python benchmarks/results.py --data FOLDER --out results/"),
    ]
    results = Document("What came out", [*intro, *sections])
    for name, document in (("results", results), ("choosing", choosing(found_of))):
        write_whole(DOCS / f"{name}.md", to_markdown(document))
        print(DOCS / f"{name}.md")


if __name__ == "__main__":
    main()
