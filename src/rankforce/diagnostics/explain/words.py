"""Violations of coherence, said in words (Marcuzzi et al. 2023, definition 3.1)."""

from __future__ import annotations

import math

from rankforce.diagnostics.explain.bars import fit, number_format, wrap
from rankforce.diagnostics.explain.explained import FALSE, MISSED, Document, Explained, Violation

MOST = 3  # violations that are told one by one
MOST_NAME = 24  # columns of the name of a document


def show_label(label: float) -> str:
    """A label as text.

    >>> show_label(2.0), show_label(0.25), show_label(float("-inf"))
    ('2', '0.25', '?')
    """
    return f"{label:g}" if math.isfinite(label) else "?"


def describe_violations(one: Explained, width: int) -> list[str]:
    """Lines that say what is not coherent, or that nothing is."""
    found = one.violations
    if not found:
        return wrap(_nothing(one), width)
    kind = number_format([one.largest])
    total = f"{len(found):,} violation" + ("s" if len(found) > 1 else "")
    more = f", the {MOST} largest" if len(found) > MOST else ""
    lines = [f"{total} of coherence{more}:"]
    for violation in found[:MOST]:
        lines += wrap(f"- {_sentence(violation, one.k, kind)}", width, "  ")
    return lines


def _nothing(one: Explained) -> str:
    kinds = {document.kind for document in one.documents}
    if not {FALSE, MISSED} <= kinds:
        return f"the labels of the top {one.k} are as good as can be: no document is missed"
    return f"coherent: no false top-{one.k} document is pushed up more than a missed one"


def _sentence(violation: Violation, k: int, kind: str) -> str:
    """What happens to the two documents.

    >>> false = Document(1, 0, "d3", 0.0, 2.0, 0.5, "false")
    >>> missed = Document(9, 7, "d9", 3.0, 1.0, 0.25, "missed")
    >>> _sentence(Violation(false, missed), 5, ".2f")
    'd3 (label 0, false top-5) is pushed up more than d9 (label 3, missed): +0.50 against +0.25'
    """
    false, missed = violation
    first = f"{_short(false.name)} (label {show_label(false.label)}, false top-{k})"
    second = f"{_short(missed.name)} (label {show_label(missed.label)}, missed)"
    said = f"{first} {_verb(false, missed, second)}"
    return f"{said}: {false.force:+{kind}} against {missed.force:+{kind}}"


def _short(name: str) -> str:
    return fit(name, MOST_NAME).rstrip()


def _verb(false: Document, missed: Document, second: str) -> str:
    if missed.force > 0.0:
        return f"is pushed up more than {second}"
    if false.force > 0.0:
        how = "down" if missed.force < 0.0 else "not at all"
        return f"is pushed up, {second} {how}"
    if false.force < 0.0:
        return f"is pushed down less than {second}"
    return f"is not pushed, {second} down"
