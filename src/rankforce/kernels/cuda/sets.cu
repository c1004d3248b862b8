// Documents of which one must be in a pair, and what a swap changes in metrics that are no sum over
// documents. Short walks down the ranking: one thread does what depends on the ranks before.

// Lambda-eX (Marcuzzi et al. 2023, section 4), as `extend` of sets.py; returns the members' number.
template <typename Real>
__device__ int extend(
    const Query& query, int top, int strategy, bool by_label, Bits key, Room<Real>& room
) {
    int *need = room.need, *left = room.left, positive = query.positive;
    const int *start = room.class_start, *order = room.order, *label_class = room.label_class;
    for (int c = 0; c < query.classes; ++c) need[c] = left[c] = 0;
    for (int c = 0; c < query.classes; ++c) {
        left[by_label ? start[c] >= top : c] += min(start[c + 1], positive) - min(start[c], positive);
    }
    for (int p = 0; p < top; ++p) ++need[label_class[p]];
    for (int r = 0; r < top; ++r) {
        --need[label_class[order[r]]];
        if (order[r] < positive) --left[label_class[order[r]]];
        room.member[r] = order[r];
    }
    if (by_label && strategy == ALL) need[0] = query.n;
    int found = top;
    for (int r = top; r < query.n; ++r) {
        int p = order[r], c = label_class[p];
        if (p >= positive || need[c] <= 0) continue;
        bool is_taken = true;
        if (strategy == RANDOM) {
            is_taken = draw(key, r) * left[c] < need[c];
            --left[c];
        }
        if (!is_taken) continue;
        room.member[found++] = p;
        if (strategy != ALL) --need[c];
    }
    return found;
}

// Rows `member` and, where these are not simply the first ranks, `inside`; returns the members'
// number, or n for all.
template <typename Real>
__device__ int mark_pair_set(
    const Bound& bound, const Call& call, const Job& job, const Query& query, Room<Real>& room
) {
    int n = query.n;
    if (PAIR_SET == ALL_PAIRS || (PAIR_SET == TRUNCATED && bound.cutoff >= n)) return n;
    int found = (int)min(bound.cutoff, (Whole)n);
    if (PAIR_SET == TRUNCATED) return found;
    bool by_label = PAIR_SET == EXTENDED_BY_LABEL;
    for (int p = threadIdx.x; p < n; p += blockDim.x) {
        int c = room.class_of[p];
        room.inside[p] = 0;
        room.label_class[p] = by_label ? room.class_start[c] >= found : c;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        Bits key = draw_key(call.seed, call.iteration, bound.key[job.query]);
        int strategy = bound.strategy[job.query];
        room.slots[0] = extend(query, found, strategy, by_label, key, room);
    }
    __syncthreads();
    found = (int)room.slots[0];
    __syncthreads();
    for (int m = threadIdx.x; m < found; m += blockDim.x) room.inside[room.member[m]] = 1;
    __syncthreads();
    return found;
}

// Whether a document is one of so many members.
template <typename Real>
__device__ inline bool is_inside(const Room<Real>& room, int p, int members) {
    return PAIR_SET == TRUNCATED ? room.rank[p] < members : room.inside[p];
}

// What the walk down the ranking finds for each document into side 1; `side[0]` has 1 / rank up to
// the cutoff. Of reciprocal ranks only the first two hits.
template <typename Real>
__device__ void walk_down(const Bound& bound, const Query& query, Room<Real>& room) {
    Real *inside = room.side, *value = room.side + room.stride;
    const int* order = room.order;
    if (SWAPS == MAP) {
        double inverse_ranks = 0.0;
        int hits = 0;
        for (int r = 0; r < query.n; ++r) {
            int p = order[r];
            double here = inside[p];
            if (p < query.positive) {
                ++hits;
                inverse_ranks += here;
            }
            value[p] = (Real)(hits * here - inverse_ranks);
        }
    } else if (SWAPS == MRR) {
        int found[2] = {query.n, query.n};
        for (int r = 0, hits = 0; r < query.n && hits < 2; ++r) {
            if (order[r] < query.positive) found[hits++] = r;
        }
        room.slots[0] = found[0];
        room.slots[1] = found[1];
    } else {
        double below = 0.0, passed = 1.0;
        for (int r = query.n - 1; r >= 0; --r) {
            int p = order[r];
            double here = inside[p], gain = bound.u[query.first + p];
            value[p] = (Real)(here - below);
            below = gain * here + (1.0 - gain) * below;
        }
        for (int r = 0; r < query.n; ++r) {
            int p = order[r];
            passed *= 1.0 - bound.u[query.first + p];
            value[p] = (Real)(passed * value[p]);
        }
    }
}

// The six numbers of swaps.py for every document: A, P, Q, B, R, S.
template <typename Real>
__device__ void fill_sides(const Bound& bound, const Query& query, Room<Real>& room) {
    int n = query.n, stride = room.stride, cutoff = (int)min(bound.swaps_cutoff, (Whole)n);
    for (int p = threadIdx.x; p < n; p += blockDim.x) {
        int r = room.rank[p];
        room.side[p] = r < cutoff ? (Real)1 / (r + 1) : 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) walk_down(bound, query, room);
    __syncthreads();
    int first = (int)room.slots[0], second = (int)room.slots[1];
    for (int p = threadIdx.x; p < n; p += blockDim.x) {
        Real* side = room.side + p;
        Real inside = side[0], value = side[stride];
        if (SWAPS == MAP) {
            side[0] = side[3 * stride] = 1;
            side[2 * stride] = value;
            side[4 * stride] = side[5 * stride] = value + inside;
        } else if (SWAPS == MRR) {
            int r = room.rank[p], after = min(r, second);
            Real best = first < cutoff ? (Real)1 / (first + 1) : 0;
            side[0] = r == first;
            side[stride] = side[4 * stride] = best;
            side[2 * stride] = after < cutoff ? (Real)1 / (after + 1) : 0;
            side[3 * stride] = 1;
            side[5 * stride] = max(best, inside);
        } else {
            side[0] = side[3 * stride] = (Real)(1.0 / (1.0 - bound.u[query.first + p]));
            side[2 * stride] = side[4 * stride] = side[5 * stride] = value;
        }
    }
    __syncthreads();
}
