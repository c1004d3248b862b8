# ruff: noqa: RUF009 - each of the calls below makes a field of the table.
"""Every setting, in one table: a line each.

The estimator's parameters and their defaults, options of the command line, keys of config files,
checks, other libraries' names, what a manifest keeps and what a resumed run may change follow from
it. It imports next to nothing: the command line's help reads it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import textwrap
from typing import Any, NamedTuple


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers that a setting may be.

    >>> print(Range(2, 126), "|", Range(0.0, whole=False, above=True))
    an integer from 2 to 126 | a number above 0
    """

    least: float
    most: float = math.inf
    whole: bool = True
    above: bool = False  # the least itself is too little

    def __str__(self) -> str:
        kind = "an integer" if self.whole else "a number"
        first = "above" if self.above else "from"
        last = "" if self.most == math.inf else f" to {self.most:g}"
        return f"{kind} {first} {self.least:g}{last}"


class Unsaid:
    """Marks a default that a preset or a network may have another one of: what a user says stays.

    >>> DEFAULT.num_leaves, isinstance(DEFAULT.num_leaves, Unsaid), isinstance(31, Unsaid)
    (31, True, False)
    """


class _UnsaidInt(Unsaid, int):
    pass


class _UnsaidFloat(Unsaid, float):
    pass


class _UnsaidStr(Unsaid, str):
    pass


def _unsaid(value: float | str) -> Any:
    kinds = {int: _UnsaidInt, float: _UnsaidFloat, str: _UnsaidStr}
    return kinds[type(value)](value)


COUNT = Range(1)
AMOUNT = Range(0.0, whole=False)
SHARE = Range(0.0, 1.0, whole=False, above=True)
SWITCH = (True, False)


class Setting(NamedTuple):
    """What is known of a setting."""

    name: str
    default: Any
    where: (
        str  # it is of the "objective", of "trees", of a "network", of "training", or of the "run"
    )
    about: str
    # What it may be: numbers, or one of these; None where that takes a check of its own.
    may: Range | tuple[Any, ...] | None = None
    also: tuple[str, ...] = ()  # what LightGBM, XGBoost and the published forks call it
    option: str = ""  # on the command line
    metavar: str | None = None  # of the option; a FILE or a FOLDER is beside the config file
    free: bool = False  # may differ between the parts of one run
    noted: bool = False  # is in a manifest although it is free
    unset: Any = None  # what it is like to leave it at None
    in_committee: Any = None  # what it is in one where the user does not say
    only: str = ""  # "trees" or "network": models of another kind refuse it

    @property
    def help(self) -> str:
        """The setting in half a sentence.

        >>> TABLE["num_leaves"].help
        'leaves of a tree (an integer from 2 to 131072; default 31)'
        """
        default = self.unset if self.default is None else self.default
        beside = [] if default is None else [f"default {default}"]
        beside += _shown_defaults(self.name)
        if self.in_committee is not None:
            beside.append(f"in a committee {self.in_committee}")
        if isinstance(self.may, Range):
            beside.insert(0, str(self.may))
        elif self.may:
            beside.insert(0, f"{', '.join(map(str, self.may[:-1]))} or {self.may[-1]}")
        return self.about + (f" ({'; '.join(beside)})" if beside else "")


def _shown_defaults(name: str) -> list[str]:
    """What a setting is in networks of each kind, in words.

    >>> _shown_defaults("clip"), _shown_defaults("heads")
    (['default 1.0'], ['2 of attention'])
    """
    kinds: dict[str, list[str]] = {}
    for kind, own in NETWORKS.items():
        if name in own and kind != "module":
            kinds.setdefault(str(own[name]).strip("[]"), []).append(kind)
    if [len(several) for several in kinds.values()] == [len(NETWORKS) - 1]:
        return [f"default {value}" for value in kinds]
    return [f"{value} of {' and '.join(several)}" for value, several in kinds.items()]


def _setting(where: str, default: Any, about: str, may: Any = None, **more: Any) -> Any:
    more["also"] = tuple(more.get("also", "").split())
    if where in ("trees", "network"):
        more["only"] = where
    metadata = {"where": where, "about": about, "may": may, **more}
    return dataclasses.field(default=default, metadata=metadata)


