"""Names in any case and with any separators mean the same objective or metric."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankforce as rf
from rankforce.measures.names import split_names
from tests.property.test_metrics import drawn

PROFILE = settings(max_examples=60, deadline=None, derandomize=True)
ENTRIES = rf.objectives()


def other_spelling(draw: Any, name: str) -> str:
    """Letters of any case; `-`, `_` and spaces changed, left out, or put between letters."""
    separator = st.text(alphabet=" -_", max_size=2)
    spelled = []
    for letter in name:
        if letter in " -_":
            spelled.append(draw(separator))
        else:
            spelled.append(draw(st.sampled_from([letter.lower(), letter.upper()])))
            spelled.append(draw(separator) if draw(st.integers(0, 9)) == 0 else "")
    return "".join(spelled)


@given(st.data())
@settings(PROFILE, max_examples=200)
def test_any_case_and_separators(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(ENTRIES))
    name = data.draw(st.sampled_from([entry.name, *entry.aliases]))
    spelled = data.draw(st.composite(other_spelling)(name))
    k = 4 if entry.needs_k else None
    assert rf.objective(spelled, k=k) == rf.objective(entry.name, k=k)
    assert rf.objective(spelled, k=k).name == entry.name


@given(
    st.sampled_from(
        [entry for entry in ENTRIES if entry.name.startswith("lambdarank(") and entry.has_cutoff]
    ),
    st.integers(1, 10**6),
)
@PROFILE
def test_a_cutoff_in_the_name_is_k(entry: Any, k: int) -> None:
    name = entry.name.replace(")", f"@{k})")
    assert rf.objective(name) == rf.objective(entry.name, k=k) == rf.objective(name, k=k)
    with pytest.raises(ValueError, match=f"k={k}.*k={k + 1}"):
        rf.objective(name, k=k + 1)


@given(st.decimals("0.01", "0.99", places=2))
@PROFILE
def test_a_persistence_in_the_name_is_p(p: Any) -> None:
    expected = rf.objective("lambdarank(rbp)", p=float(p))
    assert rf.objective(f"lambdarank(rbp({p}))") == expected
    assert rf.objective(f"LambdaRank(RBP(p={p}))") == expected


@given(st.text(max_size=30).map(lambda text: f"{text}?"))
@settings(PROFILE, max_examples=200)
def test_other_texts_are_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="unknown objective") as caught:
        rf.objective(text, k=3)
    assert repr(text) in str(caught.value)


@given(drawn(), st.randoms(use_true_random=False))
@settings(PROFILE, max_examples=200)
def test_the_name_of_a_metric_says_all(named: tuple[str, dict[str, Any]], random: Any) -> None:
    """In any case, with spaces anywhere, parameters in any order, and before the cutoff."""
    made = rf.metric(named[0], **named[1])
    first, _, inside = made.name.removesuffix(")").partition("(")
    first, at, k = first.partition("@")
    parameters = inside.split(", ") if inside else []
    random.shuffle(parameters)
    shuffled = f"({','.join(parameters)})" if parameters else ""
    for text in (made.name, f"{first}{at}{k}{shuffled}", f"{first}{shuffled}{at}{k}"):
        letters = (random.choice([letter.lower(), letter.upper()]) for letter in text)
        spelled = "".join(letter + " " * (random.random() < 0.2) for letter in letters)
        assert rf.metric(spelled) == made
        assert rf.metric(spelled).name == made.name


@given(st.lists(drawn(), min_size=1, max_size=4))
@PROFILE
def test_lists_of_metrics_split_where_a_name_ends(several: list[tuple[str, Any]]) -> None:
    names = [rf.metric(name, **parameters).name for name, parameters in several]
    assert split_names(", ".join(names)) == split_names(",".join(names)) == names


@given(st.text(max_size=30).map(lambda text: f"{text}?"))
@settings(PROFILE, max_examples=200)
def test_other_texts_are_no_metric(text: str) -> None:
    with pytest.raises(ValueError, match=r"unknown metric|parenthes|twice|no number") as caught:
        rf.metric(text)
    assert repr(text) in str(caught.value)


PIECES = ["ndcg", "p", "map", "rbp", "r", "@5", "@k", "_cut_10", ".5", "(", ")", ",", "-", " ", "="]
PIECES += ["rel=2", "over=k", "ties=last", "gain=y", "trec_eval", "sklearn", "0.8", "k=3", "nan"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@settings(PROFILE, max_examples=400)
def test_any_text_is_a_metric_or_a_mistake(text: str) -> None:
    """Never another error than a `ValueError`, and a name that is taken is taken again."""
    names = []
    with contextlib.suppress(ValueError):
        names.append(rf.metric(text).name)
    for name in names:
        assert rf.metric(name).name == name
