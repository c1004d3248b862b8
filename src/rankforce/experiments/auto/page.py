"""The page of a run: what was tried, what was chosen, what to expect, and what more time brings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rankforce.common.live_line import clock
from rankforce.experiments.auto.result import Auto
from rankforce.show.pages import Block, Command, Document, Heading, Items, Shown, Words
from rankforce.show.tables import Cell, Table

ROWS = 40  # of what was tried
UNKNOWN = "It was over too soon to say: the choice was not made twice."


def document(found: Auto) -> Document:
    """All of it, for readers."""
    blocks: list[Block] = [Words(f"{_capital(found.summary())}.")]
    budget = "" if found.budget == math.inf else f" of {clock(round(found.budget))}"
    blocks.append(
        Words(
            f"{len(found.tried)} candidates in {clock(round(found.seconds))}{budget} on "
            f"{found.data}; {found.ended}."
        )
    )
    blocks += [Heading("What to expect"), *_expected(found)]
    blocks += [Heading("What was chosen"), *_chosen(found)]
    blocks += [Heading("What another hour might bring")]
    blocks += [Words(UNKNOWN if found.outlook is None else str(found.outlook)), *_story(found)]
    if found.tried:
        blocks += [Heading("What was tried"), *_tried(found)]
    blocks += [Heading("How to use it"), Command(_USE)]
    return Document(f"rankforce auto: {found.metric.name}", blocks)


_USE = """rankforce rank --model model --data new.txt --top 10
rankforce evaluate --model model --data test.txt"""


def _expected(found: Auto) -> Sequence[Block]:
    name, one = found.metric.name, found.estimate
    if one is None:
        return [Words("Nothing is known of new queries: fewer than two folds have judged.")]
    blocks: list[Block] = [
        Words(
            f"**{name} {one.mean:.4f}**, with 95 % confidence from {one.low:.4f} to "
            f"{one.high:.4f}, by {one.queries} queries."
        ),
        Items(
            [
                "Every query was judged by rankers that were trained without it, and by a "
                "committee that was chosen without its fold: members, their number of trees, and "
                "whether a candidate was gone on with.",
                "The interval is Student's, for other queries of the same kind. It does not know "
                "that other queries to train on would give other rankers.",
                "The ranker itself was trained on all queries, and may be a little better.",
            ]
        ),
    ]
    planned = len(found.steps[-1].members)
    if len(found.members) < planned:
        blocks.append(
            Words(
                f"This is of a committee of {planned}: there was time for {len(found.members)} of "
                "its members."
            )
        )
    if found.valid is not None:
        blocks.append(Words(f"On the validation set, which had no say: {name} {found.valid}."))
    return blocks


def _chosen(found: Auto) -> Sequence[Block]:
    if not found.members:
        return [Words("The first ranker, for the objective that the metric suggests.")]
    count = Counter(found.members)
    lines: list[list[Cell] | str] = [
        [
            Cell(one.candidate.title),
            Cell(f"{number}"),
            Cell(f"{one.trees()}"),
            Cell(f"{len(one.runs)}"),
            Cell(f"{one.value:.4f}"),
        ]
        for one, number in count.most_common()
    ]
    names = ["objective", "members", "trees of each", "folds", f"{found.metric.name} alone"]
    return [
        Shown(Table([(name,) for name in names], lines)),
        Words(
            "It began with the objectives that are known to be good together. One candidate came "
            "or went at a time, as long as queries that were not seen were sure of a gain: more "
            "than its standard error. One that is there twice is two members, of different bags. "
            "Members count the same, once their scores have the same deviation."
        ),
    ]


def _story(found: Auto) -> Sequence[Block]:
    lines: list[list[Cell] | str] = [
        [Cell(clock(round(step.seconds))), Cell(f"{step.tried}"), Cell(f"{step.estimate}")]
        for step in found.steps
        if step.estimate is not None
    ]
    names = ["after", "candidates", f"{found.metric.name} to be expected of the choice"]
    return [Shown(Table([(name,) for name in names], lines))] if len(lines) > 1 else []


def _tried(found: Auto) -> Sequence[Block]:
    failed = [one for one in found.tried if one.error is not None]
    notes = [f"Candidate {one.candidate.number}: {one.error}" for one in failed]
    return [
        Words(
            f"A value is of the folds that have judged a candidate, and compares with those of as "
            f"many folds. Those with {len(found.tried[0].folds)} went all the way; others were "
            "behind, or the time was over."
        ),
        Shown(found.as_table(ROWS)),
        *([Items(notes)] if notes else []),
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
