"""What serving needs beside the package itself, told in one line where it is not there."""

from __future__ import annotations

import importlib.util

from rankforce.common.errors import RankforceError

NEEDED = ("starlette", "uvicorn", "msgspec", "prometheus_client")


def check_libraries() -> None:
    """Refuse to serve without the libraries of the extra `serve`.

    >>> check_libraries()
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise RankforceError(f"serving needs {missing[0]}: pip install 'rankforce[serve]'")
