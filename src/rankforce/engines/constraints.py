"""Constraints on features as LightGBM and XGBoost write them, checked against the data."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError

MONOTONE = "monotone_constraints"
INTERACTION = "interaction_constraints"
_MONOTONE_FORMS = "a list of -1, 0 and 1, one per feature, or a dictionary {feature: -1, 0 or 1}"
_INTERACTION_FORMS = "a list of lists of features, by name or number"


def read_monotone(given: Any) -> list[int] | dict[str, int]:
    """Directions of features: one for each, or by name.

    >>> read_monotone("(1,0,-1)"), read_monotone({"age": -1})
    ([1, 0, -1], {'age': -1})
    """
    value = _parsed(given, MONOTONE, _MONOTONE_FORMS)
    if isinstance(value, Mapping):
        return {_feature(key, given): _direction(one, given) for key, one in value.items()}
    if isinstance(value, (int, np.integer)):
        value = [value]
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise RankforceError(f"{MONOTONE} is {given!r}: it must be {_MONOTONE_FORMS}")
    return [_direction(one, given) for one in value]


def read_interaction(given: Any) -> list[list[str | int]]:
    """Groups of features that may stand in one branch.

    >>> read_interaction('[["a", "b"], ["c"]]'), read_interaction("[0,1],[2]")
    ([['a', 'b'], ['c']], [[0, 1], [2]])
    """
    value = _parsed(given, INTERACTION, _INTERACTION_FORMS)
    several = (list, tuple, set, frozenset, np.ndarray)
    if isinstance(value, several) and not any(isinstance(one, several) for one in value):
        value = [value] if len(value) else []
    if not isinstance(value, several) or not all(isinstance(one, several) for one in value):
        raise RankforceError(f"{INTERACTION} is {given!r}: it must be {_INTERACTION_FORMS}")
    groups = [sorted(one, key=str) if isinstance(one, (set, frozenset)) else one for one in value]
    return [[_name_or_number(one, given) for one in group] for group in groups]


def for_features(
    parameters: dict[str, Any], names: Sequence[str], categorical: Collection[int] = ()
) -> dict[str, Any]:
    """The parameters with constraints as boosters take them: by the numbers of these features.

    `categorical` are the numbers of those that have no direction.

    >>> for_features({"monotone_constraints": {"age": -1}}, ["clicks", "age"])
    {'monotone_constraints': [0, -1]}
    """
    found = dict(parameters)
    if MONOTONE in found:
        found[MONOTONE] = _one_each(found[MONOTONE], names)
        wrong = next((column for column in categorical if found[MONOTONE][column]), None)
        if wrong is not None:  # LightGBM would end the process
            raise RankforceError(
                f"{MONOTONE} gives {names[wrong]!r} the direction {found[MONOTONE][wrong]}, but it "
                "is categorical: it must be 0"
            )
    if INTERACTION in found:
        groups = [[_number(one, names, INTERACTION) for one in g] for g in found[INTERACTION]]
        # A booster would never use a feature that no group has: it may stand by itself.
        alone = set(range(len(names))) - {number for group in groups for number in group}
        found[INTERACTION] = groups + [[number] for number in sorted(alone)]
    return found


def _one_each(directions: Any, names: Sequence[str]) -> list[int]:
    if isinstance(directions, dict):
        by_number = {_number(key, names, MONOTONE): one for key, one in directions.items()}
        return [by_number.get(number, 0) for number in range(len(names))]
    if len(directions) != len(names):
        raise RankforceError(
            f"{MONOTONE} has {len(directions)} entries for {len(names)} features: it must be "
            f"{_MONOTONE_FORMS}"
        )
    return list(directions)


def _number(feature: str | int, names: Sequence[str], what: str) -> int:
    if feature in names:
        return list(names).index(str(feature))
    if isinstance(feature, int) and 0 <= feature < len(names):
        return feature
    some = ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
    raise RankforceError(
        f"{what} names {feature!r}, which is none of the {len(names)} features: {some}"
    )


def _parsed(given: Any, what: str, forms: str) -> Any:
    """What stands in a text, as a Python value; nothing in it is executed."""
    if not isinstance(given, str):
        return given
    try:
        return ast.literal_eval(given.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise RankforceError(f"{what} is {given!r}: it must be {forms}") from None


def _feature(key: Any, given: Any) -> Any:
    if isinstance(key, (str, int, np.integer)) and not isinstance(key, bool):
        return key if isinstance(key, str) else int(key)
    raise RankforceError(f"{MONOTONE} is {given!r}: it must be {_MONOTONE_FORMS}")


def _direction(value: Any, given: Any) -> int:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if is_number and value in (-1, 0, 1):
        return int(value)
    raise RankforceError(f"{MONOTONE} is {given!r}: {value!r} is none of -1, 0 and 1")


def _name_or_number(value: Any, given: Any) -> str | int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return str(value)
    raise RankforceError(f"{INTERACTION} is {given!r}: it must be {_INTERACTION_FORMS}")
