// The best split of new leaves. A block has a pair of them and a group of columns; a thread has one
// column and some bins in a row: it adds them up, learns what is before them, and looks at each.

// Gains must not depend on what a compiler makes of them: operations as in kernels/growing.py.
__device__ inline double worth(double force, double second, double l1, double l2) {
    double size = fmax(__dadd_rn(fabs(force), -l1), 0.0), below = __dadd_rn(second, l2);
    return below > TINY ? __ddiv_rn(__dmul_rn(size, size), below) : 0.0;
}

// What a leaf is worth, and the least sum of hessians that a side may have.
struct Limits {
    double step, step_hess, whole;
    Whole force, second, least;
};

__device__ inline Limits limits_of(const Grow& grow, Whole force, Whole second, int count) {
    Limits limits;
    limits.step = step_of(grow);
    limits.step_hess = step_hess_of(grow);
    limits.force = force;
    limits.second = second;
    double own = __dmul_rn((double)force, limits.step);
    double own_hess = __dmul_rn((double)second, limits.step_hess);
    limits.whole = __dadd_rn(worth(own, own_hess, grow.l1, grow.l2), grow.least_gain);
    // Rows on a side are told from its share of the hessians, rounded.
    double rows = __dmul_rn(__dadd_rn(grow.least_rows, -0.5), (double)max(second, (Whole)1));
    double least = ceil(__ddiv_rn(rows, (double)count));
    double weight = limits.step_hess > 0.0 ? ceil(__ddiv_rn(grow.least_weight, limits.step_hess)) : 0.0;
    limits.least = (Whole)fmax(fmax(least, weight), 0.0);
    return limits;
}

struct Best {
    double gain;
    int code;  // column, NaN's side and bin: of equal gains the first
    Whole left;
};

__device__ inline void look(
    const Grow& grow, const Limits& limits, Whole left, int code, Best& best
) {
    Whole second = left & 0xffffffffll, force = (left - second) >> 32;
    Whole rest = limits.second - second;
    if (min(second, rest) < limits.least) return;
    double one = worth(__dmul_rn((double)force, limits.step),
                       __dmul_rn((double)second, limits.step_hess), grow.l1, grow.l2);
    double two = worth(__dmul_rn((double)(limits.force - force), limits.step),
                       __dmul_rn((double)rest, limits.step_hess), grow.l1, grow.l2);
    double gain = __dadd_rn(__dadd_rn(one, two), -limits.whole);
    if (gain > best.gain || (gain == best.gain && gain > 0.0 && code < best.code)) {
        best = Best{gain, code, left};
    }
}

// The best of all threads of a block, written to `into` by the one that has it.
__device__ void write_best(const Best& best, int first_column, double* gains, int* codes, Split* into) {
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
        *into = split;
    }
    __syncthreads();  // the next use the same memory
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
    if (is_used && kind & DRAWN) {
        int many = grow.many[whole];
        Whole at = 0, missing = kind & HAS_NAN ? own[many * width + column] : 0;
        for (int s = 0; s < segment; ++s) at += sums[s * width + column];
        for (int b = segment * length; b < (segment + 1) * length && b < many; ++b) {
            at += own[b * width + column];
            // With NaN on the right, all values on the left is a split as well.
            if (b < many - 1 || kind & HAS_NAN) look(grow, limits, at, column << 9 | b, best);
            if (b < many - 1 && kind & HAS_NAN) {
                look(grow, limits, at + missing, column << 9 | 256 | b, best);
            }
        }
    }
    write_best(best, group * GROUP, gains, codes, grow.splits + (Whole)number * GROUPS + group);
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
