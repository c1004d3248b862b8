"""What is said of the rows that an exported model takes: float32, in the order of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankforce.common.errors import RankforceError
from rankforce.models.model import Model

if TYPE_CHECKING:
    from rankforce.models.export.features import FeatureMap

SHOWN = 8  # codes of a category


def check_no_map(features: FeatureMap | None, to: str) -> None:
    """Refuse names of features where rows have places and no names."""
    if features is not None:
        raise RankforceError(
            f"to is {to!r}, which takes rows in the order of the model: leave out features "
            "(--features), which is for search engines"
        )


def about_rows(model: Model) -> list[str]:
    """Which rows the exported model takes, in a line or two."""
    names = model.feature_names
    lines = [
        f"rows are {len(names)} float32 values in the order of the model, from {names[0]!r} to "
        f"{names[-1]!r}; a missing value is NaN"
    ]
    for column, values in model.categories.items():
        codes = [f"{code} for {value!r}" for code, value in enumerate(values[:SHOWN])]
        more = ", ..." if len(values) > SHOWN else ""
        lines.append(f"feature {names[column]!r} is given as its code: {', '.join(codes)}{more}")
    return lines
