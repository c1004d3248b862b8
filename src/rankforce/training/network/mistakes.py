"""What goes wrong while a network learns, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from rankforce.common.errors import RankforceError
from rankforce.models.network.network import State
from rankforce.training.settings import Settings


@contextmanager
def said_in_words(settings: Settings, epoch: int, documents: int) -> Iterator[None]:
    """What goes wrong in a batch, in one sentence."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise RankforceError(too_large(documents)) from None
    except RankforceError as error:
        if "scores must be finite" in str(error):
            raise RankforceError(not_finite(settings, epoch)) from None
        raise
    except RuntimeError as error:
        if "not enough memory" in str(error) or "can't allocate memory" in str(error):
            raise RankforceError(too_large(documents)) from None
        if "without overflow" in str(error):  # a step that no float holds
            raise RankforceError(not_finite(settings, epoch)) from None
        raise


def all_finite(state: State) -> bool:
    """Whether weights are numbers, all of them."""
    return all(bool(np.isfinite(values).all()) for values in state.values())


def too_large(documents: int) -> str:
    """What to say of a batch that does not fit."""
    return (
        f"a batch of {documents} documents does not fit into memory: give a smaller batch_size, or "
        "a smaller network"
    )


def not_finite(settings: Settings, epoch: int) -> str:
    """What to say of scores that ran away."""
    return (
        f"scores or weights are not finite in epoch {epoch + 1}: a smaller learning_rate than "
        f"{settings.learning_rate:g} may help, or other scaling of the features"
    )
