"""The forms that a model leaves in. A new one is a file of its own, and a line in `EXPORTERS`.

The file has `export(model, features)`, which gives what to write and what to tell the user.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from rankforce.common.errors import RankforceError

if TYPE_CHECKING:
    from rankforce.models.export.features import FeatureMap
    from rankforce.models.model import Model

# In what the user is told these stand for the file, and for its name without the folder.
FILE, FILE_NAME = "<FILE>", "<NAME>"
TREES, LINEAR, LAYERS = "forest", "linear", "network"
WORDS = {TREES: "trees", LINEAR: "a linear ranker", LAYERS: "a network"}


class Exported(NamedTuple):
    """A model in the form of another program."""

    content: bytes  # of the file
    told: list[str]  # lines for the user: what to run next, what is different there


class Exporter(NamedTuple):
    """One form: what it is called, what it is, and where its code is."""

    name: str
    title: str  # in one line
    ending: str  # of the file
    module: str  # loaded when it is used
    kinds: tuple[str, ...]  # of models that it takes: "forest", "linear", "network"


ALL = (TREES, LINEAR, LAYERS)
HOME = "rankforce.models.export"
EXPORTERS = {
    one.name: one
    for one in (
        Exporter(
            "onnx",
            "a graph for ONNX Runtime: an ensemble of trees in double, or a network",
            ".onnx",
            f"{HOME}.onnx",
            ALL,
        ),
        Exporter(
            "c",
            "one C99 file without dependencies: the scores of predict to the bit",
            ".c",
            f"{HOME}.c",
            (TREES,),
        ),
        Exporter("xgboost", "a model that XGBoost loads", ".json", f"{HOME}.xgboost", (TREES,)),
        Exporter(
            "treelite",
            "a checkpoint that Treelite loads, in double",
            ".tl",
            f"{HOME}.treelite",
            (TREES,),
        ),
        Exporter(
            "elasticsearch-ltr",
            "an upload for the learning-to-rank plugin of Elasticsearch",
            ".json",
            f"{HOME}.elasticsearch_ltr",
            (TREES, LINEAR),
        ),
        Exporter(
            "opensearch-ltr",
            "an upload for OpenSearch's learning to rank",
            ".json",
            f"{HOME}.opensearch_ltr",
            (TREES, LINEAR),
        ),
        Exporter(
            "elasticsearch",
            "an upload for Elasticsearch's own learning to rank",
            ".json",
            f"{HOME}.elasticsearch",
            (TREES,),
        ),
        Exporter(
            "solr",
            "a model for Solr's model store",
            ".json",
            f"{HOME}.solr",
            (TREES, LINEAR),
        ),
        Exporter(
            "vespa",
            "a model for an application package of Vespa",
            ".json",
            f"{HOME}.vespa",
            (TREES,),
        ),
    )
}


def export(model: Model, to: str, features: FeatureMap | None = None) -> Exported:
    """A model in another form; one that the form cannot say is refused.

    `features` says what the features of the model are called there.
    """
    exporter = find_exporter(to)
    kind = kind_of(model)
    if kind not in exporter.kinds:
        able = [one.name for one in EXPORTERS.values() if kind in one.kinds]
        raise RankforceError(
            f"to is {to!r}, which holds {WORDS[exporter.kinds[0]]}: this model is {WORDS[kind]}, "
            f"for which there is {' or '.join(able)}"
        )
    made: Exported = importlib.import_module(exporter.module).export(model, features)
    return made


def find_exporter(to: str) -> Exporter:
    """The form of that name.

    >>> find_exporter("c").ending
    '.c'
    """
    if to not in EXPORTERS:
        raise RankforceError(f"to is {to!r}: expected one of {', '.join(EXPORTERS)}")
    return EXPORTERS[to]


def kind_of(model: Model) -> str:
    """What a form has to say: trees, weights of features, or layers.

    A linear network whose features are trees is those trees, each with a weight.
    """
    from rankforce.models.base import FORESTS

    if model.scorer.kind in FORESTS:
        return TREES
    if model.scorer.shape["model"] != LINEAR:
        return LAYERS
    return LINEAR if model.scorer.forest is None else TREES
