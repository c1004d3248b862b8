"""The OpenAPI document as a plain page: no script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any

from rankforce.serving.openapi import document

STYLE = """
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem }
dt { margin-top: .5rem }
dd { margin-left: 1.5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0 }
th, td { border-bottom: 1px solid #8884 }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'"


@cache
def page() -> str:
    """The page.

    >>> "POST /explain" in page()
    True
    """
    told = document()
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'><title>rankforce: addresses</title>",
        f"<style>{STYLE}</style>",
        f"<h1>rankforce {escape(told['info']['version'])}</h1>",
        "<p>The same for programs: <a href='openapi.json'>openapi.json</a>. ",
        "To try a model: <a href='./'>the page</a>.</p>",
    ]
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            parts += _operation(method, path, operation)
    parts.append("<h2>Forms</h2>")
    for name, form in told["components"]["schemas"].items():
        parts += _form(name, form)
    return "\n".join(parts)


def _operation(method: str, path: str, told: dict[str, Any]) -> Iterator[str]:
    yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
    yield f"<p>{escape(told['summary'])}</p><dl>"
    for one in told.get("parameters", ()):
        more = f": {one['description']}" if "description" in one else ""
        yield f"<dt><code>{escape(one['name'])}</code> in the {one['in']}{escape(more)}</dt>"
    body = told.get("requestBody")
    if body is not None:
        yield f"<dt>Body</dt><dd>{_contents(body['content'])}</dd>"
    for status, answer in told["responses"].items():
        yield f"<dt>{status}: {escape(answer['description'])}</dt>"
        yield f"<dd>{_contents(answer['content'])}</dd>"
    yield "</dl>"


def _contents(contents: dict[str, Any]) -> str:
    return "<br>".join(
        f"<code>{escape(kind)}</code>: {_type(one['schema'])}" for kind, one in contents.items()
    )


def _form(name: str, form: dict[str, Any]) -> Iterator[str]:
    yield f"<h3 id='{escape(name)}'>{escape(name)}</h3><p>{escape(form.get('description', ''))}</p>"
    needed = form.get("required", ())
    yield "<table><tr><th>field<th>what it is<th>"
    for field, own in form.get("properties", {}).items():
        must = "needed" if field in needed else ""
        yield f"<tr><td><code>{escape(field)}</code><td>{_type(own)}<td>{must}"
    yield "</table>"


def _type(form: dict[str, Any]) -> str:
    """What a form says, in a few words.

    >>> _type({"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]})
    'array of number, or null'
    """
    if "$ref" in form:
        name = escape(form["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    if "anyOf" in form:
        return ", or ".join(_type(one) for one in form["anyOf"])
    if "enum" in form:
        return " or ".join(escape(repr(one)) for one in form["enum"])
    if "description" in form:
        return escape(form["description"])
    kind = str(form.get("type", "anything"))
    if kind == "array":
        return f"array of {_type(form.get('items', {}))}"
    if kind == "object" and isinstance(form.get("additionalProperties"), dict):
        return f"object of {_type(form['additionalProperties'])}"
    return kind + (f" from {form['minimum']} up" if "minimum" in form else "")
