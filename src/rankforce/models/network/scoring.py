"""Scores of networks: whole blocks of rows, or whole lists, in batches."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, list_parts, list_sizes
from rankforce.data.sources import as_source, for_lists, is_in_memory, recut
from rankforce.models.network.modules import Encode, Net, make_body
from rankforce.models.network.network import ROWS, State, take_dense

if TYPE_CHECKING:
    from rankforce.models.network.network import Network

FEW = 32  # rows, twice as many as are known to need it


@contextmanager
def threads_of_torch(threads: int) -> Iterator[None]:
    """PyTorch works on so many threads meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def few_on_one_thread(rows: int) -> Iterator[None]:
    """Few rows on one thread: for products of those MKL rounds in another way on several."""
    with threads_of_torch(1 if rows < FEW else torch.get_num_threads()):
        yield


def make_net(network: Network, state: State) -> Any:
    """The network with these weights, ready to score."""
    net = Net(Encode(network.encoder), open_body(network))
    put_state(net.body, state)
    return net.to(network.device).train(False)


def open_body(network: Network, seed: int = 0) -> Any:
    """The part of a network that learns, as its shape says, or the user's own module."""
    shape = dict(network.shape)
    kind = shape.pop("model")
    del shape["lists"]
    if kind != "module":
        return make_body(kind, network.encoder, seed=seed, **shape)
    if network.module is None:
        raise RankforceError(
            f"the network is a module of the class {shape['class']}, which no file holds: give one "
            "as rf.load(..., module=)"
        )
    return OwnModule(copy.deepcopy(network.module), has_lists=network.needs_lists)


class OwnModule(torch.nn.Module):
    """A module of the user's own: one score for each row, checked."""

    def __init__(self, module: torch.nn.Module, *, has_lists: bool) -> None:
        super().__init__()
        self.module, self._has_lists = module, has_lists

    def forward(self, x: Any, sizes: Any = None) -> Any:
        """Scores of encoded rows."""
        given = (x, sizes) if self._has_lists else (x,)
        try:
            scores = self.module(*given)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if "shape" not in str(error):
                raise
            raise RankforceError(
                f"the module {type(self.module).__name__} does not take rows of {x.shape[1]} "
                f"numbers: {error}"
            ) from None
        shape = tuple(getattr(scores, "shape", ()))
        rows = x.shape[0]  # len(x) would be a constant in an exported graph
        if shape not in ((rows,), (rows, 1)):
            name = type(self.module).__name__
            raise RankforceError(
                f"the module {name} gives shape {shape} for {rows} rows: expected one score for "
                f"each, ({rows},) or ({rows}, 1)"
            )
        return scores.reshape(-1)


def take_state(body: Any) -> State:
    """The weights of a network as arrays."""
    return {
        name: values.detach().cpu().numpy().copy() for name, values in body.state_dict().items()
    }


def put_state(body: Any, state: State) -> None:
    """Give a network its weights."""
    try:
        body.load_state_dict({name: torch.from_numpy(v.copy()) for name, v in state.items()})
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise RankforceError(f"the weights do not belong to this network: {reason}") from None


def score_rows(net: Any, features: Any, out: Floats, *, threads: int, device: str) -> None:
    """Add scores of documents one by one to `out`."""
    with torch.inference_mode(), threads_of_torch(threads):
        for first, rows in as_source(features).blocks(ROWS):
            given = torch.from_numpy(np.ascontiguousarray(rows, np.float32)).to(device)
            with few_on_one_thread(len(rows)):
                out[first : first + len(rows)] += net(given).double().cpu().numpy()


def _lists(features: Any, index: QueryIndex) -> Iterator[tuple[Any, Any]]:
    """The rows of the `list_parts` in turn, and their features."""
    features = for_lists(features, index)
    if is_in_memory(features):
        for first, last in list_parts(index, ROWS):
            places = slice(index.pointer[first], index.pointer[last])
            rows = index.row[places] if len(index.row) else np.arange(places.start, places.stop)
            yield rows, take_dense(features, rows)
        return
    for start, block in recut(as_source(features).blocks(), list_sizes(index, ROWS)):
        yield slice(start, start + len(block)), np.ascontiguousarray(block, np.float32)


def score_lists(
    net: Any, features: Any, index: QueryIndex, out: Floats, *, threads: int, device: str
) -> None:
    """Add scores of documents in the context of their lists to `out`."""
    with torch.inference_mode(), threads_of_torch(threads):
        for (first, last), (rows, block) in zip(
            list_parts(index, ROWS), _lists(features, index), strict=True
        ):
            given = torch.from_numpy(block).to(device)
            sizes = torch.from_numpy(index.sizes[first:last].astype(np.int64)).to(device)
            with few_on_one_thread(len(block)):
                out[rows] += net(given, sizes).double().cpu().numpy()
