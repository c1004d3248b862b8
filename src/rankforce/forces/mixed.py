"""Several objectives at once: sums, graded tiers, and weights that move while learning."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankforce.common.checks import check_choice, check_number
from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import AnyObjective
from rankforce.forces.objective import Objective, OneObjective, PreferenceObjective
from rankforce.forces.registry import has_cutoff
from rankforce.forces.schedules import Schedule, Weight, make_schedule

if TYPE_CHECKING:
    from rankforce.forces.ready import MixedPrepared

ObjectiveLike = AnyObjective | str | Mapping[str, Any]


class Part(NamedTuple):
    """One objective of a mix, and how much it counts."""

    objective: Objective | PreferenceObjective | Mixed  # a mix, if its sum has a norm
    weight: Weight = Weight()
    above: tuple[str | None, ...] = ()  # the sources of the tiers above; without, no restriction
    leave_out_zeros: bool = False


class Mixed(AnyObjective):
    """Objectives whose forces are added up, each with its own labels and pairs.

    `norm` is that of the sum; without one, each part has its own or the caller's. Made by `+`, `*`,
    `mixed`, :func:`rankforce.mix`, :func:`rankforce.graded` and :func:`rankforce.scheduled`.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        recipe: tuple[Callable[..., Mixed], list[Any], dict[str, Any]],  # what makes it, of what
        norm: str | None,
    ) -> None:
        self.parts = tuple(parts)
        self.norm = norm
        self._recipe = recipe

    @property
    def name(self) -> str:  # type: ignore[override]
        """The parts with their weights, and the norm of their sum."""
        terms = " + ".join(_term(part) for part in self.parts)
        return terms if self.norm is None else f"{terms}, norm {self.norm}"

    @property
    def seed(self) -> int:
        """That of the first part."""
        return self.parts[0].objective.seed

    @property
    def arguments(self) -> dict[str, Any]:
        """What the first part was made from: it is the one that decides what is measured."""
        return self.parts[0].objective.arguments

    @property
    def aim(self) -> tuple[str, dict[str, Any]]:  # type: ignore[override]
        """The metric of the first part."""
        return self.parts[0].objective.aim

    def table(self) -> dict[str, Any]:
        """The objective as a small table, which `rf.objective` makes it from again.

        >>> import rankforce as rf
        >>> (2.0 * rf.objective("ranknet")).table()
        {'mix': [{'weight': 2.0, 'name': 'RankNet'}]}
        """
        for part in self.parts:
            part.objective.table()
            if any(callable(schedule.kind) for schedule, _ in part.weight.moving):
                raise RankforceError("a schedule that is a function cannot be written as a table")
        return self.described()

    def described(self) -> dict[str, Any]:
        """The table, with functions as they are where a table has none."""
        make, several, rest = self._recipe
        if make is mix:
            parts = [{"weight": weight} | one.described() for weight, one in several]
            return {"mix": parts, **rest}
        return {make.__name__: [one.described() for one in several], **copy.deepcopy(rest)}

    def bind(self, labels: Any, index: QueryIndex, *, team: Team = ALONE) -> MixedPrepared:
        """Do once per data set what labels alone decide, for queries that are indexed already."""
        from rankforce.forces.ready import MixedPrepared

        ready = [
            part.objective.bind_tier(
                labels,
                index,
                above=part.above,
                leave_out_zeros=part.leave_out_zeros,
                team=team,
            )
            if isinstance(part.objective, Objective)
            else part.objective.bind(labels, index, team=team)
            for part in self.parts
        ]
        return MixedPrepared(ready, self.weights, index, self.norm)

    def weights(self, iteration: int) -> list[float]:
        """How much each part counts at an iteration, from 0.

        >>> import rankforce as rf
        >>> a, b = rf.objective("ranknet"), rf.objective("lambdarank-ndcg", k=3)
        >>> rf.scheduled(a, b, schedule="linear", start=0.5, rate=0.25).weights(1)
        [0.25, 0.75]
        """
        return [part.weight.at(iteration) for part in self.parts]

    def __repr__(self) -> str:
        make, several, rest = self._recipe
        first = map(repr, several) if make is scheduled else [repr(several)]
        said = [*first, *(f"{key}={value!r}" for key, value in rest.items())]
        return f"rf.{make.__name__}({', '.join(said)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixed) and (self.parts, self.norm) == (other.parts, other.norm)

    def __hash__(self) -> int:
        return hash(tuple(part.objective for part in self.parts))


