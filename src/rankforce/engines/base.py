"""What grows trees: an engine is opened on features, and makes a tree of the forces on their rows.

Everything else about boosting (forces, bags, values of leaves, rates, scores, stopping,
checkpoints) is done by `training.loop`, the same for every engine.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.models.forest.forest import Forest
from rankforce.models.forest.tree import Tree


class Grown(NamedTuple):
    """A tree, its leaves with the values that the engine would give them."""

    tree: Tree
    leaf: NDArray[np.int32]  # of each row


class Engine(Protocol):
    """An engine that is opened on the features of a training set."""

    how: str  # how it adds up forces, for the first line of a run
    leaf_rules: list[str]  # parameters because of which its own values of leaves are kept
    about: dict[str, str]  # what a model's text is to say of its features beside their ranges

    @property
    def ranges(self) -> list[str]:
        """What it saw of each feature: "[low:high]", codes "3:7" of categories, or "none"."""
        ...

    def grow(
        self,
        lam: Floats,
        hess: Floats,
        iteration: int,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32] | None,
    ) -> Grown | None:
        """The tree for these forces; None if no split is worth it.

        `rows` are those in the bag, in order, None if all are; there is no force on the others.
        What is random about a row depends on its entry of `keys`, the seed and the iteration alone,
        so that a run that is resumed goes on as if it had not stopped.
        """
        ...


class GpuEngine(Engine, Protocol):
    """An engine whose features, forces and leaves of rows are on a GPU.

    One that has a method `plant`, with the arguments of `grow`, begins a tree and does not wait for
    it: what that returns is as `cuda.planted.Planted`.
    """

    @property
    def rows(self) -> Any:
        """The rows of the training set: a `GpuScores`."""
        ...

    def open_rows(self, features: Any) -> Any:
        """Rows of another data set."""
        ...


def _no_model(_given: Any) -> str | None:
    return None


def _takes_all(_parameters: Mapping[str, Any], _categorical: Sequence[int]) -> str | None:
    return None


def _any_number(_parameters: Mapping[str, Any]) -> int:
    return 1 << 62


def _needs_nothing(_parameters: Mapping[str, Any]) -> object:
    return None


def _nothing_to_share(_seed: int | None = None) -> AbstractContextManager[Mapping[str, Any]]:
    return nullcontext({})


class EngineKind(NamedTuple):
    """What is known of an engine before it is opened.

    `open(features, feature_names=, categorical=, parameters=, seed=, threads=)` gives an `Engine`;
    `parameters` are settings of trees under our names, the share of rows `in_bag`, and the engine's
    own.
    """

    name: str
    open: Callable[..., Engine]
    # Parameters of its own, by name: how a value that a user gave is read and checked.
    parameters: Mapping[str, Callable[[Any], Any]] = {}
    # Those of them whose effect depends on trees before, which a resumed run does not know.
    unresumable: frozenset[str] = frozenset()
    # The trees of a model of the engine's own library, as its text; None for anything else.
    adopt: Callable[[Any], str | None] = _no_model
    # While it is open, engines opened on the same features share what they make of them; it gives
    # the parameters of its own that this needs. Engines of other seeds share what this one makes.
    share: Callable[..., AbstractContextManager[Mapping[str, Any]]] = _nothing_to_share
    # What it cannot do of what is asked, by parameters and categorical features, in words.
    lacks: Callable[[Mapping[str, Any], Sequence[int]], str | None] = _takes_all
    most_rows: Callable[[Mapping[str, Any]], int] = _any_number
    joins: bool = False  # whether it can be opened by a `team=`, over the rows of all its workers
    forest: type[Forest] = Forest  # the form in which its trees are kept
    on_gpu: bool = False  # device="cuda" is a choice
    # An error if this machine lacks a library or a device that these parameters need.
    check: Callable[[Mapping[str, Any]], object] = _needs_nothing


FEW = 1 << 22  # values below which our trees take less time than LightGBM's, all of them seen
DEFAULT, OWN, PEER, GPU = "lightgbm", "histogram", "xgboost", "cuda"
# The module that has an engine's `KIND`: it is imported when the engine is used.
_MODULES = {name: f"rankforce.engines.{name}" for name in (DEFAULT, OWN, PEER, GPU)}
_ADDED: dict[str, EngineKind] = {}


def find_engine(name: str | None = None, device: str | None = None) -> EngineKind:
    """The engine of that name; without one, that of the device.

    >>> find_engine().name
    'lightgbm'
    >>> find_engine("abacus")
    Traceback (most recent call last):
    rankforce.RankforceError: engine is 'abacus': choose 'lightgbm', 'histogram', 'xgboost' or
    'cuda'
    """
    usual = GPU if device == "cuda" else DEFAULT
    wanted = usual if name is None else name
    check_choice("engine", wanted, [*_MODULES, *_ADDED])
    if wanted in _ADDED:
        return _ADDED[wanted]
    found: EngineKind = importlib.import_module(_MODULES[wanted]).KIND
    return found


def open_engine(
    name: str | None,
    features: Any,
    *,
    categorical: list[int],
    parameters: dict[str, Any],
    team: Team = ALONE,
    **more: Any,
) -> Engine:
    """The engine of that name on these features; without a name the one that is fastest.

    That is ours where a tree sees part of the rows or columns, where there are few of them, and
    where they are in bins, if it takes the parameters (docs/adr/0029). A worker of a
    team has the features of its own rows, and gets the same trees as all others.
    """
    kind = find_engine(name, parameters.get("device"))
    rows, columns = sum(team.gather(features.shape[0])), features.shape[1]
    is_sampled = parameters["in_bag"] < 1.0 or parameters["colsample_bytree"] < 1.0
    is_binned = isinstance(features, Binned)  # which LightGBM would copy
    if kind.name == DEFAULT and name is None and (is_sampled or is_binned or rows * columns < FEW):
        own = find_engine(OWN)
        is_able = own.lacks(parameters, categorical) is None and rows <= own.most_rows(parameters)
        # Ours are for who asks: LightGBM's keep more codes of a category.
        kind = own if is_able and not categorical else kind
    asked = f"engine={kind.name!r}" if kind.name != GPU else "device='cuda'"
    lacking = kind.lacks(parameters, categorical)
    if lacking is not None:
        raise RankforceError(f"{asked} does not go with {lacking}: leave it out")
    if rows > kind.most_rows(parameters):
        most = kind.most_rows(parameters)
        raise RankforceError(f"{asked} takes {most:,} rows, not {rows:,}: choose {DEFAULT!r}")
    if team.size > 1:
        more["team"] = _check_joins(kind, team)
    return kind.open(features, categorical=categorical, parameters=parameters, **more)


def _check_joins(kind: EngineKind, team: Team) -> Team:
    if not kind.joins:
        names = " or ".join(repr(one.name) for one in engines() if one.joins)
        raise RankforceError(
            f"engine={kind.name!r} does not grow trees over several workers: choose {names}"
        )
    return team


def engines() -> list[EngineKind]:
    """All engines that are known."""
    return [find_engine(name) for name in {**_MODULES, **_ADDED}]


def add_engine(kind: EngineKind) -> None:
    """Make an engine known by its name, to `Ranker(engine=...)` and everything else."""
    _ADDED[kind.name] = kind
