"""What came of one ranker of a study, and the file that keeps it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file, write_bytes
from rankforce.common.types import Floats
from rankforce.models.curves import Curves


class Outcome(NamedTuple):
    """How a ranker did: what tables and pictures are made of."""

    history: dict[str, dict[str, list[float]]]  # part of the data -> metric -> after each tree
    best: dict[str, int]  # trees that were best on the validation queries, by the deciding metric
    values: dict[str, Floats]  # metric -> of each test query, with the best trees
    forces: Floats  # seconds in the objective, tree by tree
    seconds: Floats  # of each tree, with those in the objective
    records: tuple[str, ...] = ()  # what was recorded beside it
    curves: Curves = Curves()
    agreement: dict[str, Curves] = {}  # noqa: RUF012
    chosen: dict[str, Any] = {}  # noqa: RUF012 settings, where these were tuned


class Stopwatch:
    """A callback that takes down how long trees took."""

    def __init__(self) -> None:
        self.forces: list[float] = []
        self.seconds: list[float] = []

    def __call__(self, moment: Any) -> None:
        """After each tree."""
        self.forces.append(moment.seconds.forces)
        self.seconds.append(moment.seconds.tree)


def save_outcome(outcome: Outcome, path: Path) -> None:
    """Write an outcome, whole or not at all."""
    plain = outcome._asdict()
    arrays = {f"values/{name}": one for name, one in plain.pop("values").items()}
    arrays |= {name: plain.pop(name) for name in ("forces", "seconds")}
    plain["curves"] = outcome.curves.record()
    plain["agreement"] = {name: one.record() for name, one in outcome.agreement.items()}
    file = io.BytesIO()
    np.savez_compressed(file, about=np.array(json.dumps(plain)), **arrays)
    with whole_file(path) as name:
        write_bytes(name, file.getvalue())


def load_outcome(path: Path) -> Outcome:
    """Read an outcome; nothing in the file is run.

    >>> import tempfile
    >>> made = Outcome({}, {"P@5": 3}, {"P@5": np.array([0.2])}, np.ones(3), np.ones(3))
    >>> place = Path(tempfile.mkdtemp()) / "a.npz"
    >>> save_outcome(made, place)
    >>> load_outcome(place).best
    {'P@5': 3}
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            values = {name[7:]: file[name] for name in file.files if name.startswith("values/")}
            return _restore(about, values, file["forces"], file["seconds"])
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise RankforceError(
            f"{path} holds no outcome of a ranker ({error}): remove it, and it is made again"
        ) from None


def _restore(
    about: Mapping[str, Any], values: dict[str, Floats], forces: Floats, seconds: Floats
) -> Outcome:
    plain = dict(about)
    plain["curves"] = Curves.from_record(plain["curves"])
    plain["records"] = tuple(plain["records"])
    plain["agreement"] = {name: Curves.from_record(one) for name, one in plain["agreement"].items()}
    return Outcome(values=values, forces=forces, seconds=seconds, **plain)
