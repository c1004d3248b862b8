"""A user's mistake, told from a mistake of ours."""

from __future__ import annotations


class RankforceError(ValueError):
    """What was given cannot be used: one sentence with the place, the value and the choices.

    >>> import rankforce as rf
    >>> rf.metric("ndcq@10")
    Traceback (most recent call last):
    rankforce.RankforceError: ...
    """


RankforceError.__module__ = "rankforce"  # the name that users import, and read in a traceback