WHERE = ("objective", "trees", "network", "training", "run")
_objective, _trees, _network, _training, _run = (
    functools.partial(_setting, where) for where in WHERE
)


# fmt: off
@dataclasses.dataclass(frozen=True)
class Values:
    """A value of each setting, and what follows from the objective "auto".

    Parameters that are `passed` go to the engine as they are.
    """

    objective: Any = _training(
        "lambdarank-ndcg", "what to train for: a name, 'auto' for one that fits eval_metric and k, "
        "or what rf.objective takes or makes", option="--objective")
    k: int | None = _objective(None, "cutoff that one cares about", COUNT, option="-k")
    tau: float | None = _objective(
        None, "truncation level of the pairs", COUNT, unset="k", option="--tau",
        also="lambdarank_truncation_level lambdarank_num_pair_per_sample")
    mu: float | None = _objective(
        None, "weight of the second part of a hybrid", AMOUNT, also="lambdagap_weight")
    gain: Any = _objective(
        None, "worth of a label: '2^y-1', 'y', 'binary', a table or a function", also="label_gain")
    sigma: float = _objective(
        1.0, "steepness of the cost", Range(1e-3, 1e3, whole=False), also="sigmoid")
    delta_offset: int | None = _objective(
        None, "1 for rank distances as the published forks have them", Range(0, 1))
    missed: str | None = _objective(
        None, "documents that Lambda-eX adds to the top k: those whose label that has too few of, "
        "or all whose label the ideal top k has", ("deficit", "label"), unset="deficit")
    p: float | None = _objective(None, "persistence of RBP, between 0 and 1")
    max_label: float | None = _objective(None, "top grade of ERR", AMOUNT)
    cost: str = _objective("logistic", "what a pair costs", ("logistic", "sigmoid"))
    center: float = _objective(0.0, "what the sigmoid cost is around")

    source: str | None = _objective(
        None, "labels to read where there are several", unset="the first")

    model: Any = _training(
        "trees", "what gives the scores: trees, linear, mlp, attention (a document in the context "
        "of its list), or a torch.nn.Module of one's own", option="--model")
    norm: str = _training(
        _unsaid("lightgbm"), "what the forces of a query are divided by",
        ("lightgbm", "none", "std"))
    step: str = _training(
        "newton", "how far a leaf moves", ("newton", "gradient", "exact-newton"), option="--step",
        only="trees")
    split: str | None = _training(
        None, "how splits are found: by Newton's gain, or by least squares of the forces, for "
        "which min_child_weight counts documents; the step is the same",
        ("least-squares", "newton"), unset="newton", only="trees")
    preset: str | None = _training(
        None, "settings for all that is not given: a committee of small trees, or fewer trees that "
        "count more", ("best", "fast"), option="--preset", only="trees")
    base: Any = _training(
        None, "what to go on from: a ranker, its folder, a model of LightGBM or XGBoost, any other "
        "with predict, or 'regressor', trees fitted to the labels", option="--base")
    base_estimators: int = _training(10, "trees of the base 'regressor'", COUNT, only="trees")
    base_rate: float | None = _training(
        None, "how much each of them counts, 1 without shrinkage",
        Range(0.0, whole=False, above=True), unset="the first learning_rate", only="trees")
    members: Any = _training(
        None, "rankers of a committee, whose trees are added up: how many, or a list of what each "
        "of them has of its own, an objective or a table of settings", option="--members",
        metavar="N", only="trees")
    member_weights: str | None = _training(
        None, "how much each member counts; other than equal it is chosen on the set that "
        "decides, or without one on folds of the training set", ("equal", "greedy", "linear"),
        unset="equal", only="trees")
    n_estimators: int = _training(
        _unsaid(100), "number of trees, of each member of a committee", COUNT, option="--trees",
        free=True, noted=True,
        also="num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds "
        "num_boost_round nrounds max_iter", only="trees")
    learning_rate: Any = _training(  # a number, or one for each tree
        _unsaid(0.1), "how much a tree counts", Range(0.0, whole=False, above=True),
        option="--learning-rate", also="shrinkage_rate eta")

    num_leaves: int = _trees(
        _unsaid(31), "leaves of a tree", Range(2, 131072), option="--num-leaves",
        also="num_leaf max_leaves max_leaf max_leaf_nodes")
    max_depth: int = _trees(-1, "depth of a tree at most, -1 without a limit", Range(-1))
    min_child_samples: int = _trees(
        _unsaid(20), "documents of a leaf at least", Range(0),
        also="min_data_in_leaf min_data_per_leaf min_data min_samples_leaf")
    min_child_weight: float = _trees(
        1e-3, "sum of second derivatives of a leaf at least", AMOUNT,
        also="min_sum_hessian_in_leaf min_sum_hessian_per_leaf min_sum_hessian min_hessian")
    min_split_gain: float = _trees(
        0.0, "gain of a split at least", AMOUNT, also="min_gain_to_split gamma min_split_loss")
    reg_alpha: float = _trees(
        0.0, "L1 penalty of leaves", AMOUNT, also="lambda_l1 l1_regularization alpha")
    reg_lambda: float = _trees(
        0.0, "L2 penalty of leaves", AMOUNT, also="lambda_l2 l2_regularization lambda")
    subsample: float = _training(
        1.0, "share of the rows that a tree sees", SHARE, in_committee=0.7,
        also="bagging_fraction sub_row bagging", only="trees")
    subsample_freq: int = _training(
        1, "trees between two draws of rows, 0 for none", Range(0), also="bagging_freq",
        only="trees")
    subsample_by: str = _training(
        "row", "what is drawn as a whole", ("row", "query"), in_committee="query", only="trees")
    colsample_bytree: float = _trees(
        1.0, "share of the columns that a tree sees", SHARE, in_committee=0.5,
        also="feature_fraction sub_feature")
    colsample_bynode: float = _trees(
        1.0, "share of the columns that a split sees", SHARE,
        also="feature_fraction_bynode sub_feature_bynode")
    seed: int = _training(
        0, "seed of all that is random", Range(0, 2**31 - 1), option="--seed",
        also="random_state random_seed")
    threads: int | None = _run(
        None, "number of threads", Range(-1, 4096), unset="all cores", option="--threads",
        free=True, also="num_threads num_thread n_jobs nthread")
    quantised: bool | None = _trees(
        None, "whether forces are rounded to a few levels", SWITCH, unset="where that is sound",
        also="use_quantized_grad quantized")
    quantised_levels: int = _trees(
        64, "levels that forces are rounded to", Range(2, 126), also="num_grad_quant_bins")

    epochs: int | None = _network(
        None, "passes over the training set", COUNT, option="--epochs",
        also="n_epochs num_epochs max_epochs")
    batch_size: int | None = _network(
        None, "documents that a batch of whole queries is filled to", COUNT,
        unset="2048, or more or less such that an epoch has 8 to 128 batches")
    hidden: Any = _network(None, "widths of the hidden layers, as 256,128,64")
    dropout: float | None = _network(
        None, "share of the hidden values that a step leaves out", Range(0.0, 0.95, whole=False))
    noise: float | None = _network(
        None, "standard deviation of noise that is added to features while learning", AMOUNT)
    scaling: str | None = _network(
        None, "how features are made alike: signed log1p and standardised, only standardised, by "
        "their quantiles, by log and quantiles both, or not at all",
        ("log", "standard", "quantile", "both", "none"))
    layers: int | None = _network(None, "layers of attention", COUNT)
    heads: int | None = _network(None, "heads of a layer of attention", COUNT)
    optimiser: str | None = _network(
        None, "how weights move: AdamW, or sgd, plain steps along the forces of a query at a time",
        ("adamw", "sgd"), also="optimizer")
    weight_decay: float | None = _network(None, "how fast weights shrink (AdamW)", AMOUNT)
    warmup: float | None = _network(
        None, "share of the steps in which the learning rate grows; it falls behind them",
        Range(0.0, 1.0, whole=False))
    averaging: float | None = _network(
        None, "epochs in which what weights were counts half in the average that scores, 0: the "
        "last weights alone", AMOUNT)
    clip: float | None = _network(
        None, "length that the gradient of a batch has at most",
        Range(0.0, whole=False, above=True))
    device: str | None = _run(
        None, "where trees or a network learn", ("cpu", "cuda"), option="--device",
        unset="cpu", free=True, noted=True)

    eval_metric: Any = _training(
        None, "metrics to watch, with commas; the first one decides", option="--metric",
        also="metric metrics")
    eval_at: Any = _training(  # free, as the metrics have their cutoffs
        None, "cutoffs of metrics that have none", free=True,
        also="ndcg_eval_at ndcg_at map_eval_at map_at")
    early_stopping_rounds: int | None = _training(
        None, "stop after so many trees or epochs without gain", COUNT, option="--early-stopping",
        free=True, noted=True, also="early_stopping_round early_stopping n_iter_no_change")
    min_delta: float = _training(
        0.0, "what counts as a gain", AMOUNT, free=True, also="early_stopping_min_delta")
    checkpoint: Any = _run(
        None, "folder to write to while training, and to resume from", option="--checkpoint",
        metavar="FOLDER", free=True)
    cluster: Any = _run(
        None, "Dask workers that train together: a distributed.Client, its scheduler's address or "
        "file", option="--dask", metavar="ADDRESS", free=True, only="trees")
    checkpoint_every: int = _run(10, "trees or epochs between two checkpoints", COUNT, free=True)
    progress: bool | None = _run(
        None, "whether to show progress", SWITCH, free=True,
        unset="a live line in terminals, else log lines")
    importance_type: str | None = _run(
        None, "kind of feature_importances_", unset="split", free=True, noted=True, only="trees")
    missing: float | None = _training(None, "number that stands for a missing value beside NaN")
    engine: str | None = _training(
        None, "what grows the trees", unset="the fastest that can", only="trees")
    passed: dict[str, Any] = dataclasses.field(default_factory=dict)
    choice: Any = None  # what the objective "auto" became, and why
