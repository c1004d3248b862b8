"""The versions that a figure was measured with."""

from __future__ import annotations

from importlib.metadata import distributions


def installed(*names: str) -> dict[str, str]:
    """Version of each package."""
    there = {one.metadata["Name"]: one.version for one in distributions()}

    def find(name: str) -> str:
        # The second is its build for processors alone; a checkout may be run as it is.
        return there.get(name) or there.get(f"{name}-cpu") or "not installed"

    return {name: find(name) for name in names}
