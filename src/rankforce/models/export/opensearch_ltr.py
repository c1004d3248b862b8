"""Export to OpenSearch's learning-to-rank plugin."""

from __future__ import annotations

from rankforce.models.export.features import FeatureMap
from rankforce.models.export.plugin import export_plugin
from rankforce.models.export.registry import Exported
from rankforce.models.model import Model

# opensearch-project/opensearch-learning-to-rank-base #286, #378.
ZEROS = (
    "missing values go where 0 goes; versions of the plugin behind 3.1 without its change #379 "
    "send them right at every node: there, let the query of each feature match every document"
)
NAN = (
    "the file says so, but up to 3.1 the plugin takes a missing value for 0, and behind that, "
    "without its change #379, it sends it right at every node"
)


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The body that uploads the model: trees, or weights of a linear network."""
    return export_plugin(model, features, "opensearch-ltr", zeros_note=ZEROS, nan_note=NAN)
