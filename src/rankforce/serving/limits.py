"""How much one request may take, and how many are answered at once."""

from __future__ import annotations

from typing import NamedTuple

from rankforce.serving.refusal import Refusal


class Limits(NamedTuple):
    """Bounds of a worker; a request beyond one of them is refused with a sentence.

    >>> Limits(documents=500).documents
    500
    """

    body: int = 16 << 20  # bytes
    documents: int = 10_000
    explained: int = 1_000  # documents of a request for /explain, whose pairs are all looked at
    seconds: float = 10.0  # from the first byte of a request to its answer
    requests: int = 64  # that a worker answers at once


def check_bytes(count: int, limits: Limits) -> None:
    """Refuse a body that is too large."""
    if count > limits.body:
        raise Refusal(413, f"the body has more than {limits.body:,} bytes, which is the limit here")


def check_documents(count: int, most: int) -> None:
    """Refuse more documents than one request may have, and none at all."""
    if count > most:
        raise Refusal(413, f"the request has {count:,} documents: the limit here is {most:,}")
    if not count:
        raise Refusal(422, "documents: expected at least one")
