"""What a worker's process does: reads its files, meets the others, and trains with them."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.links import open_door
from rankforce.common.team import ALONE, Team, join_team
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema
from rankforce.data.shards import Shard, Shards
from rankforce.data.sources import in_memory
from rankforce.formats.read import make_asked
from rankforce.formats.registry import FORMATS
from rankforce.models.model import Model
from rankforce.training.base import open_base, stand_on
from rankforce.training.cluster.memory import PACKED
from rankforce.training.cluster.messages import DOOR, Assignment, Part, Relay
from rankforce.training.loop import fit
from rankforce.training.run import ScoredSet

Tell = Callable[..., None]


def carry_out(job: Assignment, tell: Tell) -> Model | None:
    """Train with the other workers; the first has the model to give."""
    if len(job.addresses) == 1:
        tell(DOOR, port=0)
        return train(job, ALONE, tell)
    door = None
    if job.rank == 0:
        door = open_door(job.addresses[0][0])
        tell(DOOR, port=door.getsockname()[1])
    try:
        team = join_team(job.rank, job.addresses, token=job.token, door=door)
    except RankforceError as error:
        raise OtherWorkerError(str(error)) from None
    with team:
        try:
            model = train(job, team, tell)
        except Exception as error:
            if team.failure is None:
                raise
            raise OtherWorkerError(str(error)) from None
    return model if job.rank == 0 else None


class OtherWorkerError(RankforceError):
    """Another worker cannot go on, so that this one cannot either."""


def train(job: Assignment, team: Team, tell: Tell) -> Model:
    """The model, the same at every worker."""
    voice: Any = Relay(tell) if job.rank == 0 else False
    settings = dataclasses.replace(job.settings, progress=voice)
    base = open_base(job.base, settings.kind)
    first, *others = job.parts
    data, start = read_part(first, None)
    data = stand_on(base, agree(data, team).with_missing(settings.missing))
    part = ScoredSet(first.name, data, base.scores(data) if start is None else start)
    valid = []
    for one in others:
        if one.is_training:
            valid.append(ScoredSet(one.name, data, part.base))
            continue
        own, start = read_part(one, data)
        own = own.like(data.schema).with_missing(settings.missing)
        valid.append(ScoredSet(one.name, own, base.scores(own) if start is None else start))
    return fit(settings, part, valid, wish=job.wish, base=base, team=team)


def read_part(part: Part, like: RankingData | None) -> tuple[RankingData, Floats | None]:
    """The rows of a worker, and the scores that they start from."""
    if part.files[0].endswith(PACKED):
        data, start = pickle.loads(Path(part.files[0]).read_bytes())
        return data, data.init_score if start is None else start
    told = {key: value for key, value in part.told.items() if key != "format"}
    extra = {key: told.pop(key) for key in ("labels", "n_features") if key in told}
    asked = make_asked(told, like=None if like is None else like.schema, needs=("label", "qid"))
    kind = FORMATS[part.told["format"]]
    shards = [Shard.of(Path(file)) for file in part.files]
    asked = asked._replace(**extra, has_documents=False)
    data = kind.keep(shards, asked, part.origin or part.name)
    data.origin = {"file": part.origin, **part.told} if part.origin else {}
    if part.is_empty:
        data = data.take_queries(np.arange(0))
        data.features = Shards([], data.feature_names)
    if data.categorical:
        data.features = in_memory(data.features)  # bins have no place for categories
    return data, data.init_score


def agree(data: RankingData, team: Team) -> RankingData:
    """The data with the columns of all workers: text may lack the last, files some categories."""
    names = max(team.gather(list(data.feature_names)), key=len)
    categories: dict[int, list[Any]] = {}
    for own in team.gather({str(column): known for column, known in data.categories.items()}):
        for column, known in own.items():
            values = [*categories.get(int(column), ()), *known]
            categories[int(column)] = list(dict.fromkeys(values))
    return data.like(Schema(names, categories, data.renumbered, data.schema.roles))
