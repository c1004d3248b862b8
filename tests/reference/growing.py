"""A tree, grown the slow way: every split of every leaf is tried row by row.

Rows are lists of values, `None` for a missing one; forces and hessians are integers. In columns of
categories values are codes, and a threshold is the set of those that go left.
"""


def worth(force, second, l1, l2):
    size = abs(force) - l1
    below = second + l2
    return size * size / below if size > 0.0 and below > 1e-15 else 0.0


def goes_left(value, threshold, nan_left):
    if isinstance(threshold, frozenset):
        return value in threshold
    return nan_left if value is None else value <= threshold


def thresholds(rows, column):
    """Between any two values of the column, and behind the last where some are missing."""
    values = sorted({row[column] for row in rows if row[column] is not None})
    found = [(values[i] + values[i + 1]) / 2.0 for i in range(len(values) - 1)]
    return found + ([1e300] if any(row[column] is None for row in rows) else [])


def parted(column, threshold, nan_left, rows, forces, hessians, members):
    """Sums of forces and hessians on the left and on the right, and rows told from hessians."""
    left = [i for i in members if goes_left(rows[i][column], threshold, nan_left)]
    total = sum(forces[i] for i in members), sum(hessians[i] for i in members)
    sums = sum(forces[i] for i in left), sum(hessians[i] for i in left)
    rest = total[0] - sums[0], total[1] - sums[1]
    share = len(members) / max(total[1], 1)
    return sums, rest, [int(side * share + 0.5) for side in (sums[1], rest[1])]


def ends_of_codes(column, part, is_enough, rows, count, *, smooth, most, together):
    """Sets of the codes with the largest forces by hessians, or with the least."""
    sums, counts = {}, {}
    for code in sorted({row[column] for row in rows if row[column] is not None}):
        sums[code], _, (counts[code], _) = part(frozenset([code]))
    frequent = [code for code in sums if sums[code][1] > 0 and counts[code] >= smooth]
    frequent.sort(key=lambda code: -sums[code][0] / (sums[code][1] + smooth))
    for order in (frequent, frequent[::-1]):
        fresh = 0
        for number in range(1, min(most, (len(frequent) + 1) // 2) + 1):
            chosen = order[:number]
            fresh += counts[chosen[-1]]
            if not is_enough(part(frozenset(chosen))):
                continue
            if count - sum(counts[code] for code in chosen) < together:
                break
            if fresh >= together:
                fresh = 0
                yield frozenset(chosen)


def best_split(
    rows,
    forces,
    hessians,
    members,
    *,
    min_rows,
    min_weight,
    min_gain,
    l1,
    l2,
    coded=(),
    alone=4,
    codes_l2=10.0,
    **sets,
):
    """Gain, column, threshold, and whether missing values go left; None if nothing is worth it."""
    total = sum(forces[i] for i in members), sum(hessians[i] for i in members)
    least = worth(*total, l1, l2) + min_gain
    best, found = least, None

    def is_enough(parts):
        sums, rest, counts = parts
        return min(counts) >= min_rows and min(sums[1], rest[1]) >= min_weight

    for column in range(len(rows[0])):

        def part(threshold, nan_left=False, column=column):
            return parted(column, threshold, nan_left, rows, forces, hessians, members)

        has_missing = any(row[column] is None for row in rows)
        codes = sorted({row[column] for row in rows if row[column] is not None})
        below = l2
        if column not in coded:
            every = [
                (threshold, nan_left)
                for nan_left in ((False, True) if has_missing else (False,))
                for threshold in thresholds(rows, column)
                if not (nan_left and threshold == 1e300)
            ]
        elif len(codes) < alone:
            every = [(frozenset([code]), False) for code in codes]
        else:
            ends = ends_of_codes(column, part, is_enough, rows, len(members), **sets)
            every = [(chosen, False) for chosen in ends]
            below = l2 + codes_l2
        for threshold, nan_left in every:
            parts = part(threshold, nan_left)
            if not is_enough(parts):
                continue
            value = worth(*parts[0], l1, below) + worth(*parts[1], l1, below)
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
