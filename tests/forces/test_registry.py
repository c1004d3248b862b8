"""Names: what is there, how it may be written, and what an unknown one answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rankforce as rf

# Adalia et al. 2025, Table 4, in its order; `all-static` where the table prints `all static`.
TABLE_4 = [
    "LambdaRank-P@k",
    "RankNet",
    "BinRankNet",
    "LambdaRank-NDCG",
    "LambdaLoss-NDCG",
    "LambdaLoss-NDCG++",
    "LambdaRank-BNDCG",
    "LambdaLoss-BNDCG",
    "LambdaLoss-BNDCG++",
    "LambdaRank-ARPbk",
    "LambdaLoss-ARP1",
    "LambdaLoss-ARP2",
    "LambdaMART-eX static",
    "LambdaMART-eX random",
    "LambdaMART-eX all",
    "LambdaMART-eX all-static",
    "LambdaMART-eX all-random",
    "LambdaLoss-eX static",
    "LambdaLoss-eX random",
    "LambdaLoss-eX all",
    "LambdaLoss-eX all-static",
    "LambdaLoss-eX all-random",
    "LambdaLoss-eX++ static",
    "LambdaLoss-eX++ random",
    "LambdaLoss-eX++ all",
    "LambdaLoss-eX++ all-static",
    "LambdaLoss-eX++ all-random",
    "LambdaMART-eX static bin",
    "LambdaMART-eX random bin",
    "LambdaMART-eX all bin",
    "LambdaLoss-eX static bin",
    "LambdaLoss-eX random bin",
    "LambdaLoss-eX all bin",
    "LambdaLoss-eX++ static bin",
    "LambdaLoss-eX++ random bin",
    "LambdaLoss-eX++ all bin",
    "LambdaGap-S",
    "LambdaGap-X",
    "LambdaGap-S+",
    "LambdaGap-X+",
    "LambdaGap-S++",
    "LambdaGap-X++",
]
METRICS = [
    "dcg",
    "ndcg",
    "bndcg",
    "cndcg",
    "map",
    "mrr",
    "err",
    "rbp",
    "p",
    "recall",
    "arp",
    "arpb",
]


def test_table_4_has_42_algorithms() -> None:
    assert len(TABLE_4) == len(set(TABLE_4)) == 42


@pytest.mark.parametrize("name", TABLE_4)
def test_algorithms_of_table_4_are_there(name: str) -> None:
    assert name in [entry.name for entry in rf.objectives()]
    assert rf.objective(name, k=5).name == name
    assert rf.objective(name.replace("-", " "), k=5).name == name


@pytest.mark.parametrize("name", ["NDCG-Loss1", "LambdaLoss-NDCG top-k"])
def test_objectives_beyond_table_4(name: str) -> None:
    assert rf.objective(name, k=5).name == name


@pytest.mark.parametrize("metric", METRICS)
def test_lambdarank_of_every_metric(metric: str) -> None:
    plain = rf.objective(f"lambdarank({metric})", k=5)
    assert plain == rf.objective(f"LambdaRank({metric.upper()})", k=5)
    if metric not in ("rbp", "arp"):
        assert plain == rf.objective(f"lambdarank({metric}@5)")


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("rankmart", "RankNet"),
        ("lambdarank", "LambdaRank-NDCG"),
        ("lambdamart", "LambdaRank-NDCG"),
        ("ndcg-loss2", "LambdaLoss-NDCG"),
        ("NDCG-Loss2++", "LambdaLoss-NDCG++"),
        ("lambdarank(p@7)", "LambdaRank-P@k"),
        ("lambdarank-p@7", "LambdaRank-P@k"),
        ("lambdarank(precision@7)", "LambdaRank-P@k"),
        ("lambdarank(arpb@7)", "LambdaRank-ARPbk"),
        ("lambdarank-arpb@7", "LambdaRank-ARPbk"),
        ("lambdaloss-ex++ random bin", "LambdaLoss-eX++ random bin"),
        ("lambdamart-ex all static", "LambdaMART-eX all-static"),
        ("LAMBDAMART_EX_ALL_STATIC", "LambdaMART-eX all-static"),
        ("lambdagap x+", "LambdaGap-X+"),
    ],
)
def test_other_names(alias: str, name: str) -> None:
    objective = rf.objective(alias, k=7)
    assert objective == rf.objective(name, k=7)
    assert objective.name == name


def test_names_are_told_apart() -> None:
    """No spelling means two objectives."""
    spelled: dict[str, str] = {}
    for entry in rf.objectives():
        for name in (entry.name, *entry.aliases):
            plain = "".join(letter for letter in name.lower() if letter not in " -_")
            assert spelled.setdefault(plain, entry.name) == entry.name


def test_every_entry_tells_about_itself() -> None:
    for entry in rf.objectives():
        for text in (entry.formula, entry.source, entry.cost):
            assert text
            assert "\n" not in text
        about = rf.objective(entry.name, k=5).about
        assert about == {"formula": entry.formula, "source": entry.source, "cost": entry.cost}


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("lambdagapx+++", "LambdaGap-X++"),
        ("rank net 2", "RankNet"),
        ("lambdarank(ndgc)", "lambdarank(ndcg)"),
        ("lambdamart-ex", "LambdaMART-eX all"),
        ("LambdaMART-eX none bin", "LambdaMART-eX random bin"),
    ],
)
def test_unknown_name_gets_suggestions(name: str, suggestion: str) -> None:
    with pytest.raises(ValueError, match="unknown objective") as caught:
        rf.objective(name, k=5)
    assert repr(name) in str(caught.value)
    assert f"{suggestion!r}" in str(caught.value)


@pytest.mark.parametrize("name", ["", "?", "qwertyuiop", "lambdarank()", "lambdarank(ndcg@)"])
def test_strange_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown objective"):
        rf.objective(name, k=5)


@pytest.mark.parametrize("name", [5, None, ["ranknet"], 2.5])
def test_a_name_that_is_no_text(name: object) -> None:
    with pytest.raises(ValueError, match="must be a text"):
        rf.objective(name)  # type: ignore[arg-type]


def test_a_name_and_a_parameter_that_disagree() -> None:
    with pytest.raises(ValueError, match=r"'lambdarank\(ndcg@10\)' says k=10, but k=5 was given"):
        rf.objective("lambdarank(ndcg@10)", k=5)
    with pytest.raises(ValueError, match=r"says p=0.9, but p=0.5 was given"):
        rf.objective("lambdarank(rbp(0.9))", p=0.5)
    assert rf.objective("lambdarank(ndcg@10)", k=10).name == "lambdarank(ndcg)"


def test_ndcg_with_discounts_that_end_is_not_truncated_ndcg() -> None:
    """Ranks 3 (hi) and 1 (lo) of labels 0, 0, 1 with a cutoff of 1; ideal value 1."""
    ends = rf.objective("lambdarank(ndcg@1)").pairs([3, 2, 1], [0, 0, 1])
    truncated = rf.objective("lambdarank-ndcg", k=1).pairs([3, 2, 1], [0, 0, 1])
    assert ends.weight.tolist() == [1.0]
    assert truncated.weight.tolist() == [1.0 - 1.0 / math.log2(4)]


def test_tau_is_k_unless_given() -> None:
    scores, labels = [5, 4, 3, 2, 1], [0, 1, 0, 2, 0]
    for name in ("lambdarank-ndcg", "lambdaloss-ndcg", "lambdaloss-bndcg++", "ndcg-loss1"):
        counts = [
            int(rf.objective(name, **how).effective_pairs(scores, labels)[0])
            for how in ({"k": 1}, {"tau": 1}, {"k": 4, "tau": 1}, {"k": 1, "tau": 1})
        ]
        assert len(set(counts)) == 1
        everything = rf.objective(name).effective_pairs(scores, labels)
        assert rf.objective(name, tau=math.inf, k=1).effective_pairs(scores, labels) == everything
        assert everything[0] > counts[0]


def test_weights_for_precision_end_at_tau() -> None:
    """Adalia et al. 2025, section 6: tau is their k, and the metric keeps its own."""
    names = [entry.name for entry in rf.objectives() if entry.metric == "P" and entry.needs_k]
    assert len(names) == 8
    for name in names:
        ours = rf.objective(name, k=5, tau=8)
        assert np.array_equal(ours.rank_weights(12), rf.objective(name, k=8).rank_weights(12))
        assert ours.metric().name == "P@5"
    ranks = np.arange(1, 13)
    i, j = np.minimum.outer(ranks, ranks), np.maximum.outer(ranks, ranks)
    straddle = rf.objective("lambdarank-p@k", k=5, tau=8).rank_weights(12)
    assert np.array_equal(straddle, (i <= 8) & (j > 8))
