"""The versions that a figure was measured with."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed(*names: str) -> dict[str, str]:
    """Version of each package."""
    return {name: _version(name) for name in names}


def _version(own: str) -> str:
    for name in (own, f"{own}-cpu"):  # its build for processors alone
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "not installed"  # a checkout that is run as it is
