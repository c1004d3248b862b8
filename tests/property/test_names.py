"""Names in any case and with any separators mean the same objective."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankforce as rf

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
