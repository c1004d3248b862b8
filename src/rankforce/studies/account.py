"""The report of a study: tables beside the printed ones, claims with verdicts, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.show.pages import (
    Block,
    Command,
    Document,
    Heading,
    Items,
    Picture,
    Shown,
    Words,
    write,
)
from rankforce.show.tables import Cell, Table
from rankforce.studies.figure import Drawn, Figure
from rankforce.studies.make import count_held
from rankforce.studies.papers import Printed
from rankforce.studies.papers.claims import FACTS
from rankforce.studies.remakes import USUAL, settings_of
from rankforce.studies.study import Study
from rankforce.studies.tables import PERFECT, RANDOM, Remake
from rankforce.studies.verdicts import Judged, count_tests, judge_all

TITLES = {
    "000": "Marcuzzi et al. 2023: Lambda-eX",
    "001": "Adalia et al. 2025: LambdaGap",
    "002": "Svore et al. 2011: several measures",
}
ROWS = ("clicks", "measure", "algorithm", "tau", "step", "schedule", "missed")  # keys of a row
HERE, PAPER = "here", "paper"


class Reproduced(NamedTuple):
    """What came of a study."""

    paper: str
    study: Study
    tables: dict[str, Printed]  # by the names of parts, as "table-4"
    remakes: dict[str, Remake]
    drawn: dict[str, tuple[Figure, Drawn]]  # by the names of picture files
    left_out: list[str]  # what was not made, and why


def write_report(found: Reproduced, folder: Path, command: str) -> list[Path]:
    """Write report.md, report.html and report.json into the folder."""
    judged = judge_tables(found)
    record = make_record(found, judged, command)
    return write(describe(found, judged, command), folder, record)


def judge_tables(found: Reproduced) -> list[Judged]:
    """The claims about the tables that are made as in the paper."""
    remakes = found.remakes
    tables = {
        remakes[name].number: table
        for name, table in found.tables.items()
        if not remakes[name].suffix
    }
    return judge_all(found.paper, tables)


def describe(found: Reproduced, judged: Sequence[Judged], command: str) -> Document:
    """The report."""
    findings = [one for _, drawn in found.drawn.values() for one in drawn.findings]
    checked = [one for one in judged if one.holds is not None]
    held = sum(bool(one.holds) for one in checked)
    counted = [f"Of {len(checked)} claims about tables that could be checked, {held} hold."]
    counted += [f"Of what pictures show: {count_held(findings)}"] if findings else []
    blocks: list[Block] = [Words(" ".join(counted))]
    blocks += [Command(command)] if command else []
    blocks += [Items([*_how(found), *found.left_out])]
    for name, table in found.tables.items():
        remake = found.remakes[name]
        about = f"{remake.theirs.source}: {remake.theirs.shows}."
        about += f" Made here: {remake.says}." if remake.says else ""
        blocks += [Heading(name.replace("table-", "Table ")), Words(about)]
        blocks += [Shown(beside(table, remake))]
        blocks += [Words(text)] if (text := count_tests(table)) else []
    if judged:
        blocks += [Heading("Claims about tables"), Items([str(one) for one in judged])]
    for file, (figure, drawn) in found.drawn.items():
        caption = f"{figure.source}. {figure.caption}"
        blocks += [Heading(_figure_title(figure, file)), Picture(file, caption)]
        blocks += [Items([str(one) for one in drawn.findings])]
    return Document(f"{TITLES[found.paper]}, run again", blocks)


def _figure_title(figure: Figure, file: str) -> str:
    """As in "Figure 3, mq2008"."""
    data = file.removeprefix(f"{figure.name}-").removesuffix(".png")
    return f"{figure.source.rpartition(', ')[2]}, {data}"


def _how(found: Reproduced) -> list[str]:
    """Data and settings."""
    rules = found.study.rules
    lines = []
    for one in found.study.sets.values():
        settings = rules.settings[one.name]
        is_ours = settings_of(found.paper, one.name) == USUAL
        whose = "ours, as the paper has not this set: " if is_ours else ""
        own = ", ".join(f"{name} {value}" for name, value in settings.items())
        lines.append(f"{one.title}: {whose}{own}")
    lines.append(
        f"{rules.trees} trees, of which the validation queries choose how many count; seed "
        f"{rules.seed}; test queries of all folds together"
    )
    return lines


def beside(ours: Printed, remake: Remake) -> Table:
    """A table made here with the printed one beside it, where that has the data set."""
    theirs = remake.theirs
    rows = _distinct(ours.records, [key for key in ROWS if key in ours.records[0]])
    varying = [key for key in rows[0] if len({one[key] for one in rows}) > 1] or [*rows[0]]
    places = _distinct(ours.records, [key for key in _keys(ours) if key not in ROWS])
    known = {one.get("data") for one in theirs.records} if not remake.suffix else set()
    columns = [
        (place, whose)
        for place in places
        for whose in ((HERE, PAPER) if place["data"] in known else (HERE,))
    ]
    is_beside = any(whose == PAPER for _, whose in columns)
    head = [(*_words(place), whose)[: None if is_beside else -1] for place, whose in columns]
    depth = len(head[0])
    lines: list[list[Cell] | str] = []
    for row in rows:
        cells = [_cell(ours if whose == HERE else theirs, row | place) for place, whose in columns]
        named = [key for key in varying if key != "tau" or "-eX" not in row["algorithm"]]
        lines.append([Cell(", ".join(_word(key, row[key]) for key in named)), *cells])
    notes = [f"unit: {ours.unit}"] if ours.unit else []
    if ours.metric:
        notes += [">: the best here, or in print"]
    if ours.marks and any(one.get("mark") for one in (*ours.records, *theirs.records)):
        marks = ", ".join(f"{mark}: {words}" for mark, words in ours.marks.items())
        notes += [f"{marks}; {ours.test}"]
    return Table([("",) * (depth - 1) + ("algorithm",), *head], lines, notes)


def _cell(table: Printed, keys: dict[str, Any]) -> Cell:
    found = table.find(**keys)
    if not found:
        return Cell("")
    one = found[0]
    value = one["value"]
    digits = ".4g" if table.unit == "settings" else ".2f"
    text = value if isinstance(value, str) else format(value, digits)
    return Cell(text, one["mark"].replace("~", ""), bold=_is_best(one, table))


def _is_best(one: dict[str, Any], table: Printed) -> bool:
    """Whether no other algorithm has a higher metric at its place."""
    if not table.metric or one["algorithm"] in (PERFECT, RANDOM):
        return False
    place = {key: value for key, value in one.items() if key not in (*FACTS, *ROWS)}
    place |= {key: one[key] for key in ("clicks", "measure") if key in one}
    others = [
        each["value"] for each in table.find(**place) if each["algorithm"] not in (PERFECT, RANDOM)
    ]
    return bool(one["value"] == max(others))


def _keys(table: Printed) -> list[str]:
    """Keys of the cells, the data set first."""
    found = [key for key in table.records[0] if key not in FACTS]
    return sorted(found, key=lambda key: key != "data")


def _distinct(records: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in records:
        own = {key: one[key] for key in keys}
        if own not in found:
            found.append(own)
    return found


def _words(place: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_word(key, value) for key, value in place.items())


def _word(key: str, value: Any) -> str:
    return f"{key} = {value}" if key in ("k", "tau", "missed") else str(value)


def make_record(found: Reproduced, judged: Sequence[Judged], command: str) -> dict[str, Any]:
    """Everything for programs: cells, claims, findings, and how long each ranker took."""
    study = found.study
    return {
        "paper": found.paper,
        "command": command,
        "data": [one.title for one in study.sets.values()],
        "rules": {**study.rules._asdict(), "decides": {**study.rules.decides}},
        "tables": {name: list(one.records) for name, one in found.tables.items()},
        "claims": [
            {"name": one.claim.name, "says": one.claim.says, "holds": one.holds, "seen": one.seen}
            for one in judged
        ],
        "findings": {
            file: [one._asdict() for one in drawn.findings]
            for file, (_, drawn) in found.drawn.items()
        },
        "left_out": found.left_out,
        "rankers": [_times(found, run) for run in study.planned],
    }


def _times(found: Reproduced, run: Any) -> dict[str, Any]:
    one = found.study.train(run)
    times: dict[str, Any] = {"ranker": run.title, "best": one.best}
    if len(one.seconds):
        times["seconds_a_tree"] = float(np.mean(one.seconds))
        times["seconds_in_objective_a_tree"] = float(np.mean(one.forces))
        times["seconds_to_best"] = {
            name: float(one.seconds[:trees].sum()) for name, trees in one.best.items()
        }
    return times | ({"chosen": one.chosen} if one.chosen else {})
