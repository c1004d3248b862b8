"""PyTorch, which is optional: whoever needs it asks here."""

from __future__ import annotations

from typing import Any

from rankforce.common.errors import RankforceError


def load_torch() -> Any:
    """PyTorch; where it is missing, one line says what to install.

    >>> load_torch().ones(2).tolist()
    [1.0, 1.0]
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise RankforceError("networks need PyTorch: pip install 'rankforce[torch]'") from None
    return torch
