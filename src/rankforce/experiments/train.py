"""A whole run from one table of settings, or from a TOML file of them: read, train, save."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankforce.common.errors import RankforceError
from rankforce.common.files import check_folder
from rankforce.data.ranking_data import RankingData
from rankforce.formats.read import read
from rankforce.formats.streams import is_stream, local_file
from rankforce.models.folder import has_model
from rankforce.models.load import load_model
from rankforce.training.callbacks.log_to import PLACES, LogTo, log_to
from rankforce.training.cluster.given import Folder
from rankforce.training.settings_table import RUN_KEYS, TABLE

if TYPE_CHECKING:
    from rankforce.diagnostics.recorder import Recorder
    from rankforce.training.ranker import Ranker

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA_KEYS = ("train", "valid", "columns", "labels", "preferences")  # of a config


class NotSavedError(RankforceError):
    """The model is trained, but not where it should be; `ranker` has it."""

    def __init__(self, message: str, ranker: Ranker) -> None:
        super().__init__(message)
        self.ranker = ranker


def train(config: Mapping[str, Any], *, callbacks: Sequence[Any] = ()) -> Ranker:
    """Train a ranker as `config` says, and save it if `config` has `out`.

    Keys: `train` and `valid` (a file, a RankingData, or a list of those), `out` (a folder; one that
    holds a model already only with `overwrite`, or if it is of the run that `checkpoint` is of),
    `columns` (a table of what `rf.read` takes: the names of the columns label, query, document,
    weight of Parquet and CSV files, lists of those to ignore or that are categorical, n_features),
    `labels` (the names of several label columns, the main one first), `preferences` (a file of
    explicit pairs), `diagnose` (record diagnostics every so many trees or epochs: a number, or a
    table of the arguments of `Recorder`), `log_to` ("tensorboard:FOLDER", "mlflow",
    "mlflow:EXPERIMENT", or a table of the arguments of `rf.log_to`), and every parameter of
    `Ranker` and of its `fit` that has to do with metrics.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> ranker = rf.train({"train": data, "n_estimators": 2, "num_leaves": 3, "progress": False})
    >>> len(ranker.model_.trees)
    2
    """
    from rankforce.training.machine import check_machine
    from rankforce.training.ranker import Ranker

    ranker = Ranker(**{key: value for key, value in config.items() if key not in RUN_KEYS})
    # A mistake among the parameters shows before any file is read, and so does what is not here.
    check_machine(ranker.settings())
    out = config.get("out")
    if out is not None:
        check_out(Path(out), config.get("overwrite", False), config.get("checkpoint"))
    watchers: list[Any] = [_recorder(config["diagnose"])] if config.get("diagnose") else []
    if config.get("log_to"):
        watchers.append(_logger(config["log_to"]))
    data, valid = open_sets(config)
    ranker.fit(data, eval_set=valid, callbacks=[*watchers, *callbacks])
    if out is not None:
        save_ranker(ranker, Path(out))
    return ranker


def check_out(out: Path, may: Any, checkpoint: str | Path | None = None) -> None:
    """Refuse a place for the model that cannot be written to, or that holds another one.

    It `may` be overwritten, or hold what the run of that checkpoint has made.
    """
    check_folder(out, "out")
    if not isinstance(may, bool):
        raise RankforceError(f"overwrite is {may!r}: choose true or false")
    if may or not has_model(out) or _is_of_run(out, checkpoint):
        return
    raise RankforceError(
        f"out is {str(out)!r}, which holds a model already: give another folder, or overwrite it "
        "(--overwrite, overwrite = true)"
    )


def _is_of_run(out: Path, checkpoint: str | Path | None) -> bool:
    """Whether a model is an earlier state of the run that goes on from a checkpoint."""
    if checkpoint is None or not has_model(Path(checkpoint)):
        return False
    if out.resolve() == Path(checkpoint).resolve():
        return True
    try:
        old, run = (load_model(place, checks_base=False) for place in (out, checkpoint))
    except ValueError:
        return False
    if old.steps > run.steps:
        return False
    return old.data == run.data and old.scorer.digest(old.steps) == run.scorer.digest(old.steps)


def save_ranker(ranker: Ranker, out: Path) -> None:
    """Save a ranker, in a temporary folder if there is no place for it where it should be."""
    try:
        ranker.save(out)
    except ValueError as error:
        raise NotSavedError(f"{error}{_save_elsewhere(ranker)}", ranker) from None


def _save_elsewhere(ranker: Ranker) -> str:
    """Save a ranker in a temporary folder, and say which."""
    try:
        with ExitStack() as stack:
            place = tempfile.mkdtemp(prefix="rankforce-")
            stack.callback(shutil.rmtree, place, ignore_errors=True)
            ranker.save(place)
            stack.pop_all()
    except (OSError, ValueError) as error:
        return f", nor elsewhere: {error}"
    return f": the model is trained, and saved in {place}"


def _recorder(wanted: Any) -> Recorder:
    from rankforce.diagnostics.recorder import Recorder

    asked = dict(wanted) if isinstance(wanted, Mapping) else {"every": wanted}
    try:
        return Recorder(**asked)
    except (TypeError, ValueError) as error:
        raise RankforceError(f"diagnose is {wanted!r}: {error}") from None


def _logger(wanted: Any) -> LogTo:
    if isinstance(wanted, str):
        place, _, where = wanted.partition(":")
        first = PLACES.get(place.lower(), ("",))[0]
        wanted = {"where": place} | ({first: where} if where else {})
    try:
        return log_to(**wanted)
    except (TypeError, ValueError) as error:
        raise RankforceError(f"log_to: {error}") from None


def open_sets(config: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """What a config trains on, with its preferences, and what it watches: see `train`.

    Each is a RankingData, or a folder that the workers of a cluster read themselves.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> open_sets({"train": data, "valid": data.take_queries([0, 1]), "k": 5})[1]
    [RankingData(27 rows, 2 queries, 699 features)]
    """
    if config.get("train") is None:
        raise RankforceError("nothing to train on: give train, a file or a RankingData")
    columns = dict(config.get("columns") or {})
    if config.get("labels"):
        columns["labels"] = config["labels"]
    has_cluster = config.get("cluster") is not None
    data = _data(config["train"], columns, has_cluster=has_cluster)
    if config.get("preferences"):
        if not isinstance(data, RankingData):
            raise RankforceError(
                f"preferences do not go with the folder {data.path}: leave them out"
            )
        from rankforce.formats.preferences import read_preferences

        data = data.with_preferences(read_preferences(config["preferences"], data))
    given = config.get("valid")
    entries = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
    return data, [_data(one, columns, like=data, has_cluster=has_cluster) for one in entries]


def _data(
    entry: Any, columns: Mapping[str, Any], *, like: Any = None, has_cluster: bool
) -> RankingData | Folder:
    if isinstance(entry, RankingData):
        return entry
    if not isinstance(entry, (str, Path)):
        raise RankforceError(f"data is {entry!r}: expected a file name or a RankingData")
    if has_cluster and not (is_stream(entry) or Path(entry).is_file()):
        return Folder(str(Path(entry).absolute()), dict(columns))  # which workers may see alone
    if isinstance(like, Folder):
        like = None
    return read(entry, like=like, needs=("label", "qid"), **columns)


def read_config(path: str | Path) -> dict[str, Any]:
    """Settings of a TOML file; names of files in it are relative to it."""
    place = Path(path)  # of standard input: the current folder's
    try:
        with local_file(path) as file:
            config = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RankforceError(f"cannot read {place}: {getattr(error, 'strerror', error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise RankforceError(f"{place}: {error}") from None
    for key, setting in (TABLE | RUN_KEYS).items():
        if key in config and setting.metavar in ("FILE", "FOLDER"):
            config[key] = _beside(place, config[key])
    if config.get("base", "regressor") != "regressor":
        config["base"] = _beside(place, config["base"])
    return config


def _beside(place: Path, value: Any) -> Any:
    if isinstance(value, list):
        return [_beside(place, entry) for entry in value]
    return str(place.parent / value) if isinstance(value, str) and value != "-" else value


def read_setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, where the value is a number, true, false, a list, or text.

    >>> read_setting("max_bin=63"), read_setting("subsample_by=query")
    (('max_bin', 63), ('subsample_by', 'query'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise RankforceError(f"--set {text!r}: expected NAME=VALUE, as in --set max_bin=63")
    try:
        return name.strip(), tomllib.loads(f"x = {value.strip()}")["x"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()
