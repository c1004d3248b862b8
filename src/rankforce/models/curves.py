"""Diagnostics over the course of training."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from rankforce.common.errors import RankforceError

Series = dict[str, dict[str, list[float]]]
# Records without this are from when contributions were what contributions_by_size are now.
SIGNED = {"contributions": "signed, without a norm"}
STEP, TREE = "step", "tree"  # what a step is, and what it is where `about` does not say


@dataclasses.dataclass
class Curves:
    """Values of several diagnostics at some numbers of steps: trees, or epochs of a network.

    `series["incoherence"]["restricted"]` has one value for each of `steps`, also called `trees`;
    `about` says what was looked at.

    >>> curves = Curves()
    >>> curves.add(1, {"rank_changes": {"top": 0.5, "overall": 0.8}})
    >>> curves.add(11, {"rank_changes": {"top": 0.1, "overall": 0.3}})
    >>> curves.trees, curves.series["rank_changes"]["top"]
    ([1, 11], [0.5, 0.1])
    """

    steps: list[int] = dataclasses.field(default_factory=list)
    series: Series = dataclasses.field(default_factory=dict)
    about: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def trees(self) -> list[int]:
        """The steps, of a forest."""
        return self.steps

    @property
    def step(self) -> str:
        """What a step is: a "tree", or an "epoch"."""
        return self.about.get(STEP, TREE)

    def add(self, steps: int, found: Mapping[str, Mapping[str, float]]) -> None:
        """Append the values at one more number of steps."""
        if self.steps and {name: [*own] for name, own in found.items()} != {
            name: [*own] for name, own in self.series.items()
        }:
            raise RankforceError("the diagnostics are not those that were recorded before")
        for name, values in found.items():
            for key, value in values.items():
                self.series.setdefault(name, {}).setdefault(key, []).append(float(value))
        # Last: what an interrupt leaves behind of the values is no look yet.
        self.steps.append(steps)

    def keep(self, steps: int) -> None:
        """Forget what was recorded for more than so many steps."""
        self.choose([number for number in self.steps if number <= steps])

    def choose(self, steps: Collection[int]) -> None:
        """Forget all but what was recorded at these numbers of steps.

        >>> curves = Curves([1, 4, 6], {"rank_changes": {"top": [0.5, 0.2, 0.1]}})
        >>> curves.choose([1, 6])
        >>> curves.series
        {'rank_changes': {'top': [0.5, 0.1]}}
        """
        places = [place for place, number in enumerate(self.steps) if number in steps]
        for own in self.series.values():
            for values in own.values():
                values[:] = [values[place] for place in places]
        self.steps[:] = [self.steps[place] for place in places]

    @property
    def last(self) -> dict[str, dict[str, float]]:
        """The values at the largest number of steps."""
        return {
            name: {key: values[-1] for key, values in own.items() if values}
            for name, own in self.series.items()
        }

    def short(self) -> str:
        """The last values in a few words, for a line of progress.

        >>> Curves([1], {"incoherence": {"restricted": [0.031]}}).short()
        'incoherent 3.1 %'
        """
        shown = (
            ("incoherence", "restricted", "incoherent"),
            ("pairs", "relative", "pairs"),
            ("rank_changes", "top", "top changes"),
        )
        last = self.last
        found = [(word, last.get(name, {}).get(key)) for name, key, word in shown]
        return "  ".join(f"{word} {100 * v:.1f} %" for word, v in found if v is not None)

    def record(self) -> dict[str, Any]:
        """As JSON can hold it; there the steps are called trees, whatever they are."""
        return {"trees": self.steps, "series": self.series, "about": self.about}

    @classmethod
    def from_record(cls, record: Any) -> Curves:
        """Curves from what `record` gave; anything else is an error.

        >>> Curves.from_record({"trees": [1], "series": {"a": {"b": [0.5]}}, "about": {}}).trees
        [1]
        """
        if not isinstance(record, Mapping) or {*record} != {"trees", "series", "about"}:
            raise RankforceError("no record of diagnostics: expected trees, series and about")
        trees, series, about = record["trees"], record["series"], record["about"]
        if not isinstance(trees, list) or not all(type(number) is int for number in trees):
            raise RankforceError(f"trees of the diagnostics are {trees!r}: expected integers")
        if not isinstance(series, Mapping) or not isinstance(about, Mapping):
            raise RankforceError("series and about of the diagnostics must be tables")
        for name, own in series.items():
            if not isinstance(own, Mapping):
                raise RankforceError(f"diagnostic {name!r} is {own!r}: expected a table of lists")
            for key, values in own.items():
                is_list = isinstance(values, list) and len(values) == len(trees)
                if not is_list or not all(isinstance(v, (int, float)) for v in values):
                    raise RankforceError(f"diagnostic {name}, {key}: expected {len(trees)} numbers")
        kept = {
            str(name): {str(key): list(map(float, values)) for key, values in own.items()}
            for name, own in series.items()
        }
        if not SIGNED.keys() <= about.keys() and "contributions" in kept:
            kept["contributions_by_size"] = kept.pop("contributions")
        return cls(list(trees), kept, {str(key): str(value) for key, value in about.items()})

    def table(self) -> str:
        """What was recorded, a line for each series: first, some between, last.

        >>> print(Curves([1, 11], {"rank_changes": {"top": [0.5, 0.125]}}).table())
        trees                       1       11
        rank_changes  top       0.500    0.125
        """
        chosen = _spread(len(self.steps), 7)
        rows = [
            (name if number == 0 else "", key, values)
            for name, own in self.series.items()
            for number, (key, values) in enumerate(own.items())
        ]
        wide = max((len(name) for name, _, _ in rows), default=0)
        key_wide = max((len(key) for _, key, _ in rows), default=0)
        head = f"{self.step}s".ljust(wide + key_wide + 2)
        head += "".join(f"{self.steps[at]:9d}" for at in chosen)
        lines = [head]
        for name, key, values in rows:
            cells = "".join(f"{_short(values[at]):>9}" for at in chosen)
            lines.append(f"{name:{wide}}  {key:{key_wide}}{cells}")
        return "\n".join(lines)


def _spread(count: int, most: int) -> list[int]:
    """At most `most` of the numbers below `count`, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.0f}"
