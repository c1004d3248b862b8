"""Where forces are at odds with the ranking."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry
from rankforce.kernels.layout import ORDER, make_scratch, row_at
from rankforce.kernels.load import load_scores
from rankforce.kernels.ranking import sort_by_score


@entry
def rank_block(first, last, scores, queries, ranked):
    """Rows of each query by rank, best first, ties by place.

    Returns the first query whose scores are bad, or -1.
    """
    _, integers, floats = make_scratch(first, last, queries)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        low, high = load_scores(scores, queries.row, start, n, floats)
        if n > 0 and not low <= high:
            return q
        sort_by_score(n, low, high, integers, floats)
        for r in range(n):
            ranked[start + r] = row_at(queries.row, start + integers[ORDER, r])
    return -1


@entry
def restricted_block(
    first, last, pointer, code, ideal, lam, k, missable, by_label, violations, size
):
    """Pairs of a false and a missed top-k document of which the false one has the larger force.

    Documents stand by rank: `code` numbers their labels, `ideal` the same in the best order; codes
    below `missable` are never missed. A label is false if the ideal top has fewer of it, missed if
    it has more; or, `by_label`, false if the ideal top has none of it, else missed. `size` sums how
    much larger.
    """
    need = np.zeros(np.max(code) + 1 if len(code) > 0 else 1, np.int64)
    missed = np.empty(np.max(np.diff(pointer)) if len(pointer) > 1 else 0, np.float64)
    for q in range(first, last):
        start = pointer[q]
        end = pointer[q + 1]
        below = start + min(k, end - start)
        for r in range(start, below):
            need[ideal[r]] += 1
            need[code[r]] -= 1
        least = ideal[below - 1] if below > start else 0
        count = 0
        for m in range(below, end):
            is_missed = code[m] >= least if by_label else need[code[m]] > 0
            if is_missed and code[m] >= missable:
                missed[count] = lam[m]
                count += 1
        found = 0
        total = 0.0
        for f in range(start, below if count > 0 else start):
            is_false = code[f] < least if by_label else need[code[f]] < 0
            if is_false:
                for m in range(count):
                    if lam[f] > missed[m]:
                        found += 1
                        total += lam[f] - missed[m]
        for r in range(start, below):
            need[ideal[r]] = 0
            need[code[r]] = 0
        violations[q] = found
        size[q] = total


@entry
def unrestricted_block(first, last, pointer, code, lam, violations, size):
    """Pairs in the wrong order of which the worse document has the larger force.

    Counted as a float and indexed without a sign, the inner loop is vectorised: 20 times as fast.
    """
    for q in range(first, last):
        found = 0.0
        total = 0.0
        end = np.uint64(pointer[q + 1])
        for i in range(np.uint64(pointer[q]), end):
            for j in range(i + np.uint64(1), end):
                more = max(lam[i] - lam[j], 0.0)
                more = more if code[j] > code[i] else 0.0
                found += 1.0 if more > 0.0 else 0.0
                total += more
        violations[q] = np.int64(found)
        size[q] = total
