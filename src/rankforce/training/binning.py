"""Features that are not in memory enter training as bins, a byte a value; others as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.memory import available_memory
from rankforce.common.team import ALONE, Team
from rankforce.data.binned import Binned, bin_source
from rankforce.data.edges import BINS, SAMPLE, Edges, find_team_edges
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import Blocks, as_source, is_in_memory
from rankforce.engines.shared_bins import BIN_SEED, NEEDED, binned
from rankforce.training.callbacks.progress import Progress
from rankforce.training.settings import Settings

BINNING = "putting features into bins"
BESIDE = 100  # bytes a document that training takes at most beside the features


def bin_sets(
    sets: Sequence[RankingData],
    settings: Settings,
    progress: Progress | None = None,
    team: Team = ALONE,
) -> list[Any]:
    """Features of the training set and of others, for new trees to be grown and walked on.

    If any of them are not in memory, those of the training set become bins, unless they are, and
    so do the others that are not in memory, by the same edges. So do those of a team, whose workers
    need the same edges, unless some are categorical: bins of these are the engine's. With XGBoost's
    `extmem` all stay where they are: it has pages of bins on disk.
    """
    features = [data.features for data in sets]
    are_in_memory = all(team.gather(all(is_in_memory(one) for one in features)))
    if are_in_memory and (team.size == 1 or sets[0].categorical):
        return features
    if settings.passed.get("extmem"):
        return features
    _check_plain(sets[0], settings)
    train = features[0]
    if all(team.gather(isinstance(train, Binned))):
        _check_edges(train.edges, team)
    else:
        train = _bins_of(sets[0], settings, progress, team)
    return [train, *(_like(train, data, settings.thread_count, progress) for data in sets[1:])]


def _bins_of(
    data: RankingData, settings: Settings, progress: Progress | None, team: Team
) -> Binned:
    """The bins of a training set; the members of a committee share them."""
    passed = settings.passed
    given = {
        "most": passed.get("max_bin", BINS),
        "sample": passed.get("bin_construct_sample_cnt", SAMPLE),
        "seed": passed.get(BIN_SEED, settings.seed),
    }

    def make(features: Any) -> Binned:
        _check_room(data)
        threads = settings.thread_count
        shown = _Shown(features, "looking at features", progress)
        edges = find_team_edges(shown, data.index, **given, threads=threads, team=team)
        found = bin_source(_Shown(features, BINNING, progress), edges, threads=threads)
        if progress is not None:
            progress.say(f"features in bins: {found.bins.nbytes / 1e9:.2f} GB")
        return found

    found: Binned = binned(make, given | NEEDED, data.features)
    return found


def _check_edges(own: Edges, team: Team) -> None:
    for rank, other in enumerate(team.gather(own)):
        if not own.same(Edges(*other)):
            raise RankforceError(
                f"worker {rank} has other bins than worker {team.rank}: make them with "
                "rankforce convert DATA PLACE --like the same place"
            )


def _like(train: Binned, data: RankingData, threads: int, progress: Progress | None) -> Any:
    features = data.features
    if is_in_memory(features):
        return features
    if not isinstance(features, Binned):

        def make(features: Any, _: int) -> Binned:
            _check_room(data)
            shown = _Shown(features, BINNING, progress)
            return bin_source(shown, train.edges, threads=threads)

        return binned(make, NEEDED, features, id(train))
    if not features.edges.same(train.edges):
        raise RankforceError(
            f"{features.place} has other bins than the training set: make it with "
            f"rankforce convert DATA {features.place} --like {train.place}"
        )
    return features


class _Shown:
    """A source that shows how far it has been read."""

    def __init__(self, source: Any, what: str, progress: Progress | None) -> None:
        self._source, self._what, self._progress = as_source(source), what, progress
        self.shape, self.names = self._source.shape, getattr(source, "names", None)

    def blocks(self, rows: int | None = None) -> Blocks:
        """Those of the source."""
        for first, block in self._source.blocks(rows):
            yield first, block
            if self._progress is not None:
                share = (first + len(block)) / max(self.shape[0], 1)
                self._progress.for_now(f"{self._what} {share:4.0%}")

    def take(self, rows: Any) -> Any:
        """Some rows of the source."""
        return self._source.take(rows)


def _check_plain(data: RankingData, settings: Settings) -> None:
    if data.categorical:
        names = [data.feature_names[column] for column in data.categorical]
        raise RankforceError(
            f"feature {names[0]!r} is categorical, which goes with features in memory alone: read "
            "the data with keep='memory', or leave it out with ignore="
        )
    if isinstance(data.features, Binned) and "max_bin" in settings.passed:
        raise RankforceError(
            f"max_bin is {settings.passed['max_bin']}, but {data.features.place} is in bins "
            "already: leave it out"
        )


def _check_room(data: RankingData) -> None:
    """Refuse what would not fit, before hours are spent on it."""
    room = available_memory()
    rows, columns = data.features.shape
    needed = rows * (columns + BESIDE)
    if needed > room:
        raise RankforceError(
            f"{rows:,} rows of {columns} features take {needed / 1e9:.1f} GB in training, a byte a "
            f"value and {BESIDE} a row, and {room / 1e9:.1f} GB are free: leave out features "
            "(ignore=) or queries, take a machine with more memory, or several (cluster=)"
        )
