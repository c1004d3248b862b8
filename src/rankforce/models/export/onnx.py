"""ONNX: trees as an ensemble in double, a network as the graph that PyTorch exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rankforce.models.export.library import check_library
from rankforce.models.export.registry import FILE, TREES, Exported, kind_of
from rankforce.models.export.rows import about_rows, check_no_map
from rankforce.models.export.shape import check_alone, used_trees
from rankforce.models.model import Model

if TYPE_CHECKING:
    from rankforce.models.export.features import FeatureMap

NAMES = "feature_names"  # in the properties of the file, as JSON


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The file, and how it is run."""
    check_no_map(features, "onnx")
    check_library("onnx", "onnx", "export")
    made, told = _trees(model) if kind_of(model) == TREES else _network(model)
    names = made.metadata_props.add()
    names.key, names.value = NAMES, json.dumps(model.feature_names)
    run = f"scores: onnxruntime.InferenceSession('{FILE}').run(None, {{'features': rows}})[0]"
    return Exported(made.SerializeToString(), [run, *told, *about_rows(model)])


def _trees(model: Model) -> tuple[Any, list[str]]:
    from rankforce.models.export.onnx_trees import OPSETS, forest_model

    trees = used_trees(model, "onnx")
    version = OPSETS["ai.onnx.ml"]
    told = (
        f"scores are float64, from TreeEnsemble of ai.onnx.ml {version}: onnxruntime 1.21 or later"
    )
    return forest_model(trees, len(model.feature_names)), [told]


def _network(model: Model) -> tuple[Any, list[str]]:
    check_alone(model, "onnx", has_lists=True)
    check_library("onnxscript", "onnx", "export")
    from rankforce.models.export.onnx_network import network_model

    told = ["scores are float32, as the network computes them"]
    if model.scorer.needs_lists:
        told.append("the rows of one call are the documents of one query")
    return network_model(model.network("export"), model.used), told
