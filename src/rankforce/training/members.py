"""The members of a committee: what each has of its own, and the settings that this makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.forces.auto import is_auto
from rankforce.forces.base import AnyObjective
from rankforce.forces.objective import ALIASES
from rankforce.forces.registry import parse_name
from rankforce.training.aliases import translate
from rankforce.training.settings import Settings, make_settings
from rankforce.training.settings_table import TABLE
from rankforce.training.watch import make_metrics

# What says that a table is an objective's, and not one of settings.
OF_OBJECTIVES = {"name", "mix", "graded", "scheduled"}
# What all members have alike.
_SHARED = {
    "members",
    "member_weights",
    "preset",
    "base",
    "eval_metric",
    "eval_at",
    "missing",
    "engine",
}
_SHARED |= {name for name, one in TABLE.items() if one.where == "run"}
_SEEDS = 2**31  # there are so many


def read_members(given: Any) -> list[dict[str, Any]]:
    """The settings that each member has of its own, from a number of members or a list.

    >>> read_members(2), read_members(["ranknet", {"num_leaves": 12}, {"name": "ranknet"}])
    ([{}, {}], [{'objective': 'ranknet'}, {'num_leaves': 12}, {'objective': {'name': 'ranknet'}}])
    """
    if isinstance(given, (int, np.integer)):
        return [{} for _ in range(check_whole("members", given, least=1))]
    if not isinstance(given, (list, tuple)) or not given:
        raise RankforceError(
            f"members is {given!r}: it must be an integer from 1 up, or a list with an objective "
            "or a table of settings for each member"
        )
    return [_read_one(number, one) for number, one in enumerate(given)]


def _read_one(number: int, given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {"objective": given} if OF_OBJECTIVES & {*given} else dict(given)
    if isinstance(given, (str, AnyObjective)) or callable(given):
        return {"objective": given}
    raise RankforceError(
        f"members[{number}] is {given!r}: it must be an objective or a table of settings"
    )


def member_settings(settings: Settings) -> list[Settings]:
    """The settings of each member: those of the committee, but for what it has of its own.

    Its seed is that of the committee and its number, from 0. The metrics are the committee's, and
    they decide when it stops. A member with an objective of its own takes those parameters of the
    committee's that its objective has.

    >>> both = make_settings({"members": ["ranknet", {"num_leaves": 12}], "seed": 3})
    >>> [(one.objective, one.num_leaves, one.seed) for one in member_settings(both)]
    [('ranknet', 31, 3), ('lambdarank-ndcg', 12, 4)]
    """
    each = enumerate(read_members(settings.members))
    return [_settings_of(settings, own, number) for number, own in each]


def _settings_of(settings: Settings, own: dict[str, Any], number: int) -> Settings:
    try:
        return make_settings(_parameters(settings, own, number))
    except RankforceError as error:
        raise RankforceError(f"members[{number}]: {error}") from None


def _parameters(settings: Settings, own: dict[str, Any], number: int) -> dict[str, Any]:
    ours, passed = translate(own, settings.engine_kind.parameters)
    for name in ours:
        if name in _SHARED:
            raise RankforceError(f"{name} is the same for all members: give it to the ranker")
    whole = {name: getattr(settings, name) for name in TABLE} | settings.passed
    whole["seed"] = (settings.seed + number) % _SEEDS
    whole["eval_metric"] = make_metrics(
        settings.eval_metric,
        settings.make_objective(),
        k=settings.k,
        cutoffs=settings.eval_at or (),
    )
    whole |= {"members": None, "member_weights": None, "preset": None, "eval_at": None}
    if "objective" in ours:
        whole = {name: value for name, value in whole.items() if _fits(ours["objective"], name)}
    kept = {name: value for name, value in whole.items() if name not in {*ours, *passed}}
    return {name: value for name, value in kept.items() if value is not None} | own


def _fits(objective: Any, name: str) -> bool:
    """Whether a setting of the committee goes with an objective that a member has of its own."""
    if name not in TABLE or TABLE[name].where != "objective":
        return True
    if not isinstance(objective, str):  # it has all that it needs
        return False
    if is_auto(objective) or objective.strip().lower() in ALIASES:
        return name == "k"
    found = parse_name(objective)
    is_said = {"k": found.k, "p": found.p}.get(name) is not None
    return name in found.entry.parameters and not is_said


def describe_members(given: Any) -> Any:
    """Members as a manifest has them: their number, or tables, with objectives as tables too.

    >>> import rankforce as rf
    >>> describe_members([rf.objective("ranknet")]), describe_members(8)
    ([{'objective': {'name': 'RankNet'}}], 8)
    """
    if isinstance(given, (int, np.integer)):
        return int(given)
    return [
        {
            name: value.described() if isinstance(value, AnyObjective) else value
            for name, value in one.items()
        }
        for one in read_members(given)
    ]
