"""A forest as one C99 file: tables, and a loop that walks them.

The loop decides as `kernels.trees.find_leaf` does and adds in the same order, so scores are the
same to the bit. A table compiles in seconds where nested ifs would take minutes.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankforce.kernels.trees import CATEGORICAL, DEFAULT_LEFT, NAN_LEFT, ZERO, ZERO_MISSING
from rankforce.models.export.registry import FILE, Exported
from rankforce.models.export.rows import about_rows, check_no_map
from rankforce.models.export.shape import used_trees
from rankforce.models.forest.tree import Nodes, stack
from rankforce.models.model import Model

if TYPE_CHECKING:
    from rankforce.models.export.features import FeatureMap

WIDTH = 100  # of a line
HARMLESS = frozenset((string.ascii_letters + string.digits + " _-.:,()").encode())
RULE_BITS = 4  # behind them is the number of a set of categories

HEAD = """\
/* A learning-to-rank model: {trees} trees on {columns} features, written by rankforce.

   Declare

     double rankforce_score(const float *features);
     void rankforce_scores(const float *features, size_t rows, double *scores);

   compile with any C99 compiler (cc -std=c99 -O2 -c ranker.c), and call them with the features of
   one document, or of several one behind the other, in the order of rankforce_features. A missing
   value is NaN. The higher a score, the better.

   Functions and tables are const and free of state: threads may share them. */

#include <math.h> /* HUGE_VALF, no function */
#include <stddef.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#error "-ffast-math has no NaN: compile without it"
#endif

enum {{ RANKFORCE_FEATURES = {columns}, RANKFORCE_TREES = {trees} }};

double rankforce_score(const float *features);
void rankforce_scores(const float *features, size_t rows, double *scores);
extern const char *const rankforce_features[RANKFORCE_FEATURES];

enum {{ NAN_LEFT = {nan_left}, CATEGORICAL = {categorical}, ZERO_MISSING = {zero_missing}, \
DEFAULT_LEFT = {default_left} }};

struct node {{
    float most;     /* at most this goes left */
    int32_t feature;
    int32_t left;   /* a node, or -1 - leaf */
    int32_t right;
    int32_t rule;   /* bits as above; from bit {bits} on, the set of categories that go left */
}};
"""

WALK = """\
static int goes_left(const struct node *node, float x)
{{
    if (node->rule & CATEGORICAL) {{
        const int32_t *set = sets[node->rule >> {bits}];
        uint32_t code;
        if (!(x >= 0.0f && x < 32.0f * (float)set[1])) return 0;
        code = (uint32_t)x;
        return (int)(words[(uint32_t)set[0] + (code >> 5)] >> (code & 31u) & 1u);
    }}
    if ((node->rule & ZERO_MISSING) && !(x > {zero} || x < -{zero}))
        return (node->rule & DEFAULT_LEFT) != 0;
    if (x != x) return (node->rule & NAN_LEFT) != 0;
    return x <= node->most;
}}

double rankforce_score(const float *features)
{{
    double score = 0.0;
    int tree;
    for (tree = 0; tree < RANKFORCE_TREES; ++tree) {{
        int32_t at = roots[tree];
        while (at >= 0) {{
            const struct node *node = &nodes[at];
            at = goes_left(node, features[node->feature]) ? node->left : node->right;
        }}
        score += leaves[-1 - at];
    }}
    return score;
}}

void rankforce_scores(const float *features, size_t rows, double *scores)
{{
    size_t row;
    for (row = 0; row < rows; ++row)
        scores[row] = rankforce_score(features + row * RANKFORCE_FEATURES);
}}
"""


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The source, and how it is compiled."""
    check_no_map(features, "c")
    trees = used_trees(model, "c")
    nodes = stack(trees)
    names = model.feature_names
    parts = [
        HEAD.format(
            trees=len(trees),
            columns=len(names),
            nan_left=NAN_LEFT,
            categorical=CATEGORICAL,
            zero_missing=ZERO_MISSING,
            default_left=DEFAULT_LEFT,
            bits=RULE_BITS,
        ),
        _table("const char *const rankforce_features[RANKFORCE_FEATURES]", map(_quoted, names)),
        *_tables(nodes),
        WALK.format(bits=RULE_BITS, zero=_float(float(ZERO))),
    ]
    told = [f"compile with: cc -std=c99 -O2 -c '{FILE}' (C99, no libraries)", *about_rows(model)]
    return Exported("\n".join(parts).encode("ascii"), told)


def _tables(nodes: Nodes) -> list[str]:
    """Nodes, sets of categories, roots and leaves; C has no empty tables, so each has an entry."""
    counts = np.diff(nodes.leaf_start)
    inner = np.maximum(counts - 1, 0)
    first_node = np.repeat(nodes.node_start, inner)
    first_leaf = np.repeat(nodes.leaf_start[:-1], inner)
    feature, left, right, rule = (column.astype(np.int64) for column in nodes.nodes.T)
    left, right = (
        np.where(child < 0, child - first_leaf, child + first_node) for child in (left, right)
    )
    is_set = rule & CATEGORICAL != 0
    rule[is_set] |= np.arange(is_set.sum()) << RULE_BITS
    most = np.where(is_set, np.float32(0), nodes.thresholds)
    columns = (feature, left, right, rule)
    listed = zip(most.tolist(), *(column.tolist() for column in columns), strict=True)
    rows = [f"{{{_float(own)}, {f}, {a}, {b}, {r}}}" for own, f, a, b, r in listed]
    roots = np.where(counts > 1, nodes.node_start, -1 - nodes.leaf_start[:-1])
    pairs = [f"{{{start}, {many}}}" for start, many in nodes.cats[is_set].tolist()]
    return [
        _table("static const struct node nodes[]", rows or ["{0.0f, 0, -1, -1, 0}"]),
        _table("static const int32_t sets[][2]", pairs or ["{0, 0}"]),
        _table("static const uint32_t words[]", _whole(nodes.words) or ["0"]),
        _table("static const int32_t roots[]", _whole(roots)),
        _table("static const double leaves[]", map(_double, nodes.leaf_value.tolist())),
    ]


def _whole(values: NDArray[Any]) -> list[str]:
    """Numbers; those without a sign say so, where C would take them for signed ones."""
    mark = "u" if values.dtype == np.uint32 else ""
    return [f"{value}{mark}" for value in values.tolist()]


def _double(value: float) -> str:
    """A number in hexadecimal digits, none of which is rounded.

    >>> _double(0.5), _double(-3.0), _double(0.0)
    ('0x1p-1', '-0x1.8p+1', '0x0p+0')
    """
    digits, _, power = value.hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{power}"


def _float(value: float) -> str:
    if np.isinf(value):
        return "HUGE_VALF" if value > 0 else "-HUGE_VALF"
    return f"{_double(value)}f"


def _quoted(name: str) -> str:
    """A text of C in ASCII; a question mark may be part of a trigraph.

    >>> print(_quoted('a "b"?'))
    "a \\042b\\042\\077"
    """
    plain = (chr(byte) if byte in HARMLESS else f"\\{byte:03o}" for byte in name.encode())
    return f'"{"".join(plain)}"'


def _table(declared: str, entries: Iterable[str]) -> str:
    """The definition of a table, in lines that are not too long."""
    lines, line = [], ""
    for entry in entries:
        if line and len(line) + len(entry) + 2 > WIDTH:
            lines.append(line)
            line = ""
        line += f"{' ' if line else ''}{entry},"
    return "\n".join([f"{declared} = {{", *lines, line, "};", ""])