def mix(terms: Iterable[tuple[float, ObjectiveLike]], *, norm: str | None = None) -> Mixed:
    """The sum of weight * forces, over pairs of a weight from 0 up and an objective.

    Each part has a norm for itself ("each", the default): its own or else the caller's. `norm`
    "none", "lightgbm" or "std" is that of the sum, as if it were one objective, whatever the
    caller's; a part with a norm of its own is refused then. "std" divides the sum by its standard
    deviation in each query and has hessian 1, as does any sum with a part of cost "sigmoid".
    "lightgbm" is of pairs, explicit ones as well, and refuses a listwise part, which has none.

    >>> import rankforce as rf
    >>> mix([(0.7, "ranknet"), (0.3, "lambdarank-ndcg")]).name
    '0.7 RankNet + 0.3 LambdaRank-NDCG'
    >>> both = mix([(1, "lambdarank-p@2"), (3, "lambdagap-s@2")], norm="lightgbm")
    >>> for one in (both, rf.objective("lambdagap-s+", k=2, mu=3, norm="lightgbm")):
    ...     print(one.gradients([3, 2, 1], [0, 0, 1])[0].round(4).tolist())
    [-0.9108, -0.3761, 1.2868]
    [-0.9108, -0.3761, 1.2868]
    """
    known = [_check_term(term) for term in _check_several("mix", terms)]
    if not known:
        raise RankforceError("there is no objective to mix")
    flat = [(outer * inner, one) for outer, given in known for inner, one in _terms_of(given)]
    parts = [
        part._replace(weight=part.weight.times(weight))
        for weight, one in flat
        for part in _open(one)
    ]
    known_norm = _check_norm(norm, parts)
    return Mixed(parts, (mix, flat, _told(known_norm)), known_norm)


def graded(
    tiers: Sequence[ObjectiveLike],
    *,
    weights: Sequence[float] | None = None,
    leave_out_zeros: bool = True,
    norm: str | None = None,
) -> Mixed:
    """Tiers in order of trust: a lower one pushes only pairs that none above tells apart.

    Svore et al. 2011, section 4.2. Each tier is an objective with a source of labels of its own.
    A document whose label is missing in a tier is in no pair of that tier; nor is one with label 0
    in a lower tier, unless `leave_out_zeros=False` (no clicks may mean that nobody saw it).
    `weights` has one number per tier, by default equal ones that add up to 1. `norm` is that of
    the sum, as in :func:`rankforce.mix`.

    >>> import rankforce as rf
    >>> clicks = rf.objective("lambdarank(cndcg)", source="click")
    >>> both = rf.graded(["lambdarank-ndcg", clicks], weights=[0.8, 0.2])
    >>> lam, _ = both.gradients([3, 2, 1], {"grade": [1, 0, 0], "click": [0, 0.1, 0.5]})
    >>> lam.round(4).tolist()
    [0.1271, -0.0954, -0.0317]
    """
    known = [make_one(tier) for tier in _check_several("graded", tiers)]
    if leave_out_zeros not in (True, False):
        raise RankforceError(f"leave_out_zeros is {leave_out_zeros!r}: it must be True or False")
    if len(known) < 2:
        raise RankforceError(f"a graded objective has two tiers or more, got {len(known)}")
    for tier in known:
        if not isinstance(tier, Objective):
            raise RankforceError(f"a tier is one objective with one source, got {tier!r}")
    shares = [1.0 / len(known)] * len(known)
    if weights is not None:
        shares = list(_check_several("weights", weights, of="numbers"))
    if len(shares) != len(known):
        raise RankforceError(f"there are {len(shares)} weights for {len(known)} tiers")
    shares = [check_number("weight", share, least=0.0) for share in shares]
    sources = [tier.source for tier in known if isinstance(tier, Objective)]
    twice = next((source for source in sources if sources.count(source) > 1), "")
    if twice != "":
        raise RankforceError(
            f"two tiers read the labels {twice or 'label'!r}: give each its source="
        )
    parts = [
        Part(tier, Weight(share), tuple(sources[:t]), leave_out_zeros and t > 0)
        for t, (tier, share) in enumerate(zip(known, shares, strict=True))
        if isinstance(tier, Objective)
    ]
    known_norm = _check_norm(norm, parts)
    rest = {"weights": shares, "leave_out_zeros": leave_out_zeros, **_told(known_norm)}
    return Mixed(parts, (graded, known, rest), known_norm)


