"""Models from files: nothing that is in them is ever executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.models.base import Scorer
from rankforce.models.folder import MANIFEST, read_manifests, state
from rankforce.models.forest.forest import Forest, pandas_categories
from rankforce.models.forest.xgboost_forest import XGBoostForest
from rankforce.models.manifest import kind_of, parse_manifest, read_manifest
from rankforce.models.model import Model
from rankforce.models.outside import check_outside

READINGS = 100  # of a folder that somebody saves into at the same time


def load_model(path: str | Path, *, base: Any = None, checks_base: bool = True) -> Model:
    """Read a saved model, or a plain file of LightGBM's (text) or XGBoost's (JSON).

    Nothing in it is ever executed.

    `base` is the model that it stands on, if it does; `checks_base=False` reads it without.
    """
    place = Path(path)
    if not place.is_dir():
        return plain_model(_read(place), place, base=base)
    for _ in range(READINGS - 1):
        before = state(place)
        try:
            found = _load_folder(place, base, checks_base)
        except ValueError:
            if state(place) == before:
                raise
        else:
            # Without a manifest only if none has come meanwhile.
            if found.parameters or state(place) == before:
                return found
    return _load_folder(place, base, checks_base)


def _load_folder(place: Path, base: Any, checks_base: bool) -> Model:
    """The model of a folder, by the first of its manifests that fits a scorer."""
    scorers: dict[str, Scorer] = {}
    failed: list[RankforceError] = []
    manifests = read_manifests(place)
    for file, text in manifests:
        try:
            record = parse_manifest(file, text)
            scorer = _scorer(place, kind_of(record), scorers)
            steps, story = read_manifest(file, record, scorer)
        except RankforceError as error:
            failed.append(error)
            continue
        scorer.keep(steps)
        model = Model(scorer, **story)
        return _put_on(model, base, file) if checks_base else model
    if failed and manifests[0][0].name == MANIFEST:
        raise failed[0]
    files = [place / kind.file for kind in (Forest, XGBoostForest)]
    file = next((one for one in files if one.exists()), files[0])
    return plain_model(_read(file), file, base=base)


def _scorer(place: Path, kind: type[Scorer], known: dict[str, Scorer]) -> Scorer:
    """The scorer of a kind in a folder, read once."""
    if kind.kind not in known:
        known[kind.kind] = kind.parse(_read(place / kind.file), place / kind.file)
    return known[kind.kind]


def plain_model(content: bytes, place: Path, *, base: Any = None) -> Model:
    """A model from a booster's file alone; `place` is where a mistake in it is."""
    if content.lstrip()[:1] == b"{":
        forest = XGBoostForest.parse(content, place)
        return _put_on(Model(forest, len(forest), {}, "XGBoost model"), base, place)
    forest = Forest.parse(content, place)
    model = Model(forest, len(forest), {}, "LightGBM model")
    model.categories = pandas_categories(forest, content.decode(), place)
    model.categorical = sorted(model.categories)
    return _put_on(model, base, place)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RankforceError(f"cannot read a model from {path}: {error.strerror}") from None


def _put_on(model: Model, base: Any, path: Path) -> Model:
    """The model upon its base; one that it was not trained upon is refused."""
    if model.base is not None:
        if base is None:
            raise RankforceError(
                f"{path}: the model stands on another one: give it as base= (--base FOLDER)"
            )
        check_outside(base, model.base_mark, model.scorer.ranges)
        model.base = base
    elif base is not None:
        inner = getattr(base, "model_", None)
        known = inner.scorer.digest(inner.used) if isinstance(inner, Model) else None
        if known is None or known != _inner_digest(model):
            raise RankforceError(f"{path}: the model does not stand on this base: leave it out")
    return model


def _inner_digest(model: Model) -> str | None:
    """The fingerprint of a base whose trees the model has itself, which may be given again."""
    forest: Forest | None = getattr(model.scorer, "forest", None)  # of a network on trees
    if forest is not None:
        return forest.digest(len(forest))
    return model.scorer.digest(model.base_steps) if model.base_steps else None
