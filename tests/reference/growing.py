"""A tree, grown the slow way: every split of every leaf is tried row by row.

Rows are lists of values, `None` for a missing one; forces and hessians are integers.
"""


def worth(force, second, l1, l2):
    size = abs(force) - l1
    below = second + l2
    return size * size / below if size > 0.0 and below > 1e-15 else 0.0


def goes_left(value, threshold, nan_left):
    return nan_left if value is None else value <= threshold


def thresholds(rows, column):
    """Between any two values of the column, and behind the last where some are missing."""
    values = sorted({row[column] for row in rows if row[column] is not None})
    found = [(values[i] + values[i + 1]) / 2.0 for i in range(len(values) - 1)]
    return found + ([1e300] if any(row[column] is None for row in rows) else [])


def best_split(rows, forces, hessians, members, *, min_rows, min_weight, min_gain, l1, l2):
    """Gain, column, threshold, and whether missing values go left; None if nothing is worth it."""
    total = sum(forces[i] for i in members), sum(hessians[i] for i in members)
    least = worth(*total, l1, l2) + min_gain
    best, found = least, None
    for column in range(len(rows[0])):
        has_missing = any(row[column] is None for row in rows)
        for nan_left in (False, True) if has_missing else (False,):
            for threshold in thresholds(rows, column):
                if nan_left and threshold == 1e300:
                    continue
                left = [i for i in members if goes_left(rows[i][column], threshold, nan_left)]
                sums = sum(forces[i] for i in left), sum(hessians[i] for i in left)
                rest = total[0] - sums[0], total[1] - sums[1]
                share = len(members) / max(total[1], 1)
                counts = [int(side * share + 0.5) for side in (sums[1], rest[1])]
                if min(counts) < min_rows or min(sums[1], rest[1]) < min_weight:
                    continue
                value = worth(*sums, l1, l2) + worth(*rest, l1, l2)
                if value > best:
                    best, found = value, (column, threshold, nan_left)
    return None if found is None else (best - least, *found)


def grow(rows, forces, hessians, members, *, leaves, depth=None, **rules):
    """Splits in the order in which they are made, and the rows in each leaf."""
    groups, depths, splits = [list(members)], [0], []
    while len(groups) < leaves:
        gains = []
        for number, group in enumerate(groups):
            found = best_split(rows, forces, hessians, group, **rules)
            if found is not None and (depth is None or depths[number] < depth):
                gains.append((-found[0], number, found))
        if not gains:
            break
        _, number, (_, column, threshold, nan_left) = min(gains)
        group = groups[number]
        left = [i for i in group if goes_left(rows[i][column], threshold, nan_left)]
        groups.append([i for i in group if i not in left])
        groups[number] = left
        depths[number] += 1
        depths.append(depths[number])
        splits.append((column, threshold, nan_left))
    return splits, groups
