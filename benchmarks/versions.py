"""The versions that a figure was measured with."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed(*names: str) -> dict[str, str]:
    """Version of each package."""
    return {name: _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # its build for processors alone
        return version(f"{name}-cpu")
