"""From the bytes of a request to its answer's, for /rank and /explain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rankforce.serving import arrow
from rankforce.serving.bodies import (
    ARROW,
    ENCODERS,
    JSON,
    MSGPACK,
    TYPES,
    ExplainBody,
    RankBody,
    decode,
)
from rankforce.serving.limits import Limits, check_documents
from rankforce.serving.matrix import Given, to_given
from rankforce.serving.models import Models, Served
from rankforce.serving.refusal import Refusal

ALSO = {"application/x-msgpack": MSGPACK, "application/vnd.msgpack": MSGPACK}


class Request(NamedTuple):
    """A request that was read: the model that it is for, its documents, and what else it says."""

    name: str
    served: Served
    given: Given
    body: RankBody


def type_of(header: str | None) -> str:
    """The kind of a body by its content type.

    >>> type_of("application/json; charset=utf-8")
    'application/json'
    """
    said = (header or "").partition(";")[0].strip().lower()
    found = ALSO.get(said, said)
    if found not in TYPES:
        shown = f"is {header!r}" if header else "is not given"
        raise Refusal(415, f"the content type {shown}: choose {', '.join(TYPES)}")
    return found


def answer_type(accept: str | None, kind: str) -> str:
    """The kind of the answer: the first that the client names, else that of its request.

    >>> answer_type("*/*", MSGPACK), answer_type("application/json, */*", ARROW)
    ('application/msgpack', 'application/json')
    """
    named = [one.partition(";")[0].strip().lower() for one in (accept or "").split(",")]
    return next((ALSO.get(one, one) for one in named if ALSO.get(one, one) in TYPES), kind)


def read(
    content: bytes, kind: str, query: Mapping[str, str], models: Models, limits: Limits
) -> Request:
    """A request for /rank."""
    return _read(content, kind, query, models, limits.documents, RankBody)


def read_explain(
    content: bytes, kind: str, query: Mapping[str, str], models: Models, limits: Limits
) -> Request:
    """A request for /explain."""
    return _read(content, kind, query, models, min(limits.documents, limits.explained), ExplainBody)


def _read(
    content: bytes,
    kind: str,
    query: Mapping[str, str],
    models: Models,
    most: int,
    form: type[RankBody],
) -> Request:
    if kind == ARROW:
        body = arrow.read_options(query, form)
        table = arrow.read_table(content)
        entry = models.entry(body.model)
        served = entry.served
        return Request(entry.name, served, arrow.to_given(table, body, served.columns, most), body)
    body = decode(content, kind, form)
    entry = models.entry(body.model)
    served = entry.served
    check_documents(len(body.features or body.documents or ()), most)
    return Request(entry.name, served, to_given(body, served.columns), body)


def encode(answer: Any, kind: str) -> bytes:
    """The bytes of an answer."""
    return arrow.encode(answer) if kind == ARROW else ENCODERS[kind](answer)


def failure(sentence: str) -> bytes:
    """The bytes of a refusal, which is JSON for all."""
    return ENCODERS[JSON]({"error": sentence})
