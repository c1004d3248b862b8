"""A network as a graph of ONNX, the scaling of its features included.

This file needs PyTorch, onnx and onnxscript.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from rankforce.common.errors import RankforceError
from rankforce.models.export.onnx_trees import INPUT, OUTPUT

ROWS = 3  # that the exporter looks at the network with: any number but 0 and 1


def network_model(network: Any, step: int) -> Any:
    """The graph of a network behind an epoch, from rows of features to scores."""
    net = copy.deepcopy(network.net(step)).cpu()
    rows = torch.zeros(ROWS, len(network.names))
    try:
        with _quiet():
            made = torch.onnx.export(
                net,
                (rows,),
                dynamo=True,
                verbose=False,
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_shapes=({0: torch.export.Dim("rows")},),
            )
    except torch.onnx.OnnxExporterError as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise _cannot(network, reason) from None
    assert made is not None
    graph = made.model_proto
    if not graph.graph.input[0].type.tensor_type.shape.dim[0].dim_param:
        raise _cannot(network, "it takes the number of rows for a constant")
    return graph


def _cannot(network: Any, reason: str) -> RankforceError:
    name = network.shape.get("class", network.shape["model"])
    return RankforceError(f"to is 'onnx': PyTorch cannot export the module {name}: {reason}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says of PyTorch's older names."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
