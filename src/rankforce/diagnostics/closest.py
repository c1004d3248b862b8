"""Ids and names as users write them, and those that are close to what is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError


def id_text(one: Any) -> str:
    """An id as text: files may make 7.0 of 7.

    >>> id_text(7.0), id_text(np.int64(7)), id_text("d7")
    ('7', '7', 'd7')
    """
    own = one.item() if isinstance(one, np.generic) else one
    return str(int(own)) if isinstance(own, float) and own.is_integer() else str(own)


def closest(wanted: str, texts: Sequence[str]) -> str:
    """A hint for what is not there.

    >>> closest("d17", ["d1", "d18", "e5"]), closest("x", ["d1", "d2"])
    ('the closest are d1, d18', 'there are such as d1, d2')
    """
    close = difflib.get_close_matches(wanted, texts, n=3, cutoff=0.5)
    hint = "the closest are" if close else "there are such as"
    return f"{hint} {', '.join(close or texts[:3])}"


def find_query(query: Any, ids: NDArray[Any]) -> int:
    """The number of the query with an id.

    >>> find_query("7", np.array([3.0, 7.0]))
    1
    """
    texts = [id_text(one) for one in ids.tolist()]
    wanted = id_text(query)
    if wanted not in texts:
        raise RankforceError(f"no query {wanted!r} among {len(texts):,}: {closest(wanted, texts)}")
    return texts.index(wanted)
