"""Checks of single parameters: what passes, and what the errors say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from rankforce import RankforceError
from rankforce.common.checks import check_named, check_names, check_share, check_weights
from rankforce.common.types import plain


def assert_refused(message: str, check: Any, *arguments: Any) -> None:
    with pytest.raises(RankforceError, match=f"^{re.escape(message)}$"):
        check(*arguments)


@pytest.mark.parametrize("value", [0.0, 1.0, True, "0.5", float("nan")])
def test_a_share_lies_between_0_and_1(value: Any) -> None:
    assert check_share("level", np.float32(0.5)) == 0.5
    message = f"level is {value!r}: it must be a number between 0 and 1, neither of them"
    assert_refused(message, check_share, "level", value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("abc", "weights are 'abc': give one number per query"),
        ([1], "weights have shape (1,), but there are 2 queries"),
        ([1, -1], "weight of query q2 is -1.0: weights are finite numbers from 0 up"),
        ([0, 0], "all weights are 0: at least one query must count"),
    ],
)
def test_weights_are_one_number_from_0_up_for_each_query(weights: Any, message: str) -> None:
    ids = ["q1", "q2"]
    assert check_weights([0, 2], ids).tolist() == [0.0, 2.0]
    assert_refused(message, check_weights, weights, ids)


def test_dictionaries_have_something_in_them_and_texts_as_names() -> None:
    check_named("systems", {"a": 1}, "{'name': scores, ...}")
    for given, found in (({}, "an empty dictionary"), ([1], "list")):
        message = f"systems is {found}: give a dictionary, {{'name': scores, ...}}"
        assert_refused(message, check_named, "systems", given, "{'name': scores, ...}")
    check_names(["a", "b"], "run")
    for name in ("", 7):
        assert_refused(
            f"the name of a run is {name!r}: it must be a text", check_names, [name], "run"
        )


def test_plain_values_can_be_written_as_json() -> None:
    values = [np.int64(3), np.float64(0.5), np.inf, np.float64("nan"), None, "q1", True]
    assert [plain(one) for one in values] == [3, 0.5, None, None, None, "q1", True]
