"""What a search is over: a range or choices for each of some settings."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rankforce.common.checks import check_number
from rankforce.common.errors import RankforceError
from rankforce.forces.description import Entry
from rankforce.forces.registry import ENTRIES, parse_name
from rankforce.training.aliases import ALIASES, OBJECTIVES
from rankforce.training.settings import Settings


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def at(self, share: float) -> float:
        """The number so far along the range: 0 is its low end, 1 its high end.

        >>> Range(1, 4).at(0.5), Range(1, 4, whole=True).at(0.99)
        (2.5, 4)
        """
        low, high = self.low, self.high
        if self.whole:  # each integer has a part of the range, of equal size unless log
            low, high = low - 0.5, high + 0.5
        if self.log:
            low, high = math.log(low), math.log(high)
        value = low + share * (high - low)
        return self.clip(math.exp(value) if self.log else value)

    def clip(self, value: float) -> float:
        """The nearest number of the range."""
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.whole else float(inside)


Dimension = Range | list[Any]  # a list is of choices
Space = dict[str, Dimension]
Point = dict[str, Any]

# Adalia et al. 2025, Table 7, where the upper ends of integers are left out.
OF_TREES: Space = {
    "num_leaves": Range(15, 254, log=True, whole=True),
    "min_child_samples": Range(2, 128, log=True, whole=True),
    "learning_rate": Range(1 / 1024, 1.0, log=True),
    # The scan seems to read 0 to 1, but no chosen one (Tables A1-A3) is above 0.1, and two are 0.1.
    "min_child_weight": Range(0.0, 0.1),
}
MU = Range(0.1, 10.0)  # the same, section 6.4
NO_TRUNCATION = 1000  # the same: a further choice of tau for these
ALSO_WHOLE = ("LambdaRank-NDCG", "LambdaRank-BNDCG", "LambdaLoss-NDCG", "LambdaLoss-BNDCG")
STRATEGY = re.compile(r"(.*-eX\S*) (?:all-)?(?:static|random|all)(| bin)$")


def default_space(settings: Mapping[str, Any]) -> Space:
    """The space of Adalia et al. 2025, as far as the objective has the parameters.

    What `settings` has is not searched. Of a mix, weights behind the first are searched as mu is.

    >>> list(default_space({"objective": "lambdagap-x+", "k": 5, "num_leaves": 31}))
    ['min_child_samples', 'learning_rate', 'min_child_weight', 'tau', 'mu']
    >>> default_space({"objective": "lambdarank-ndcg", "k": 5})["tau"]
    [5, 8, 1000]
    """
    objective = settings.get("objective", Settings.objective)
    found = OF_TREES | _of_objective(objective, settings)
    return {name: one for name, one in found.items() if name not in settings or name == "objective"}


def _of_objective(objective: Any, settings: Mapping[str, Any]) -> Space:
    if not isinstance(objective, Mapping):
        return _of_name(objective, settings, "") if isinstance(objective, str) else {}
    if isinstance(objective.get("name"), str):
        found = _of_name(objective["name"], objective, "objective.")
        return {name: one for name, one in found.items() if name[10:] not in objective}
    parts = range(1, len(objective.get("mix", ())))
    shares = range(1, len(objective.get("weights", ())))
    found = {f"objective.mix.{number}.weight": MU for number in parts}
    return found | {f"objective.weights.{number}": Range(0.0, 1.0) for number in shares}


def _of_name(name: str, given: Mapping[str, Any], before: str) -> Space:
    entry = _entry(name)
    if entry is None:
        return {}
    at = re.search(r"@(\d+)", name)
    k = int(at[1]) if at else given.get("k")
    found: Space = {}
    if family := STRATEGY.match(entry.name):
        names = [one.name for one in ENTRIES]
        alike = [
            one for one in names if (kin := STRATEGY.match(one)) and kin.groups() == family.groups()
        ]
        found[f"{before}name" if before else "objective"] = alike
    if "tau" in entry.uses and isinstance(k, int):
        found[f"{before}tau"] = [k, k + 3] + [NO_TRUNCATION] * (entry.name in ALSO_WHOLE)
    if "mu" in entry.uses:
        found[f"{before}mu"] = MU
    return found


def read_space(table: Any, before: str = "") -> Space:
    """A space from a table: a list of choices, or low, high, log and whole, by names of settings.

    A name with dots leads into the objective's table, as does a table in the table.

    >>> read_space({"tau": [5, 8], "eta": {"low": 0.01, "high": 0.3, "log": True}})
    {'tau': [5, 8], 'learning_rate': Range(low=0.01, high=0.3, log=True, whole=False)}
    >>> list(read_space({"objective": {"mix": {"1": {"weight": {"low": 0.1, "high": 10}}}}}))
    ['objective.mix.1.weight']
    """
    if not isinstance(table, Mapping) or not table:
        raise RankforceError(f"space is {table!r}: it must be a table of ranges and choices")
    found: Space = {}
    for key, value in table.items():
        name = before + ALIASES.get(key, str(key))
        if isinstance(value, Range):
            value = value._asdict()
        if isinstance(value, Mapping) and "low" not in value and "high" not in value:
            found |= read_space(value, f"{name}.")
        else:
            found[name] = _read_one(name, value)
    return found


def _read_one(name: str, value: Any) -> Dimension:
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(one, (bool, int, float, str)) for one in value):
            return list(value)
    elif isinstance(value, Mapping) and {"low", "high"} <= {*value} <= {*Range._fields}:
        low, high = (
            check_number(f"space.{name}.{end}", value[end], least=-math.inf)
            for end in ("low", "high")
        )
        found = Range(low, high, bool(value.get("log")), bool(value.get("whole")))
        if found.whole:
            found = found._replace(low=round(low), high=round(high))
        if low < high and (low > 0 or not found.log):
            return found
        raise RankforceError(
            f"space.{name} goes from {low:g} to {high:g}: it must go up, with log from above 0"
        )
    raise RankforceError(
        f"space.{name} is {value!r}: it must be a list of choices, or a table with low and high, "
        "and log = true or whole = true where values are to be spread by ratio or are integers"
    )


def start_of(space: Space, settings: Mapping[str, Any]) -> Point:
    """The point of the space that is nearest to the settings as they are: the first to be tried.

    >>> start_of({"num_leaves": Range(40, 99, whole=True), "tau": [8, 5]}, {"k": 5})
    {'num_leaves': 40, 'tau': 5}
    """
    found: Point = {}
    for name, one in space.items():
        value = _look(settings, name)
        if isinstance(one, list):
            found[name] = next((choice for choice in one if _alike(choice, value)), one[0])
        else:
            found[name] = one.at(0.5) if value is None else one.clip(value)
    return found


def _alike(choice: Any, value: Any) -> bool:
    if isinstance(choice, str) and isinstance(value, str):
        return re.sub(r"[\s_-]", "", choice.lower()) == re.sub(r"[\s_-]", "", value.lower())
    return bool(choice == value)


def _look(settings: Mapping[str, Any], name: str) -> Any:
    """A setting as it is, or as it is when nothing is said about it; None if that is not known."""
    value: Any = settings
    *way, last = name.split(".")
    try:
        for step in way:
            value = value[_key(value, step)]
        if _key(value, last) in value or isinstance(value, list):
            return value[_key(value, last)]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    usual = {"tau": value.get("k"), "mu": 1.0, "weight": 1.0}
    return usual.get(last, getattr(Settings, name, None))


def _key(inside: Any, step: str) -> Any:
    return int(step) if isinstance(inside, list) else step


def place(settings: Mapping[str, Any], point: Point) -> dict[str, Any]:
    """The settings with those of a point in their place; without what the objective has not.

    >>> place({"objective": "ranknet", "k": 5}, {"mu": 2.0, "num_leaves": 7})
    {'objective': 'ranknet', 'k': 5, 'num_leaves': 7}
    """
    found = dict(settings)
    if isinstance(found.get("objective"), Mapping):
        found["objective"] = copy.deepcopy(found["objective"])
    for name, value in point.items():
        target: Any = found
        *way, last = name.split(".")
        try:
            for step in way:
                target = target[_key(target, step)]
            target[_key(target, last)] = value
        except (KeyError, IndexError, TypeError, ValueError):
            raise RankforceError(f"space.{name}: the objective has no such place") from None
    entry = _entry(found.get("objective", Settings.objective))
    lacks = set() if entry is None else {"tau", "mu"} - {*entry.parameters}
    return {name: value for name, value in found.items() if name not in lacks & {*point}}


def _entry(objective: Any) -> Entry | None:
    """What is known of an objective with a name; None for others."""
    if not isinstance(objective, str):
        return None
    try:
        return parse_name(OBJECTIVES.get(objective.strip().lower(), objective)).entry
    except RankforceError:  # "preferences"; that a name is known is checked where it is used
        return None
