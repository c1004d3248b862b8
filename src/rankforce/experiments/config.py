"""Settings of a run from a TOML file, and from NAME=VALUE."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.formats.streams import local_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_config(path: str | Path) -> dict[str, Any]:
    """Settings of a TOML file; names of files in it are relative to it."""
    place = Path(path)  # of standard input: the current folder's
    try:
        with local_file(path) as file:
            config = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RankforceError(f"cannot read {place}: {getattr(error, 'strerror', error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise RankforceError(f"{place}: {error}") from None
    for key in ("train", "valid", "out", "checkpoint", "preferences"):
        if key in config:
            config[key] = _beside(place, config[key])
    if config.get("base", "regressor") != "regressor":
        config["base"] = _beside(place, config["base"])
    return config


def _beside(place: Path, value: Any) -> Any:
    if isinstance(value, list):
        return [_beside(place, entry) for entry in value]
    return str(place.parent / value) if isinstance(value, str) and value != "-" else value


def read_setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, where the value is a number, true, false, a list, or text.

    >>> read_setting("max_bin=63"), read_setting("subsample_by=query")
    (('max_bin', 63), ('subsample_by', 'query'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise RankforceError(f"--set {text!r}: expected NAME=VALUE, as in --set max_bin=63")
    try:
        return name.strip(), tomllib.loads(f"x = {value.strip()}")["x"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()
