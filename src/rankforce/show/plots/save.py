"""Write a picture: whole or not at all, and the same bytes for the same picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file
from rankforce.show.plots.style import DPI, Axes, style

FORMATS = ("png", "pdf", "svg")
# What would differ from one run to the next.
WITHOUT: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}


def save(axes: Axes, path: str | Path, *, dpi: int = DPI) -> Path:
    """Write the figure of `axes`; the format is that of the name: .png (or none), .pdf or .svg.

    >>> import tempfile
    >>> import rankforce as rf
    >>> folder = Path(tempfile.mkdtemp())
    >>> save(rf.plots.pair_costs(), folder / "costs.svg").name
    'costs.svg'
    """
    target = Path(path)
    ending = check_choice("the ending of a picture", target.suffix[1:] or "png", FORMATS)
    if target.is_dir() or not target.parent.is_dir():
        raise RankforceError(f"{target}: expected the name of a file in a folder that exists")
    with style() as matplotlib, whole_file(target) as part:
        # Text stays text, in fonts that journals take.
        matplotlib.rcParams.update({"pdf.fonttype": 42, "svg.hashsalt": "rankforce"})
        matplotlib.rcParams["svg.fonttype"] = "none"
        axes.figure.savefig(part, format=ending, dpi=dpi, metadata=WITHOUT[ending])
    return target
