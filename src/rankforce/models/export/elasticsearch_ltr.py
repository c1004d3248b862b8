"""Export to Elasticsearch with the learning-to-rank plugin."""

from __future__ import annotations

from rankforce.models.export.features import FeatureMap
from rankforce.models.export.plugin import export_plugin
from rankforce.models.export.registry import Exported
from rankforce.models.model import Model

# o19s/elasticsearch-learning-to-rank #481.
NAN = "the file says so, but versions of the plugin that fill missing values with 0 do not see it"


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The body that uploads the model: trees, or weights of a linear network."""
    return export_plugin(model, features, "elasticsearch-ltr", zeros_note="", nan_note=NAN)