# fmt: on


DEFAULT = Values()

# What settings of a network are where the user does not say.
_ALL = {"norm": "none", "epochs": 60, "noise": 0.0, "optimiser": "adamw"}
_ALL |= {"averaging": 1.0, "warmup": 0.1, "clip": 1.0, "weight_decay": 0.01, "scaling": "both"}
_DEEP = {"learning_rate": 3e-4, "hidden": [64, 32], "dropout": 0.5}
NETWORKS: dict[str, dict[str, Any]] = {
    "linear": _ALL | {"learning_rate": 0.01},
    "mlp": _ALL | _DEEP,
    "attention": _ALL | _DEEP | {"layers": 1, "heads": 2},
}
NETWORKS["module"] = _ALL | {"learning_rate": 1e-3, "scaling": "log"}  # a column for each feature
TABLE: dict[str, Setting] = {
    field.name: Setting(field.name, field.default, **field.metadata)
    for field in dataclasses.fields(Values)
    if field.metadata
}

# Keys of a run that are no settings of a ranker: data, and what becomes of the model.
RUN_KEYS: dict[str, Setting] = {
    name: Setting(name, None, "run", about, option=option, metavar=metavar)
    for name, option, metavar, about in (
        ("train", "--train", "FILE", "documents with labels"),
        ("valid", "--valid", "FILE", "as --train, to watch; may be repeated"),
        ("labels", "--labels", "NAMES", "label columns, with commas, the main one first"),
        ("preferences", "--preferences", "FILE", "explicit pairs of documents"),
        ("out", "--out", "FOLDER", "where the model goes"),
        ("overwrite", "--overwrite", None, "even if --out holds a model already"),
        ("columns", "", None, "names of columns, as rf.read takes them"),
        ("diagnose", "--diagnose", None, "record diagnostics, for the report, every so many steps"),
        ("log_to", "--log-to", "PLACE", "tensorboard:FOLDER, mlflow or mlflow:EXPERIMENT"),
    )
}


def settings_help() -> str:
    """Every setting, by what it applies to.

    >>> print(settings_help())
    Objective:
    - `k`: cutoff that one cares about (an integer from 1)
    ...
    """
    parts = []
    for where in WHERE:
        lines = [f"{where.capitalize()}:"]
        for one in TABLE.values():
            if one.where == where:
                names = f"; also {', '.join(one.also)}" if one.also else ""
                line = f"- `{one.name}`: {one.help}{names}"
                lines.append(textwrap.fill(line, 96, subsequent_indent="  "))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
