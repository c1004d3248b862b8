"""What features are called in a search engine, and how it makes them: a map.json of the user's."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.models.export.registry import FILE
from rankforce.models.model import Model

SHOWN = 5  # names in an error
MODEL, FEATURE_SET = "rankforce", "rankforce_features"
_WHOLE = ("model", "feature_set", "features")


class Said(NamedTuple):
    """A feature as an engine has it."""

    name: str
    definition: dict[str, Any] | None  # how the engine makes it, where the map says that


@dataclasses.dataclass(frozen=True)
class FeatureMap:
    """Our names of features, and what the engine calls each, or its whole definition.

    A definition is an object in the engine's own words; its "name" is the engine's name, without
    which ours is.

    >>> some = FeatureMap({"bm25": "title_bm25", "age": {"template": {"match_all": {}}}})
    >>> some.said(["bm25"], "solr")
    [Said(name='title_bm25', definition=None)]
    """

    entries: Mapping[str, str | dict[str, Any]]
    place: str = "features"  # for errors
    model: str = MODEL  # names in the engine
    feature_set: str = FEATURE_SET

    def said(self, names: Sequence[str], to: str) -> list[Said]:
        """These features as the map has them; all must be there, under different names."""
        absent = [name for name in names if name not in self.entries]
        if absent:
            raise RankforceError(
                f"{self.place} does not say what {_some(absent)} is for to={to!r}: the model uses "
                f"{len(names)} features, each needs a name or a definition"
            )
        found = [_said(name, self.entries[name]) for name in names]
        taken: dict[str, str] = {}
        for name, one in zip(names, found, strict=True):
            if one.name in taken:
                raise RankforceError(
                    f"{self.place}: the features {taken[one.name]!r} and {name!r} have the same "
                    f"name, {one.name!r}"
                )
            taken[one.name] = name
        return found


def say_features(features: FeatureMap | None, names: Sequence[str], to: str) -> list[Said]:
    """Features as the engine has them; without a map their names are used as they are."""
    if features is None:
        return [Said(name, None) for name in names]
    return features.said(names, to)


def check_definitions(said: Sequence[Said], to: str, needs: str, *, may: Sequence[str]) -> bool:
    """Whether all have definitions; some of which only some have, or strange ones, are refused."""
    known = [one for one in said if one.definition is not None]
    for one in known:
        given = one.definition or {}
        strange = [key for key in given if key not in (needs, *may)]
        if strange or needs not in given:
            what = f"has {strange[0]!r}" if strange else f"has no {needs!r}"
            raise RankforceError(
                f"features: the definition of {one.name!r} {what}: to={to!r} needs {needs!r}, and "
                f"takes {', '.join(may)}"
            )
    if known and len(known) < len(said):
        bare = [one.name for one in said if one.definition is None]
        raise RankforceError(
            f"features: {_some(bare)} has a name and no definition, others have one: to={to!r} "
            "takes definitions of all features, or names of all"
        )
    return bool(known)


def note_negative(model: Model, columns: Sequence[int]) -> list[str]:
    """What to know where features are scores of Lucene's queries, which are not negative."""
    some = [model.feature_names[c] for c in columns if model.scorer.ranges[c].startswith("[-")]
    if not some:
        return []
    return [
        f"training has values below 0 of {_some(some)}, which no query gives: scores of Lucene are "
        "not negative"
    ]


def send(url: str, method: str = "PUT", content: str = f"@{FILE}") -> str:
    """The line that sends a file, or a text, to an engine.

    >>> send("http://localhost:9200/_ltr")
    "curl -X PUT 'http://localhost:9200/_ltr' -H 'Content-Type: application/json' --data-binary ..."
    """
    how = "-H 'Content-Type: application/json'"
    return f"curl -X {method} '{url}' {how} --data-binary '{content}'"


def read_features(path: str | Path) -> FeatureMap:
    """Read a map.json: {"our name": "engine's name" or {definition}}.

    With more to say, {"features": {...}, "model": "name", "feature_set": "name"}.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "map.json"
    >>> _ = place.write_text('{"model": "best", "features": {"bm25": "title_bm25"}}')
    >>> read_features(place).model
    'best'
    """
    place = Path(path)
    try:
        record = json.loads(place.read_text("utf-8"), object_pairs_hook=_all_different)
    except OSError as error:
        raise RankforceError(
            f"features: {place} cannot be read: {error.strerror or error}"
        ) from None
    except ValueError as error:
        raise RankforceError(f"{place} is no JSON: {error}") from None
    return make_features(record, str(place))


def make_features(record: Any, place: str = "features") -> FeatureMap:
    """A map from what JSON holds, checked."""
    if not isinstance(record, dict):
        raise RankforceError(f"{place} holds {type(record).__name__}: expected an object")
    names = {"model": MODEL, "feature_set": FEATURE_SET}
    entries = record
    if isinstance(record.get("features"), dict) and set(record) <= set(_WHOLE):
        entries = record["features"]
        names |= {key: value for key, value in record.items() if key != "features"}
    for key, value in names.items():
        if not isinstance(value, str) or not value:
            raise RankforceError(f"{place}: {key!r} is {value!r}: expected a name")
    for key, value in entries.items():
        if not isinstance(value, (str, dict)) or not value:
            raise RankforceError(
                f"{place}: {key!r} is {value!r}: expected a name, or an object that defines it"
            )
    return FeatureMap(entries, place, names["model"], names["feature_set"])


def _said(name: str, entry: str | dict[str, Any]) -> Said:
    if isinstance(entry, str):
        return Said(entry, None)
    own = entry.get("name", name)
    if not isinstance(own, str) or not own:
        raise RankforceError(f"features: the name of {name!r} is {own!r}: expected a text")
    return Said(own, {key: value for key, value in entry.items() if key != "name"})


def _all_different(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RankforceError(f"{twice!r} is there twice")
    return found


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:SHOWN]))
    return shown if len(names) <= SHOWN else f"{shown} (and {len(names) - SHOWN} more)"
