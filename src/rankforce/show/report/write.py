"""One page that shows runs: `rf.write_report`."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.files import write_whole

STYLES = ("style.css", "explorer.css", "weight_map.css")
# In the order in which they build upon each other.
SCRIPTS = (
    *("dom.js", "scales.js", "tables.js", "charts.js", "bars.js", "diagnostics.js"),
    *("pair_sets.js", "weights.js", "forces.js"),
    *(
        "explorer_why.js",
        "explorer_panels.js",
        "explorer_rows.js",
        "explorer_controls.js",
        "explorer.js",
    ),
    *("weight_map.js", "sections.js", "page.js"),
)
# Characters that could end the script element around the data; JSON escapes all but ASCII.
ESCAPED = {ord(one): f"\\u{ord(one):04x}" for one in "<>&"}


def write_report(
    runs: Any,
    data: Any = None,
    *,
    out: str | os.PathLike[str],
    metric: Any = None,
    baseline: str | None = None,
    queries: int = 12,
    objectives: Sequence[Any] | None = None,
    title: str | None = None,
    seed: int = 0,
    columns: Mapping[str, Any] | None = None,
    base: Any = None,
) -> Path:
    """Write one page that shows runs: settings, curves, diagnostics, comparison, queries, forces.

    `runs` are folders of saved models, rankers, or a dictionary of those by name. `data` is a
    `RankingData` or a file; without it, the first validation set that the runs were trained with is
    read again, if its file is still the same. `metric` is by default the one that the first run
    watched, `baseline` the first run. `queries` says how many are shown in full. `objectives` are
    those whose forces can be looked at, beside the runs' own; by default all that have a name.
    `columns` says which column of the file is what, as for `rf.read`.
    `base` is the model, or its folder, that saved ones stand on, if they need another.

    The page is one file without any request to the outside. The same input gives the same bytes.

    >>> import tempfile
    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker("ranknet", n_estimators=2, num_leaves=3, progress=False).fit(data)
    >>> place = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report({"first": ranker}, data, out=place, queries=3, objectives=["ranknet"]).name
    'report.html'
    """
    from rankforce.show.report.gather import gather

    place = Path(out)
    if place.is_dir() or not place.parent.is_dir():
        raise RankforceError(
            f"out is {str(out)!r}: expected the name of a file in a folder that exists"
        )
    table = gather(
        runs,
        data,
        metric=metric,
        baseline=baseline,
        queries=queries,
        objectives=objectives,
        title=title,
        seed=seed,
        columns=columns,
        base=base,
    )
    write_whole(place, page(table))
    return place


def page(table: dict[str, Any]) -> str:
    """The whole page around the data of a report.

    >>> "<script>alert" in page({"title": "<script>alert(1)</script>"})
    False
    """
    style = "\n".join(_part(name) for name in STYLES)
    script = scripts()
    mark = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    filled = {
        "TITLE": html.escape(str(table.get("title", "")), quote=False),
        # A script that is not this very one does not run, whatever text the data holds.
        "POLICY": f"default-src 'none'; script-src 'sha256-{mark}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        "STYLE": style,
        "DATA": escape_data(table),
        "SCRIPT": script,
    }
    # In pieces, so that a text which looks like a place to fill stays text.
    pieces = _part("page.html").split("@@")
    return "".join(filled[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def scripts(last: str = SCRIPTS[-1]) -> str:
    """The scripts as far as `last`: each is a block of its own, and they share `rankforce`."""
    names = SCRIPTS[: SCRIPTS.index(last) + 1]
    first = '"use strict";\nconst rankforce = (window.rankforce = {});'
    blocks = [f"{{\n{_part(name)}\n}}" for name in names]
    return "\n".join(["(() => {", first, *blocks, "})();"])


def escape_data(table: Any) -> str:
    """JSON that can stand inside a script element.

    >>> escape_data({"id": "</script>"})
    '{"id":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(table, allow_nan=False, separators=(",", ":"))
    return text.translate(ESCAPED)


def _part(name: str) -> str:
    return (files("rankforce.show.report") / "page" / name).read_text(encoding="utf-8").strip("\n")
