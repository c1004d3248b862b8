"""The forces of one query: documents, pairs, and violations of coherence in words."""

from rankforce.diagnostics.explain.explain_query import explain, explain_several
from rankforce.diagnostics.explain.explained import Document, Explained, Pair, Violation
from rankforce.diagnostics.explain.show import show

__all__ = ["Document", "Explained", "Pair", "Violation", "explain", "explain_several", "show"]
