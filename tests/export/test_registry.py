"""Every form that there is scores as `predict` does, or refuses a model in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from rankforce.models.export.registry import EXPORTERS, export
from tests.export import test_search_engines as engines
from tests.export.cases import CASES, FORESTS, agrees, make_case
from tests.export.runtimes import RUNTIMES

FLOAT = 1e-5  # of the largest score: sums in float32


def test_every_form_is_checked_by_some_program() -> None:
    # Those of `RUNTIMES` in test_files.py, on all cases; the others below.
    assert set(EXPORTERS) == {*RUNTIMES, *engines.ENGINES}


@pytest.mark.parametrize("to", engines.ENGINES)
def test_an_engine_scores_as_predict_does_or_refuses_in_a_sentence(to: str) -> None:
    refused = {name: why for name in FORESTS if (why := refusal(to, name))}
    for why in refused.values():
        assert why.startswith(f"to is {to!r}")
        assert "\n" not in why
    assert refused.keys() == {"categorical", "zero as missing"}
    for name in FORESTS.keys() - refused.keys():
        case = make_case(name)
        expected = case.expected + engines.lift_of(case, to)
        got = engines.scores(case, to, engines.exported(case, to))
        agrees(expected, got, within=FLOAT * max(np.abs(expected).max(), 1.0))


def refusal(to: str, name: str) -> str:
    """Why a case is refused; nothing where it is not."""
    try:
        engines.exported(make_case(name), to)
    except rf.RankforceError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("to", EXPORTERS)
def test_a_form_takes_no_other_kinds_than_it_says(to: str) -> None:
    for name in CASES.keys() - FORESTS.keys() - {"linear on trees"}:
        kind = "linear" if name.startswith("linear") else "network"
        if kind not in EXPORTERS[to].kinds:
            with pytest.raises(rf.RankforceError, match=f"to is '{to}', which holds"):
                export(make_case(name).model, to)


@pytest.mark.parametrize("to", RUNTIMES)
def test_the_same_model_makes_the_same_file(to: str) -> None:
    model = make_case("constants").model
    assert export(model, to) == export(model, to)
