"""Networks and linear rankers as scorers: weights by epoch, and how features get to them.

The file is of safetensors: arrays with names, and a few texts of JSON about them. Nothing in it is
ever executed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.data.sources import View, as_source, to_dense
from rankforce.models.base import NETWORK
from rankforce.models.forest.forest import Forest
from rankforce.models.network.encoder import Encoder
from rankforce.models.network.library import load_safetensors, load_torch

State = dict[str, NDArray[Any]]  # weights by name
ROWS = 1 << 14  # that are scored at a time

WEIGHTS, ENCODER, MEMORY = "weights", "encoder", "memory"
TOLD = "rankforce"  # the text in the file that is about its arrays


class Network:
    """Weights of a network after some of its epochs, and all that it takes to score with them.

    `shape` says what the network is made of. With a `forest`, its features are what each tree gives
    a document.
    """

    kind, file, step = NETWORK, "model.safetensors", "epoch"
    is_sum = False  # scores are those of an epoch, not sums over epochs

    def __init__(
        self,
        shape: Mapping[str, Any],
        encoder: Encoder,
        names: Sequence[str],
        ranges: Sequence[str],
        forest: Forest | None = None,
    ) -> None:
        self.shape = dict(shape)
        self.encoder = encoder
        self.names = list(names)
        self.ranges = list(ranges)
        self.forest = forest
        self.epochs = 0
        self.states: dict[int, State] = {}
        self.memories: dict[int, State] = {}  # of the optimiser, by epoch: a run goes on with one
        self.influence: Floats = np.zeros(len(names))  # of each feature on scores
        self.module: Any = None  # a torch.nn.Module of the user's own, which no file has
        self.device = "cpu"
        self._kept: tuple[Any, Any] | None = None  # the network that was used last

    def __len__(self) -> int:
        return self.epochs

    @property
    def needs_lists(self) -> bool:
        """Whether the score of a document depends on the others of its query."""
        return bool(self.shape["lists"])

    def add_epoch(self, state: State, memory: State, *, best: int | None) -> None:
        """Weights behind one more epoch; of those before, the last and the `best` stay."""
        last, number = self.epochs, self.epochs + 1
        kept = {n: old for n, old in self.states.items() if n in (last, best)}
        self.memories = {n: old for n, old in self.memories.items() if n == last}
        self.memories[number], self.states = memory, kept | {number: state}
        self.epochs = number

    def keep(self, steps: int) -> None:
        """Forget what comes behind so many epochs."""
        self.epochs = min(self.epochs, steps)
        self.states = {n: state for n, state in self.states.items() if n <= steps}
        self.memories = {n: memory for n, memory in self.memories.items() if n <= steps}

    def settle(self, used: int, *, goes_on: bool) -> None:
        """Forget all that is not used; what another run goes on with, if there is no such."""
        self.states = {n: state for n, state in self.states.items() if n in (used, self.epochs)}
        if not goes_on:
            self.memories = {}

    def inputs(self, features: Any) -> Any:
        """The features that the network sees: the data's own, or what trees make of them."""
        return inputs_of(self.forest, features)

    def add_scores(
        self,
        features: Any,
        steps: range,
        out: Floats,
        *,
        threads: int,
        index: QueryIndex | None = None,
    ) -> None:
        """Add the scores of the epoch at the end of `steps` to `out`."""
        if not len(steps):
            return
        if self.needs_lists and index is None:
            raise RankforceError(
                "a score of this network depends on the whole list: give qid or group, or a "
                "RankingData"
            )
        if steps.start:
            raise RankforceError(
                f"epochs {steps.start} to {steps.stop} of a network have no scores by themselves: "
                "begin with the first"
            )
        net, inputs = self.net(steps.stop), self.inputs(features)
        from rankforce.models.network.scoring import score_lists, score_rows

        if self.needs_lists and index is not None:
            score_lists(net, inputs, index, out, threads=threads, device=self.device)
        else:
            score_rows(net, inputs, out, threads=threads, device=self.device)

    def net(self, step: int) -> Any:
        """The network behind an epoch as a torch.nn.Module, from features to scores."""
        known = (step, self.device)
        if self._kept is None or self._kept[0] != known:
            load_torch()  # for what to install
            from rankforce.models.network.scoring import make_net

            self._kept = known, make_net(self, self._state(step))
        return self._kept[1]

    def _state(self, step: int) -> State:
        if step not in self.states:
            has = " and ".join(map(str, sorted(self.states)))
            raise RankforceError(f"weights behind {step} epochs are not kept, only behind {has}")
        return self.states[step]

    def content(
        self, steps: int, parameters: dict[str, Any], categories: dict[int, list[Any]]
    ) -> bytes:
        """What its file holds: the weights behind an epoch, or all that a run goes on with."""
        states = {steps: self._state(steps)}
        if steps == self.epochs:
            states = self.states
        memory = self.memories.get(steps, {})
        arrays = {
            f"{WEIGHTS}.{number}.{name}": values
            for number, state in states.items()
            for name, values in state.items()
        }
        arrays |= {f"{ENCODER}.{name}": values for name, values in self.encoder.arrays().items()}
        arrays |= {f"{MEMORY}.{name}": values for name, values in memory.items()}
        arrays["influence"] = self.influence
        told = {
            "shape": self.shape,
            ENCODER: self.encoder.record(),
            "names": self.names,
            "ranges": self.ranges,
            "forest": None if self.forest is None else self.forest.text(len(self.forest), {}, {}),
        }
        texts = {TOLD: json.dumps(told)}  # the only one: several would stand in any order
        plain = {name: np.asarray(values, order="C") for name, values in sorted(arrays.items())}
        found: bytes = load_safetensors().numpy.save(plain, texts)
        return found

    def digest(self, steps: int) -> str:
        """A fingerprint of all that scores behind an epoch, and of what a run goes on with."""
        about = [self.shape, self.encoder.record(), self.ranges]
        if self.forest is not None:
            about.append(self.forest.digest(len(self.forest)))
        total = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        of_epoch = (kept.get(steps, {}) for kept in (self.states, self.memories))
        for arrays in (*of_epoch, self.encoder.arrays()):
            for name, values in sorted(arrays.items()):
                total.update(f"{name} {values.dtype} {values.shape}".encode())
                total.update(values.tobytes())
        return total.hexdigest()[:32]

    @classmethod
    def parse(cls, content: bytes, place: Path) -> Network:
        """A network from the content of a file, none of which is ever executed."""
        try:
            told = _read_told(content)
            arrays: State = load_safetensors().numpy.load(content)
            forest = None
            if told["forest"] is not None:
                forest = Forest.parse(str(told["forest"]).encode(), place)
            encoder = Encoder.restore(told[ENCODER], _under(arrays, ENCODER))
            found = cls(
                dict(told["shape"]),
                encoder,
                [str(name) for name in told["names"]],
                [str(one) for one in told["ranges"]],
                forest,
            )
            for name, values in _under(arrays, WEIGHTS).items():
                number, _, rest = name.partition(".")
                found.states.setdefault(int(number), {})[rest] = values
            found.influence = np.asarray(arrays["influence"], np.float64)
            found.epochs = max(found.states)
            found.memories = {found.epochs: _under(arrays, MEMORY)}
            columns = len(found.names) if forest is None else len(forest)
            if len(encoder.names) != columns or len(found.ranges) != len(found.names):
                raise RankforceError("its parts are of different numbers of features")
            bool(found.shape["lists"]), str(found.shape["model"])
        except RankforceError as error:
            raise RankforceError(f"{place}: {error}") from None
        except Exception as error:  # safetensors has errors of its own
            raise RankforceError(f"{place} holds no network: {error}") from None
        return found


