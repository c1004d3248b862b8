"""Why documents stand where they stand: feature by feature, and what would move them."""

from rankforce.diagnostics.why.enter import enter, enter_several
from rankforce.diagnostics.why.entry import Change, Entry
from rankforce.diagnostics.why.ranked_list import Standing
from rankforce.diagnostics.why.show_entries import show_entries
from rankforce.diagnostics.why.why_above import why
from rankforce.diagnostics.why.why_record import Gap, Why

__all__ = [
    "Change",
    "Entry",
    "Gap",
    "Standing",
    "Why",
    "enter",
    "enter_several",
    "show_entries",
    "why",
]
