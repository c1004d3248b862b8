"""What requests and answers hold, and their reading from JSON and MessagePack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from rankforce.serving.mistakes import name_mistake
from rankforce.serving.refusal import Refusal

JSON = "application/json"
MSGPACK = "application/msgpack"
ARROW = "application/vnd.apache.arrow.stream"
TYPES = (JSON, MSGPACK, ARROW)

Id = str | int
Value = float | str | None  # text is the value of a category, null a missing one
Whole = Annotated[int, msgspec.Meta(ge=1)]


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """A document: its features by name, or all of them in the model's order."""

    features: dict[str, Value] | list[Value]
    id: Id | None = None


class RankBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The documents of one query: as `documents`, or as a table `features` with `ids` beside it."""

    model: str | None = None
    documents: list[Document] | None = None
    features: list[list[Value]] | None = None
    ids: list[Id] | None = None
    top: Whole | None = None
    missing: Literal["allow"] | None = None


class ExplainBody(RankBody, forbid_unknown_fields=True, kw_only=True):
    """The same, and what the forces depend on."""

    labels: list[float] | None = None
    objective: str | None = None
    k: Whole | None = None


class Ranked(msgspec.Struct):
    """A document of the answer; `row` is its place in the request, from 0."""

    id: Id | None
    row: int
    rank: int
    score: float


class Ranking(msgspec.Struct, omit_defaults=True):
    """The answer of /rank, best documents first; `notes` say what a client may not expect."""

    model: str
    version: str
    ranking: list[Ranked]
    notes: list[str] = []


class Reason(Ranked):
    """A ranked document, and why: contributions and rest add up to the score."""

    contributions: list[float]
    rest: float
    force: float | None = None  # where labels are given: above 0 pushes up
    kind: str | None = None  # "false" or "missed" among the best k, or ""


class Explanation(msgspec.Struct, omit_defaults=True):
    """The answer of /explain; `features` are the names that contributions are of."""

    model: str
    version: str
    ranking: list[Reason]
    features: list[str]
    objective: str | None = None  # that forces are of
    k: int | None = None
    metrics: dict[str, float | None] | None = None
    notes: list[str] = []


class Failure(msgspec.Struct):
    """The answer to a request that is refused: one sentence."""

    error: str


_RAW: dict[str, Callable[[bytes], Any]] = {
    JSON: msgspec.json.decode,
    MSGPACK: msgspec.msgpack.decode,
}
_DECODERS: dict[tuple[str, type], Any] = {
    (kind, body): library.Decoder(body)
    for kind, library in ((JSON, msgspec.json), (MSGPACK, msgspec.msgpack))
    for body in (RankBody, ExplainBody)
}
ENCODERS: dict[str, Callable[[Any], bytes]] = {
    JSON: msgspec.json.Encoder().encode,
    MSGPACK: msgspec.msgpack.Encoder().encode,
}


def decode(content: bytes, kind: str, body: type[RankBody]) -> RankBody:
    """A body of JSON or MessagePack; a mistake in it is told by its place.

    >>> decode(b'{"features": [[1, 2]], "top": 1}', JSON, RankBody).features
    [[1.0, 2.0]]
    """
    name = "JSON" if kind == JSON else "MessagePack"
    try:
        try:
            found: RankBody = _DECODERS[kind, body].decode(content)
        except msgspec.ValidationError as error:
            raw = _RAW[kind](content)
            raise Refusal(422, name_mistake(raw, body.__struct_fields__, str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"the body is no {name}: {error}") from None
    return found
