// The best split of new leaves. A block has a pair of them and a group of columns; a thread has one
// column and some bins in a row: it adds them up, learns what is before them, and looks at each.

// The best of all threads of a block, written to `into` by the one that has it: its code, or -1.
__device__ int write_best(
    const Grow& grow, const Best& best, int first_column, double* gains, int* codes, Split* into
) {
    int t = threadIdx.x;
    gains[t] = best.gain;
    codes[t] = best.code;
    __syncthreads();
    for (int far = SPLIT_THREADS / 2; far; far /= 2) {
        if (t < far) {
            double other = gains[t + far];
            if (other > gains[t] || (other == gains[t] && codes[t + far] < codes[t])) {
                gains[t] = other;
                codes[t] = codes[t + far];
            }
        }
        __syncthreads();
    }
    if (best.gain > 0.0 ? best.code == codes[0] : t == 0 && !(gains[0] > 0.0)) {
        Split split;
        split.gain = best.gain;
        split.left_second = best.left & 0xffffffffll;
        split.left_force = (best.left - split.left_second) >> 32;
        split.column = first_column + (best.code >> 9);
        split.nan_left = best.code >> 8 & 1;
        split.bin = best.code & 255;
        split.unused = 0;
        if (WITH_CODES && best.gain > 0.0 && grow.kind[split.column] & IS_CODED) {
            split.nan_left = 0;
            split.bin = CODED;
        }
        *into = split;
    }
    int code = gains[0] > 0.0 ? codes[0] : -1;
    __syncthreads();  // the next use the same memory
    return code;
}

// The best split of a leaf by a group of columns, whose histograms are `own`.
__device__ void split_leaf(
    const Grow& grow, int group, int number, const Limits& limits, const Whole* own, Whole* sums,
    double* gains, int* codes
) {
    int width = group_width(group), segments = min(SPLIT_THREADS / width, BINS);
    int column = threadIdx.x % width, segment = threadIdx.x / width, length = BINS / segments;
    bool is_used = segment < segments;
    Whole sum = 0;
    if (is_used) {
        for (int b = segment * length; b < (segment + 1) * length; ++b) sum += own[b * width + column];
        sums[segment * width + column] = sum;
    }
    __syncthreads();
    Best best = {0.0, 1 << 30, 0};
    int whole = group * GROUP + column;
    int kind = whole < grow.columns ? grow.kind[whole] : 0;
    if (is_used && kind & DRAWN && !(kind & IS_CODED)) {
        int many = grow.many[whole];
        Whole at = 0, missing = kind & HAS_NAN ? own[many * width + column] : 0;
        for (int s = 0; s < segment; ++s) at += sums[s * width + column];
        for (int b = segment * length; b < (segment + 1) * length && b < many; ++b) {
            at += own[b * width + column];
            // With NaN on the right, all values on the left is a split as well.
            if (b < many - 1 || kind & HAS_NAN) look(grow, limits, at, column << 9 | b, grow.l2, best);
            if (b < many - 1 && kind & HAS_NAN) {
                look(grow, limits, at + missing, column << 9 | 256 | b, grow.l2, best);
            }
        }
    }
    Codes room = codes_at((unsigned char*)(codes + SPLIT_THREADS));
    for (int c = 0; WITH_CODES && c < width && group * GROUP + c < grow.columns; ++c) {
        int other = grow.kind[group * GROUP + c];
        if (!(other & IS_CODED && other & DRAWN)) continue;
        look_at_codes(grow, limits, own + c, width, grow.many[group * GROUP + c], c, room, best);
    }
    Split* into = grow.splits + (Whole)number * GROUPS + group;
    int code = write_best(grow, best, group * GROUP, gains, codes, into);
    if (!WITH_CODES || code < 0) return;
    int c = code >> 9;
    if (!(grow.kind[group * GROUP + c] & IS_CODED)) return;
    int many = grow.many[group * GROUP + c];
    write_set(grow, limits, own + c, width, many, code, room, set_at(grow, number, group));
}

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS) find_splits(Grow grow) {
    const State& state = *grow.state;
    if (state.done) return;
    Whole* sums = (Whole*)memory;
    double* gains = (double*)(sums + SPLIT_THREADS);
    int* codes = (int*)(gains + SPLIT_THREADS);
    for (int t = blockIdx.x; t < state.pairs * GROUPS; t += gridDim.x) {
        Pair pair = grow.pairs[t / GROUPS];
        int group = t % GROUPS, width = group_width(group);
        Whole* small = slot_at(grow, pair.slot) + (Whole)group * BINS * GROUP;
        if (pair.parent < 0) {
            const Node& root = grow.nodes[0];
            Limits limits = limits_of(grow, root.force, root.second, root.end - root.begin);
            split_leaf(grow, group, 0, limits, small, sums, gains, codes);
            continue;
        }
        const Node& node = grow.nodes[pair.parent];
        Whole* large = slot_at(grow, node.slot) + (Whole)group * BINS * GROUP;
        for (int k = threadIdx.x; k < BINS * width; k += blockDim.x) large[k] -= small[k];
        __syncthreads();
        int lefts = node.lefts, rights = node.end - node.begin - lefts;
        bool is_left = is_left_smaller(node);
        for (int side = 0; side < 2; ++side) {
            Whole force = side ? node.force - node.left_force : node.left_force;
            Whole second = side ? node.second - node.left_second : node.left_second;
            Limits limits = limits_of(grow, force, second, side ? rights : lefts);
            const Whole* own = (side == 0) == is_left ? small : large;
            split_leaf(grow, group, pair.child + side, limits, own, sums, gains, codes);
        }
    }
}
