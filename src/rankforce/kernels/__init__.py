"""Compiled code: ranks, pair sets, rows of pairs. All of it takes arrays and numbers only."""
