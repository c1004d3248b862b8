"""What the service answers, as an OpenAPI document: forms come from the bodies themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec

from rankforce.serving.bodies import (
    ARROW,
    JSON,
    MSGPACK,
    ExplainBody,
    Explanation,
    Failure,
    RankBody,
    Ranking,
)

ANSWERS = {
    400: "the body cannot be read",
    401: "the token is not given, or not the right one",
    403: "the request comes from a page of another site",
    404: "there is no such model",
    413: "too many bytes or documents",
    415: "the content type is none of those that are read",
    422: "a field is wrong: the sentence begins with its place",
    503: "too many requests at once, or one that took too long: try again",
}
ASKED = (401, 403)  # by any address but those that tell nothing
READ = (400, 404, 413, 415, 422, 503)
TABLE = "A stream of Arrow: a column for each feature, and optionally id (and label, for /explain)."
TEXT = {"type": "string"}
OBJECT = {"type": "object"}
WHOLE = {"type": "integer", "minimum": 1}


class Address(NamedTuple):
    """An address of the service."""

    method: str
    path: str
    title: str
    answer: Mapping[str, Any]  # content type -> form
    body: type | None = None
    failures: tuple[int, ...] = ()
    parameters: tuple[dict[str, Any], ...] = ()


def _query(name: str, form: Mapping[str, Any]) -> dict[str, Any]:
    told = "for Arrow only: other bodies have it inside"
    return {"name": name, "in": "query", "description": told, "schema": form}


def _form(body: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{body.__name__}"}


BESIDE = (_query("model", TEXT), _query("top", WHOLE), _query("missing", {"enum": ["allow"]}))
NAME = {"name": "name", "in": "path", "required": True, "schema": TEXT}
ADDRESSES = (
    Address(
        "post",
        "/rank",
        "The documents of one query, best first.",
        {JSON: _form(Ranking), MSGPACK: _form(Ranking), ARROW: TEXT},
        RankBody,
        (*ASKED, *READ),
        BESIDE,
    ),
    Address(
        "post",
        "/explain",
        "The same, with what each feature adds to each score, and forces where labels are given.",
        {JSON: _form(Explanation), MSGPACK: _form(Explanation)},
        ExplainBody,
        (*ASKED, *READ),
        (*BESIDE, _query("objective", TEXT), _query("k", WHOLE)),
    ),
    Address(
        "get",
        "/models",
        "The models: version, size, objective, metrics, features with their ranges.",
        {JSON: OBJECT},
        failures=ASKED,
    ),
    Address(
        "post",
        "/models/{name}/reload",
        "Reads a model again now. Nobody has to ask: a model that is saved again is noticed.",
        {JSON: OBJECT},
        failures=(*ASKED, 404, 422),
        parameters=(NAME,),
    ),
    Address("get", "/healthz", "Whether the server answers.", {JSON: OBJECT}),
    Address("get", "/metrics", "Counts for Prometheus.", {"text/plain": TEXT}, failures=ASKED),
    Address("get", "/openapi.json", "This document.", {JSON: OBJECT}),
    Address("get", "/docs", "This document as a page.", {"text/html": TEXT}),
    Address("get", "/", "A page to try models on.", {"text/html": TEXT}),
)


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document.

    >>> document()["paths"]["/rank"]["post"]["summary"]
    'The documents of one query, best first.'
    """
    bodies = (RankBody, ExplainBody, Ranking, Explanation, Failure)
    _, forms = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for one in ADDRESSES:
        paths.setdefault(one.path, {})[one.method] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "rankforce", "version": version("rankforce")},
        "paths": paths,
        "components": {
            "schemas": forms,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Address) -> dict[str, Any]:
    answer = {kind: {"schema": form} for kind, form in one.answer.items()}
    failure = {JSON: {"schema": _form(Failure)}}
    answers: dict[str, Any] = {"200": {"description": "the answer", "content": answer}}
    for status in one.failures:
        answers[str(status)] = {"description": ANSWERS[status], "content": failure}
    told: dict[str, Any] = {"summary": one.title, "responses": answers}
    if one.parameters:
        told["parameters"] = list(one.parameters)
    if one.body is not None:
        table = {"schema": TEXT | {"format": "binary", "description": TABLE}}
        same = {"schema": _form(one.body)}
        told["requestBody"] = {
            "required": True,
            "content": {JSON: same, MSGPACK: same, ARROW: table},
        }
    if one.failures:
        told["security"] = [{}, {"token": []}]  # a token only where the server has one
    return told
