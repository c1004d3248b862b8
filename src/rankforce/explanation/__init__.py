"""The forces of one query: documents, pairs, and violations of coherence in words."""

from rankforce.explanation.explain_query import explain, explain_several
from rankforce.explanation.explained import Document, Explained, Pair, Violation
from rankforce.explanation.show import show

__all__ = ["Document", "Explained", "Pair", "Violation", "explain", "explain_several", "show"]