def scheduled(
    first: ObjectiveLike,
    second: ObjectiveLike,
    *,
    schedule: str | Callable[[int], float] = "linear",
    start: float = 0.0,
    rate: float | None = None,
    norm: str | None = None,
) -> Mixed:
    """From one objective to another while learning: (1 - w) of the first and w of the second.

    Svore et al. 2011, eq. 12: w is `start` at iteration 0 and grows by `rate` each iteration
    ("linear") or by exp(-rate / m) at iteration m ("exponential"), up to 1; or `schedule` is a
    function of the iteration. It depends on nothing else, so a run that goes on from a checkpoint
    goes on where it was.

    `norm` is that of the sum, as in :func:`rankforce.mix`. By default it is "std" where both follow
    that paper's section 5.3, which divides the sum by its standard deviation: if each of the two is
    one objective with norm "std", or with cost "sigmoid" and no other norm. All else, and
    norm="each", leaves the norm to the parts.

    >>> moving = scheduled("ranknet", "lambdarank-ndcg", schedule=lambda m: min(m / 100, 1.0))
    >>> moving.weights(25)
    [0.75, 0.25]
    """
    known = make_schedule(schedule, start, rate)
    one, two = make_one(first), make_one(second)
    singles = [which for which in (one, two) if isinstance(which, OneObjective)]
    follows = len(singles) == 2 and all(
        which.norm in (None, "std") and makes_steps(which, "none") for which in singles
    )
    if norm is None and follows:
        norm, (one, two) = "std", (which.without_norm() for which in singles)
    parts = [
        part._replace(weight=part.weight.by(known, is_second=is_second))
        for is_second, which in ((False, one), (True, two))
        for part in _open(which)
    ]
    known_norm = _check_norm(norm, parts)
    rest: dict[str, Any] = {"schedule": schedule}
    if not callable(schedule):
        rest |= {"start": known.start, "rate": known.rate}
    rest |= _told(known_norm, else_each=follows)
    return Mixed(parts, (scheduled, [one, two], rest), known_norm)


def makes_steps(one: AnyObjective, norm: str) -> bool:
    """Whether some forces come without second derivatives under a caller's norm."""
    own = one.norm or norm
    if isinstance(one, Mixed):
        return one.norm == "std" or any(makes_steps(part.objective, own) for part in one.parts)
    return own == "std" or (isinstance(one, Objective) and one.cost.name == "sigmoid")


def _check_norm(norm: Any, parts: Iterable[Part]) -> str | None:
    """The norm of a sum; None leaves it to each part."""
    choices = ("each", "none", "lightgbm", "std")
    known = check_choice("norm", "each" if norm is None else norm, choices)
    if known == "each":
        return None
    for part in parts:
        one = part.objective
        if one.norm is not None:
            raise RankforceError(
                f"norm is {known!r} for the sum, but its part {one.name!r} has the norm "
                f"{one.norm!r} of its own: leave one of them out"
            )
        is_list = isinstance(one, Objective) and one.description.listwise is not None
        if is_list and known == "lightgbm":
            raise RankforceError(
                f"norm is 'lightgbm' for the sum, which is one of pairs, and its part {one.name!r} "
                "has none: choose 'none', 'std' or 'each'"
            )
    return known


def _told(norm: str | None, *, else_each: bool = False) -> dict[str, str]:
    """The norm of a sum as a table says it, where it is not as usual."""
    return {"norm": norm or "each"} if norm or else_each else {}


def _check_several(key: str, several: Any, of: str = "objectives") -> Sequence[Any]:
    if isinstance(several, (str, Mapping, AnyObjective)) or not isinstance(several, Iterable):
        raise RankforceError(f"{key} is {several!r}: it must be a list of {of}")
    return list(several)


def _check_term(term: Any) -> tuple[float, AnyObjective]:
    if not isinstance(term, Sequence) or isinstance(term, str) or len(term) != 2:
        raise RankforceError(f"a part of a mix is {term!r}: it must be a weight and an objective")
    return check_number("weight", term[0], least=0.0), make_one(term[1])


