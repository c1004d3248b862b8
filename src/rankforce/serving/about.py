"""What is known of a model that is served, for /models."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from rankforce.common.types import plain
from rankforce.serving.models import Entry


def about(entry: Entry) -> dict[str, Any]:
    """A model as JSON can hold it."""
    served = entry.served
    model = served.model
    told = {
        "name": entry.name,
        "version": served.version,
        f"{model.scorer.step}s": model.used,
        "kind": model.scorer.kind,
        "objective": model.objective,
        "metrics": last_metrics(model),
        "loaded": datetime.fromtimestamp(served.loaded, timezone.utc).isoformat(timespec="seconds"),
        "features": features_of(model),
    }
    return told if entry.error is None else told | {"error": entry.error}


def last_metrics(model: Any) -> dict[str, dict[str, Any]]:
    """Each metric of each validation set at the step that is used last."""
    return {
        name: {metric: plain(values[: model.used][-1]) for metric, values in own.items() if values}
        for name, own in model.history.items()
    }


def features_of(model: Any) -> list[dict[str, Any]]:
    """Names and ranges of features, and the values of categories."""
    found = []
    for column, (name, text) in enumerate(
        zip(model.feature_names, model.scorer.ranges, strict=True)
    ):
        one: dict[str, Any] = {"name": name}
        if text.startswith("["):
            low, _, high = text.strip("[]").partition(":")
            one["range"] = [plain(float(low)), plain(float(high))]
        if column in model.categories:
            one["categories"] = model.categories[column]
        found.append(one)
    return found
