// Histograms of the smaller halves of leaves that were split.
//
// In shared memory a word has the sums of a bin and a column, force << 16 | hessian, words of the 32
// columns of a bin side by side: a column is a bank. A lane has 4 columns of a row, and lanes of
// other rows begin with others of the 4, so that at no time two lanes of a warp want the same bank.
// Groups with fewer columns stand there several times, once for each set of rows. Before a word can
// overflow, it is moved to 64 bits in registers: those of a block go to memory once an item.

constexpr int WORDS = BINS * GROUP;
constexpr int EACH = WORDS / COUNT_THREADS;  // words of a thread

template <int QUADS>
__device__ inline void count_strip(
    const Grow& grow, int group, const int* order, int first, int end, unsigned* small
) {
    constexpr int AT_ONCE = WARP / QUADS;  // rows of a warp
    int quad = lane() % QUADS, own = lane() / QUADS, turn = own & 3;
    const unsigned char* bins = bins_at(grow, group, 0) + 4 * quad;
    unsigned* words = small + (own >> 2) * 4 * QUADS + 4 * quad;
    int step = warps() * AT_ONCE;
    for (int i = first + warp() * AT_ONCE + own; i < end; i += step * UNROLLED) {
        unsigned four[UNROLLED], force[UNROLLED];
        int row[UNROLLED];
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) row[u] = i + u * step < end ? order[i + u * step] : -1;
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) {
            if (row[u] < 0) continue;
            four[u] = *(const unsigned*)(bins + (Whole)row[u] * (4 * QUADS));
            force[u] = (unsigned)grow.packed[row[u]];
        }
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) {
            if (row[u] < 0) continue;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                int feature = (k + turn) & 3;
                int b = four[u] >> 8 * feature & 255;
                atomicAdd(words + b * GROUP + feature, force[u]);
            }
        }
    }
}

template <int QUADS>
__device__ inline void count_item(
    const Grow& grow, int group, const int* order, int first, int end, int slot
) {
    constexpr int TIMES = 8 / QUADS;  // that a column stands there
    constexpr int UNIT_ROWS = COUNT_THREADS / QUADS * UNROLLED;  // of all warps at once
    constexpr int FIT = FEW_ROWS * TIMES / UNIT_ROWS;
    constexpr int STRIP = (FIT ? FIT : 1) * UNIT_ROWS;  // rows whose sums 16 bits hold
    static_assert(FIT || UNIT_ROWS <= FEW_ROWS * TIMES, "too few rows fit into 16 bits");
    unsigned* small = (unsigned*)memory;
    Whole own[EACH];
#pragma unroll
    for (int j = 0; j < EACH; ++j) own[j] = 0;
    for (int begin = first; begin < end; begin += STRIP) {
        count_strip<QUADS>(grow, group, order, begin, min(end, begin + STRIP), small);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            unsigned word = small[j * COUNT_THREADS + threadIdx.x], low = word & 0xffffu;
            small[j * COUNT_THREADS + threadIdx.x] = 0;
            own[j] += (Whole)(int)(word - low) * 65536 + low;
        }
        __syncthreads();
    }
    Whole* into = slot_at(grow, slot) + (Whole)group * WORDS;
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        int k = j * COUNT_THREADS + threadIdx.x, at = k / GROUP * (4 * QUADS) + k % (4 * QUADS);
        if (own[j]) atomicAdd((Bits*)into + at, (Bits)own[j]);
    }
}

extern "C" __global__ void __launch_bounds__(COUNT_THREADS, COUNT_BLOCKS) count_rows(Grow grow) {
    const State& state = *grow.state;
    if (state.done) return;
    for (int k = threadIdx.x; k < WORDS; k += blockDim.x) ((unsigned*)memory)[k] = 0;
    __syncthreads();
    for (int t = blockIdx.x; t < state.counts * GROUPS; t += gridDim.x) {
        Item item = grow.counts[t / GROUPS];
        int group = t % GROUPS;
        Pair pair = grow.pairs[item.of];
        const Node& node = grow.nodes[max(pair.parent, 0)];
        int begin = node.begin, end = node.end;
        const int* order = order_at(grow, node.depth + (pair.parent >= 0));
        if (pair.parent >= 0) {
            int middle = begin + node.lefts;
            if (is_left_smaller(node)) end = middle;
            else begin = middle;
        }
        int first = begin + item.first;
        end = min(end, first + state.chunk);
        if (first >= end) continue;  // items are made for the largest number of rows
        if (group < GROUPS - 1) count_item<8>(grow, group, order, first, end, pair.slot);
        else count_item<LAST_QUADS>(grow, group, order, first, end, pair.slot);
    }
}
