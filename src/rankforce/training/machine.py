"""Whether this machine has what a run needs: known before data is read, binned or copied."""

from __future__ import annotations

from rankforce.models.network.library import load_torch
from rankforce.training.networks import TREES
from rankforce.training.settings import Settings


def check_machine(settings: Settings) -> None:
    """An error if a library or a device that these settings ask for is not here.

    >>> check_machine(Settings(engine="abacus"))
    Traceback (most recent call last):
    rankforce.RankforceError: engine is 'abacus': choose 'lightgbm', 'histogram', 'xgboost' or
    'cuda'
    """
    if settings.cluster is not None:
        return  # its workers look for themselves
    if settings.kind == TREES:
        settings.engine_kind.check(settings.engine_parameters())
        return
    load_torch()  # for what to install
    from rankforce.training.network.opening import check_device

    check_device(settings)
