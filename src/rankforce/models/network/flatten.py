"""Scores and labels of a batch, flat or padded, as flat scores of whole queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.queries import QueryIndex, index_queries, index_sizes
from rankforce.measures.labels import PREFERENCES
from rankforce.models.network.library import load_torch

if TYPE_CHECKING:
    import torch
else:
    torch = load_torch()


class Flat(NamedTuple):
    """A batch without padding."""

    scores: torch.Tensor  # (documents,), where they were, with their history
    labels: Any  # one per document, or a dictionary of such: arrays of NumPy
    queries: QueryIndex


def flatten(scores: Any, labels: Any, *, sizes: Any, qid: Any, mask: Any) -> Flat:
    """Flat scores with `sizes` or `qid`, one query without either, or padded ones with `mask`.

    >>> batch = torch.tensor([[3.0, 2.0, 1.0], [5.0, 4.0, 0.0]])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> flat = flatten(batch, [[1, 0, 0], [0, 1, -1]], sizes=None, qid=None, mask=mask)
    >>> flat.scores.tolist(), flat.labels.tolist(), flat.queries.sizes.tolist()
    ([3.0, 2.0, 1.0, 5.0, 4.0], [1, 0, 0, 0, 1], [3, 2])
    """
    if not isinstance(scores, torch.Tensor) or not scores.is_floating_point():
        kind = scores.dtype if isinstance(scores, torch.Tensor) else type(scores).__name__
        raise RankforceError(f"scores are {kind}: they must be a tensor of floats")
    ways = {"sizes": sizes, "qid": qid, "mask": mask}
    said = [f"{name}=" for name, value in ways.items() if value is not None]
    if len(said) > 1:
        raise RankforceError(f"give sizes=, qid= or mask=, not {' and '.join(said)}")
    if mask is not None:
        return _unpad(scores, labels, mask)
    is_flat = scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 1)
    if not is_flat:
        raise RankforceError(
            f"scores have shape {tuple(scores.shape)}: give (documents,) or (documents, 1), or "
            "(queries, longest) with mask="
        )
    rows = len(scores)
    if not rows:
        raise RankforceError(f"there are no documents: scores have shape {tuple(scores.shape)}")
    _check_finite(scores)
    if sizes is not None:
        index = index_sizes(rows, to_array(sizes), name="sizes")
    else:
        index = index_queries(rows, qid=to_array(qid) if isinstance(qid, torch.Tensor) else qid)

    def column(values: NDArray[Any], what: str) -> NDArray[Any]:
        flat = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        _check_shape(what, flat.shape, (rows,))
        return flat

    return Flat(scores.reshape(-1), _columns(labels, column), index)


def _unpad(scores: torch.Tensor, labels: Any, mask: Any) -> Flat:
    if scores.ndim != 2:
        raise RankforceError(
            f"mask= is for padded scores (queries, longest), but scores have shape "
            f"{tuple(scores.shape)}"
        )
    shape = tuple(scores.shape)
    kept = torch.as_tensor(mask).detach()
    if kept.dtype != torch.bool:
        raise RankforceError(f"mask is {kept.dtype}: it must be boolean, True for a document")
    _check_shape("mask", tuple(kept.shape), shape)
    here = to_array(kept)
    if not here.any():
        raise RankforceError("there are no documents: mask is False everywhere")
    kept = kept.to(scores.device)
    _check_finite(scores, kept)

    def column(values: NDArray[Any], what: str) -> NDArray[Any]:
        _check_shape(what, values.shape, shape)
        return np.asarray(values[here])

    if isinstance(labels, Mapping) and PREFERENCES in labels:
        raise RankforceError(f"{PREFERENCES} are pairs of rows: give flat scores, not padded ones")
    sizes = here.sum(axis=1)
    index = index_sizes(int(sizes.sum()), sizes, name="mask")
    return Flat(scores[kept], _columns(labels, column), index)


def to_array(given: Any) -> NDArray[Any]:
    """A tensor of any device and type, or what NumPy takes, as an array."""
    if not isinstance(given, torch.Tensor):
        return np.asarray(given)
    found = given.detach().cpu()
    return np.asarray((found.float() if found.dtype == torch.bfloat16 else found).numpy())


def _columns(labels: Any, column: Callable[[NDArray[Any], str], NDArray[Any]]) -> Any:
    """Labels as arrays, each as `column` makes it; pairs as they are."""
    if not isinstance(labels, Mapping):
        return column(_numbers(labels, "labels"), "labels")
    found: dict[Any, Any] = {}
    for name, values in labels.items():
        what = f"labels {name!r}"
        if name != PREFERENCES:
            found[name] = column(_numbers(values, what), what)
        elif isinstance(values, tuple):
            found[name] = tuple(map(to_array, values))
        else:
            found[name] = to_array(values)
    return found


def _numbers(labels: Any, what: str) -> NDArray[Any]:
    rest = "give one number for each document, or a dictionary of such by name"
    try:
        found = to_array(labels)
    except ValueError:
        raise RankforceError(f"{what} are of different lengths: {rest}") from None
    if found.dtype.kind not in "biuf":
        raise RankforceError(f"{what} are {type(labels).__name__}: {rest}")
    return found


def _check_shape(what: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        verb = "has" if what == "mask" else "have"
        raise RankforceError(f"{what} {verb} shape {shape}, but scores have shape {expected}")


def _check_finite(scores: torch.Tensor, kept: torch.Tensor | None = None) -> None:
    is_bad = ~torch.isfinite(scores.detach())
    if kept is not None:
        is_bad &= kept
    if not is_bad.any():
        return
    places = is_bad.nonzero().tolist()
    first = places[0] if kept is not None else places[0][:1]
    total = scores.numel() if kept is None else int(kept.sum())
    raise RankforceError(
        f"non-finite scores: {len(places)} of {total}, first scores{first} = "
        f"{scores[tuple(places[0])].item()}"
    )
