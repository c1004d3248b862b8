"""What the papers print: their tables as data, each with its source, and what they claim."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent
NONE = "-"  # a cell without a value
OPEN = "?"  # behind what the scan of the paper does not show for certain


class Printed(NamedTuple):
    """A table of a paper: one record for each cell.

    A record has the keys of its row and of its column ("algorithm" as `rankforce objectives`
    writes it, or a key of `others`; "data" as `rankforce.experiments.datasets` calls it; "k", ...),
    and `value`, `mark` (of significance, a key of `marks`), `is_certain` and `spelling` (the
    algorithm as the paper writes it).
    """

    source: str
    shows: str
    records: tuple[dict[str, Any], ...]
    metric: str = ""  # with k open, as in "p@k"
    unit: str = ""
    test: str = ""  # what a mark says
    marks: dict[str, str] = {}  # noqa: RUF012
    others: dict[str, str] = {}  # noqa: RUF012 algorithms that are none of ours, and why
    notes: tuple[str, ...] = ()

    def find(self, **keys: Any) -> list[dict[str, Any]]:
        """The records with these keys; a list of values means any of them.

        >>> [one["value"] for one in printed("001", "4").find(algorithm="RankNet", data="yahoo-1")]
        [84.23, 81.79, 80.37]
        """
        wanted = {
            key: value if isinstance(value, (list, tuple)) else [value]
            for key, value in keys.items()
        }
        return [
            one
            for one in self.records
            if all(one.get(key) in values for key, values in wanted.items())
        ]

    def value(self, **keys: Any) -> Any:
        """The number in the one cell with these keys; text where the paper prints text.

        >>> printed("000", "5").value(k=5, data="istella-x", algorithm="LambdaRank-NDCG", tau="k+3")
        74.11
        """
        found = self.find(**keys)
        if len(found) != 1:
            raise RankforceError(f"{self.source}: {len(found)} cells have {keys}, expected one")
        return found[0]["value"]


def tables() -> list[tuple[str, str]]:
    """Paper and number of every table that is here.

    >>> tables()[:4]
    [('000', '3'), ('000', '4'), ('000', '5'), ('000', '6')]
    """
    found = (path.stem.split("-") for path in sorted(FOLDER.glob("[0-9]*.toml")))
    return [(paper, table.upper()) for paper, table in found]


@cache
def printed(paper: str, table: str) -> Printed:
    """The table of that number: "000" is Marcuzzi 2023, "001" Adalia 2025, "002" Svore 2011.

    >>> table = printed("001", "A1")
    >>> table.source
    'Adalia et al. 2025, ACM TOIS 43 (4), article 97, Table A1, appendix A.1'
    >>> table.find(k=5, algorithm="LambdaGap-S++", parameter="learning_rate")
    [{'data': 'mslr-web30k', 'k': 5, 'algorithm': 'LambdaGap-S++', 'parameter': 'learning_rate',
      'value': 0.0335, 'mark': '', 'is_certain': False, 'spelling': 'LambdaGap-S++'}]
    """
    names = [f"{one}-{number}".lower() for one, number in tables()]
    name = check_choice("the table", f"{paper}-{table}", names)
    facts = load(f"{name}.toml")
    rows, columns = facts.pop("row"), facts.pop("column")
    heads = [_keys(columns, head) for head in facts.pop("head").split("|")]
    every, spelling = facts.pop("every", {}), facts.pop("spelling", {})
    records = []
    for line in facts.pop("cells").strip().splitlines():
        row, cells = line.split("|")
        for head, cell in zip(heads, cells.split(), strict=True):
            if cell != NONE:
                keys = every | _keys(rows, row) | head
                own = keys.get("algorithm", "")
                records.append(keys | _value(cell) | {"spelling": spelling.get(own, own)})
    notes = tuple(facts.pop("notes", ()))
    return Printed(records=tuple(records), notes=notes, **facts)


def load(name: str) -> dict[str, Any]:
    """A TOML file of this folder."""
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


def _keys(names: list[str], text: str) -> dict[str, Any]:
    values = [value.strip() for value in text.split(",")]
    return dict(zip(names, map(_number, values), strict=True))


def _value(cell: str) -> dict[str, Any]:
    plain = cell.removesuffix(OPEN)
    value = plain.rstrip("*~")
    return {
        "value": _number(value),
        "mark": plain[len(value) :],
        "is_certain": plain == cell,
    }


def _number(text: str) -> Any:
    """The number that a text is, or the text.

    >>> _number("5"), _number("0.50"), _number("k+3"), _number("inf")
    (5, 0.5, 'k+3', 'inf')
    """
    if not text[:1].isdigit():
        return text
    return float(text) if "." in text else int(text)
