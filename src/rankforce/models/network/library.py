"""PyTorch, which only networks need: imported when one is used."""

from __future__ import annotations

import importlib
from types import ModuleType

from rankforce.common.errors import RankforceError


def load_torch() -> ModuleType:
    """PyTorch; if it is not installed, a mistake in one line that says what to install.

    >>> load_torch().__name__
    'torch'
    """
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise RankforceError("networks need PyTorch: pip install 'rankforce[torch]'") from None


def load_safetensors() -> ModuleType:
    """The library of the files that networks are kept in; it comes with the same extra.

    >>> load_safetensors().__name__
    'safetensors'
    """
    try:
        importlib.import_module("safetensors.numpy")
        return importlib.import_module("safetensors")
    except ModuleNotFoundError as error:
        if error.name != "safetensors":
            raise
        raise RankforceError("networks need safetensors: pip install 'rankforce[torch]'") from None