def make_one(given: ObjectiveLike) -> AnyObjective:
    """An objective, or what `rf.objective` makes of a name or a table."""
    if isinstance(given, AnyObjective):
        return given
    from rankforce.forces.make import objective

    return objective(given)


def parts_of(one: AnyObjective) -> tuple[Part, ...]:
    """All that is no mix within an objective, each with its weight in the sum it stands in."""
    if not isinstance(one, Mixed):
        return _open(one)
    return tuple(
        leaf
        for part in one.parts
        for leaf in (parts_of(part.objective) if isinstance(part.objective, Mixed) else [part])
    )


def _open(one: AnyObjective) -> tuple[Part, ...]:
    """The parts that an objective adds to a mix: a sum with a norm stays whole."""
    if isinstance(one, Mixed) and one.norm is None:
        return one.parts
    assert isinstance(one, (Objective, PreferenceObjective, Mixed))
    return (Part(one),)


def title(one: OneObjective) -> str:
    """Name, cutoff where it changes anything, and source.

    >>> from rankforce.forces.make import objective
    >>> [title(objective(name, k=5)) for name in ("lambdarank-p@k", "ranknet", "lambdarank(map)")]
    ['LambdaRank-P@5', 'RankNet', 'lambdarank(map@5)']
    """
    k, source = one.arguments.get("k"), one.source
    name = one.name
    if "@k" in name and k is not None:
        name = name.replace("@k", f"@{k}")
    elif k is not None and has_cutoff(name):
        name = f"{name[:-1]}@{k})" if name.endswith(")") else f"{name}@{k}"
    return name + (f" on {source}" if source else "")


def _terms_of(one: AnyObjective) -> list[tuple[float, AnyObjective]]:
    """The terms of a mix, so that a mix of mixes is one; all else is a term."""
    if isinstance(one, Mixed) and one._recipe[0] is mix and one.norm is None:
        return one._recipe[1]
    return [(1.0, one)]


def _term(part: Part) -> str:
    weight = f"{part.weight.factor:g} " if part.weight.factor != 1.0 else ""
    moving = "".join("w " if is_second else "(1 - w) " for _, is_second in part.weight.moving)
    within = " within " + ", ".join(s or "label" for s in part.above) if part.above else ""
    one = part.objective
    return weight + moving + (f"({one.name})" if isinstance(one, Mixed) else title(one)) + within


_OPTIONS = {
    "mix": ("norm",),
    "graded": ("weights", "leave_out_zeros", "norm"),
    "scheduled": ("schedule", "start", "rate", "norm"),
}


def from_table(table: Mapping[str, Any]) -> AnyObjective:
    """The objective that a table of a configuration file describes."""
    rest = dict(table)
    for key, make in (("mix", _from_mix), ("graded", graded), ("scheduled", _from_scheduled)):
        if key not in rest:
            continue
        several = _check_several(key, rest.pop(key))
        unknown = [name for name in rest if name not in _OPTIONS[key]]
        if unknown:
            raise RankforceError(f"an objective with {key!r} has no {', '.join(map(str, unknown))}")
        return make(several, **rest)
    from rankforce.forces.make import objective

    if "name" not in rest:
        raise RankforceError(
            f"the objective {dict(table)!r} says neither name, mix, graded nor scheduled"
        )
    try:
        return objective(rest.pop("name"), **rest)
    except TypeError as error:
        raise RankforceError(f"the objective {dict(table)!r}: {error}") from None


def _from_mix(several: Sequence[Any], **rest: Any) -> Mixed:
    terms = []
    for one in several:
        if not isinstance(one, Mapping):
            raise RankforceError(f"a part of a mix is {one!r}: it must be a table with a weight")
        part = dict(one)
        terms.append((part.pop("weight", 1.0), from_table(part)))
    return mix(terms, **rest)


def _from_scheduled(several: Sequence[Any], **rest: Any) -> Mixed:
    if len(several) != 2:
        raise RankforceError(
            f"scheduled has {len(several)} objectives: it goes from one to another"
        )
    return scheduled(several[0], several[1], **rest)


__all__ = ["Mixed", "Part", "Schedule", "graded", "mix", "scheduled"]
