"""Tables as papers print them, for the tests of every format."""

from __future__ import annotations

from rankforce.show.tables import Cell, Table


def plain(*texts: str) -> list[Cell]:
    return [Cell(text) for text in texts]


def comparison() -> Table:
    """One comparison: a baseline and two others."""
    rows: list[list[Cell] | str] = [
        plain("LambdaRank-P@k", "0.6932", "", "", "", ""),
        [
            Cell("rank_net"),
            Cell("0.6910", worse=True),
            *plain("-0.0022", "[-0.0040, -0.0003]", "0.021"),
            Cell("", stars="*"),
        ],
        [
            Cell("LambdaGap-S+"),
            Cell("0.6976", bold=True),
            *plain("0.0044", "[0.0020, 0.0066]", "<0.001"),
            Cell("", stars="***"),
        ],
    ]
    heads = ["system", "mean", "difference", "95% interval", "p", "stars"]
    return Table([(head,) for head in heads], rows, ["P@10, y > 0", "6306 queries"], "MSLR & co")


def by_data_set() -> Table:
    """Three rows and two groups of Table 4 of Adalia et al. 2025."""
    columns = [("", "algorithm"), ("MSLR-WEB30K", "k = 5"), ("MSLR-WEB30K", "k = 10")]
    columns += [("Istella-S", "k = 5"), ("Istella-S", "k = 10")]
    rows: list[list[Cell] | str] = [
        plain("LambdaRank-P@k", "73.52", "69.32", "91.30", "81.70"),
        [
            Cell("LambdaRank-NDCG"),
            *(Cell(text, worse=True) for text in ("72.06", "68.08", "88.31", "79.04")),
        ],
        [
            Cell("LambdaLoss-BNDCG"),
            Cell("73.68", bold=True),
            Cell("68.92", worse=True),
            Cell("91.47", stars="*", bold=True),
            Cell("82.09", stars="***", bold=True),
        ],
    ]
    return Table(columns, rows)


def by_cutoff() -> Table:
    """Two rows and three columns of Table 5 of Marcuzzi et al. 2023."""
    columns = [("", "dataset"), ("LambdaMART", "τ=k"), ("LambdaMART-eX", "static")]
    columns += [("LambdaMART-eX", "all-stt")]
    rows: list[list[Cell] | str] = [
        "NDCG@5",
        [
            *plain("IST-S", "70.19"),
            Cell("70.67", stars="**", bold=True),
            Cell("70.65", stars="*", italic=True),
        ],
        "NDCG@10",
        [*plain("MS 30", "52.66", "52.96", "53.19")],
    ]
    return Table(columns, rows, [">: p < 0.01"])
