// The best split of new leaves. A block has a leaf and a group of columns; a thread has one column and
// some bins in a row: it adds them up, learns what is before them, and looks at each.

constexpr int SPLIT_WARPS = SPLIT_THREADS / WARP;

// What threads of a block tell each other.
struct Told {
    Whole* sums;    // of each thread
    double* gains;  // of each warp
    int* codes;
    unsigned char* more;  // for codes of categories
};

__device__ inline Told told_at(unsigned char* room) {
    Told told;
    told.sums = (Whole*)room;
    told.gains = (double*)(told.sums + SPLIT_THREADS);
    told.codes = (int*)(told.gains + SPLIT_WARPS);
    told.more = (unsigned char*)(told.codes + SPLIT_WARPS);
    return told;
}

__device__ inline void take_better(double& gain, int& code, double other, int its) {
    if (!(other > gain || (other == gain && its < code))) return;
    gain = other;
    code = its;
}

// The best of all threads of a block, written to `into` by the one that has it: its code, or -1.
__device__ int write_best(
    const Grow& grow, const Best& best, int first_column, const Told& told, Split* into
) {
    double gain = best.gain;
    int code = best.code;
    for (int far = WARP / 2; far; far /= 2) {
        double other = __shfl_xor_sync(~0u, gain, far);
        take_better(gain, code, other, __shfl_xor_sync(~0u, code, far));
    }
    if (lane() == 0) {
        told.gains[warp()] = gain;
        told.codes[warp()] = code;
    }
    __syncthreads();
    for (int w = 0; w < SPLIT_WARPS; ++w) take_better(gain, code, told.gains[w], told.codes[w]);
    if (gain > 0.0 ? best.code == code && best.gain > 0.0 : threadIdx.x == 0) {
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
    __syncthreads();  // the next use the same memory
    return gain > 0.0 ? code : -1;
}

// The best split of a leaf by a group of columns, whose histograms are `own`, once those of its
// sibling are subtracted if there are `less`.
template <int COLUMNS>
__device__ void split_leaf(
    const Grow& grow, int group, int number, const Limits& limits, Whole* own, const Whole* less,
    const Told& told
) {
    constexpr int FIT = SPLIT_THREADS / COLUMNS, SEGMENTS = FIT < BINS ? FIT : BINS;
    constexpr int LENGTH = BINS / SEGMENTS;
    int column = threadIdx.x % COLUMNS, segment = threadIdx.x / COLUMNS;
    bool is_used = segment < SEGMENTS;
    int begin = segment * LENGTH;
    if (is_used) {
        Whole value[LENGTH], sum = 0;
#pragma unroll
        for (int j = 0; j < LENGTH; ++j) value[j] = own[(begin + j) * COLUMNS + column];
        if (less) {
#pragma unroll
            for (int j = 0; j < LENGTH; ++j) value[j] -= less[(begin + j) * COLUMNS + column];
#pragma unroll
            for (int j = 0; j < LENGTH; ++j) own[(begin + j) * COLUMNS + column] = value[j];
        }
#pragma unroll
        for (int j = 0; j < LENGTH; ++j) sum += value[j];
        told.sums[threadIdx.x] = sum;
    }
    __syncthreads();
    Best best = {0.0, 1 << 30, 0};
    int whole = group * GROUP + column;
    int kind = whole < grow.columns ? grow.kind[whole] : 0;
    if (is_used && kind & DRAWN && !(kind & IS_CODED)) {
        int many = grow.many[whole];
        Whole at = 0, missing = kind & HAS_NAN ? own[many * COLUMNS + column] : 0;
        for (int s = 0; s < segment; ++s) at += told.sums[s * COLUMNS + column];
        for (int b = begin; b < begin + LENGTH && b < many; ++b) {
            at += own[b * COLUMNS + column];
            // With NaN on the right, all values on the left is a split as well.
            if (b < many - 1 || kind & HAS_NAN) look(grow, limits, at, column << 9 | b, grow.l2, best);
            if (b < many - 1 && kind & HAS_NAN) {
                look(grow, limits, at + missing, column << 9 | 256 | b, grow.l2, best);
            }
        }
    }
    Codes room = codes_at(told.more);
    for (int c = 0; WITH_CODES && c < COLUMNS && group * GROUP + c < grow.columns; ++c) {
        int other = grow.kind[group * GROUP + c];
        if (!(other & IS_CODED && other & DRAWN)) continue;
        look_at_codes(grow, limits, own + c, COLUMNS, grow.many[group * GROUP + c], c, room, best);
    }
    Split* into = grow.splits + (Whole)number * GROUPS + group;
    int code = write_best(grow, best, group * GROUP, told, into);
    if (!WITH_CODES || code < 0) return;
    int c = code >> 9;
    if (!(grow.kind[group * GROUP + c] & IS_CODED)) return;
    int many = grow.many[group * GROUP + c];
    write_set(grow, limits, own + c, COLUMNS, many, code, room, set_at(grow, number, group));
}

extern "C" __global__ void __launch_bounds__(SPLIT_THREADS) find_splits(Grow grow) {
    const State& state = *grow.state;
    if (state.done) return;
    Told told = told_at(memory);
    for (int t = blockIdx.x; t < 2 * state.pairs * GROUPS; t += gridDim.x) {
        Pair pair = grow.pairs[t / (2 * GROUPS)];
        int side = t & 1, group = t / 2 % GROUPS;
        bool is_root = pair.parent < 0;
        if (is_root && side) continue;
        const Node& node = grow.nodes[is_root ? 0 : pair.parent];
        Whole force = node.force, second = node.second, *own = slot_at(grow, pair.slot), *less = nullptr;
        int count = node.end - node.begin;
        if (!is_root) {
            force = side ? force - node.left_force : node.left_force;
            second = side ? second - node.left_second : node.left_second;
            count = side ? count - node.lefts : node.lefts;
            if ((side == 0) != is_left_smaller(node)) {  // the larger one has the parent's place
                less = own;
                own = slot_at(grow, node.slot);
            }
        }
        Whole before = (Whole)group * BINS * GROUP;
        own += before;
        if (less) less += before;
        Limits limits = limits_of(grow, force, second, count);
        int number = pair.child + side;
        if (group < GROUPS - 1) split_leaf<GROUP>(grow, group, number, limits, own, less, told);
        else split_leaf<LAST>(grow, group, number, limits, own, less, told);
    }
}
