"""What another hour might bring: as much for each doubling of the time as the last ones brought."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rankforce.common.live_line import clock
from rankforce.common.types import Floats
from rankforce.experiments.auto.estimate import Estimate, estimate
from rankforce.experiments.auto.search import Step

HOUR = 3600.0


class Outlook(NamedTuple):
    """What was gained between two looks at what would be chosen, and what that means."""

    since: float  # seconds
    until: float
    gain: Estimate  # of the later choice over the earlier one, query by query
    hour: Estimate  # the same for another hour

    @property
    def is_chance(self) -> bool:
        """Whether the gain may be none."""
        return self.gain.low <= 0.0

    def __str__(self) -> str:
        since = f"From {clock(round(self.since))} to {clock(round(self.until))} the choice"
        if self.gain.low == self.gain.high == 0.0:
            return f"{since} stayed as good as it was. {_NOTHING}"
        told = f"{since} gained {_signed(self.gain)}"
        if self.is_chance:
            return f"{told}: no more than chance. {_NOTHING}"
        return f"{told}. If it goes on like that, another hour would bring {_signed(self.hour)}."


_NOTHING = (
    "Nothing says that another hour would bring more; more queries or other features are likelier "
    "to."
)


def outlook(
    steps: Sequence[Step], weights: Floats | None, *, higher: bool, spent: float
) -> Outlook | None:
    """The gain since half of the time or, where there is no choice of then, since the first one.

    None where there are not two choices that all folds have judged.
    """
    known = [step for step in steps if step.estimate is not None]
    if len(known) < 2:
        return None
    last = known[-1]
    before = [step for step in known[:-1] if step.seconds <= last.seconds / 2.0]
    first = before[-1] if before else known[0]
    differences = last.values - first.values
    gain = estimate(differences if higher else -differences, weights)
    share = math.log2((spent + HOUR) / spent) / math.log2(last.seconds / first.seconds)
    hour = Estimate(share * gain.mean, share * gain.low, share * gain.high, gain.queries)
    return Outlook(first.seconds, last.seconds, gain, hour)


def _signed(one: Estimate) -> str:
    return f"{one.mean:+.4f} ({one.low:+.4f} to {one.high:+.4f})"