def inputs_of(forest: Forest | None, features: Any) -> Any:
    """The features that a network sees; those of a forest are made when they are needed."""
    if forest is None:
        return features
    change = partial(leaf_values, forest)
    return View(as_source(features), change=change, columns=len(forest))


def leaf_values(forest: Forest, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each tree (across) gives each row (down)."""
    leaves = forest.leaves(rows, range(len(forest)), threads=1)
    found = np.empty(leaves.shape, np.float32)
    for column, tree in enumerate(forest.trees):
        found[:, column] = tree.leaf_value[leaves[:, column]]
    return found


def find_ranges(features: Any, categorical: Sequence[int]) -> list[str]:
    """What training saw of each feature: "[low:high]", codes "3:7" of categories, or "none".

    >>> find_ranges(np.array([[1, 2], [3, np.nan]], np.float32), [])
    ['[1:3]', '[2:2]']
    """
    columns = as_source(features).shape[1]
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    codes: dict[int, set[int]] = {column: set() for column in categorical}
    for _, rows in as_source(features).blocks():
        low, high = np.fmin(low, np.fmin.reduce(rows)), np.fmax(high, np.fmax.reduce(rows))
        for column, seen in codes.items():
            seen |= {*np.unique(rows[~np.isnan(rows[:, column]), column]).astype(int).tolist()}
    found = [f"[{a:g}:{b:g}]" if a <= b else "none" for a, b in zip(low, high, strict=True)]
    for column, seen in codes.items():
        found[column] = ":".join(map(str, sorted(seen))) or "none"
    return found


def take_dense(features: Any, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Some rows, as an array."""
    return to_dense(as_source(features).take(rows)).astype(np.float32, copy=False)


def _read_told(content: bytes) -> dict[str, Any]:
    """What a file of safetensors tells about its arrays, before which it stands."""
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    found: dict[str, Any] = json.loads(head["__metadata__"][TOLD])
    return found


def _under(arrays: Mapping[str, NDArray[Any]], name: str) -> State:
    """The arrays whose names begin so."""
    start = f"{name}."
    return {key[len(start) :]: values for key, values in arrays.items() if key.startswith(start)}
