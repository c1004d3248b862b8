// Histograms of the smaller halves of leaves that were split.
//
// These rows, one half behind the other, are dealt out evenly: a block has a group of columns, and
// rows of one half or of several. In shared memory a word has the sums of a bin and a column, force
// << 16 | hessian, words of the 32 columns of a bin side by side: a column is a bank. A lane has 4
// columns of a row, and lanes of other rows begin with others of the 4, so that at no time two lanes
// of a warp want the same bank. Groups with fewer columns stand there several times, once for each
// set of rows. All that stands there as often as there are copies, and a warp has one of them. Before
// a word can overflow, copies are added up and moved to memory, to 64 bits.
//
// What a row adds is on its way from memory while the rows before it are added: its number and force
// come two batches ahead, its bins one.

constexpr int WORDS = BINS * GROUP;
constexpr int COUNT_WARPS = COUNT_THREADS / WARP;
constexpr int TURNS = 4;  // rows of a step of a warp that the same words take
// Rows of a batch that the same words take, and batches whose sums 16 bits hold.
constexpr int MET = (COUNT_WARPS + COPIES - 1) / COPIES * TURNS * UNROLLED;
constexpr int BATCHES = FEW_ROWS / MET;
static_assert(BATCHES > 0, "too few rows fit into 16 bits");
// What it takes to move the sums of a half, in rows.
constexpr int MOVED = 512;
// Of a full group, and of the last one: rows are read whatever the number of columns is.
constexpr int FULL_COST = 8, LAST_COST = LAST_QUADS < 6 ? LAST_QUADS + 2 : 8;

// Rows of the smaller half of a pair.
struct Half {
    const Entry* rows;
    int count, slot;
};

__device__ inline Half half_of(const Grow& grow, int p) {
    Pair pair = grow.pairs[p];
    bool is_root = pair.parent < 0;
    const Node& node = grow.nodes[is_root ? 0 : pair.parent];
    int begin = node.begin, end = node.end, middle = begin + node.lefts;
    if (!is_root) (is_left_smaller(node) ? end : begin) = middle;
    return Half{order_at(grow, node.depth + !is_root) + begin, end - begin, pair.slot};
}

// All threads: where each half ends, with what it takes to move it; all of that together.
__device__ int line_up(const Grow& grow, int pairs, int* until, int* of_warps) {
    int all = 0;
    for (int first = 0; first < pairs; first += COUNT_THREADS) {
        int p = first + threadIdx.x, before = all;
        int sum = warp_prefix(p < pairs ? half_of(grow, p).count + MOVED : 0);
        if (lane() == WARP - 1) of_warps[warp()] = sum;
        __syncthreads();
        for (int w = 0; w < COUNT_WARPS; ++w) {
            before += w < warp() ? of_warps[w] : 0;
            all += of_warps[w];
        }
        if (p < pairs) until[p] = before + sum;
        __syncthreads();
    }
    return all;
}

// All threads: what stands in shared memory is added to histograms, and is 0 again.
template <int QUADS>
__device__ inline void move_words(unsigned* words, Whole* into) {
    __syncthreads();
    for (int k = threadIdx.x; k < WORDS; k += COUNT_THREADS) {
        int force = 0, second = 0;
#pragma unroll 4
        for (int copy = 0; copy < COPIES; ++copy) {
            unsigned word = words[copy * WORDS + k], low = word & 0xffffu;
            words[copy * WORDS + k] = 0;
            force += (int)(word - low) >> 16;
            second += (int)low;
        }
        int at = k / GROUP * (4 * QUADS) + k % (4 * QUADS);
        if (force | second) atomicAdd((Bits*)into + at, (Bits)((Whole)force * 4294967296ll + second));
    }
    __syncthreads();
}

// All threads: some rows of one half. By itself, so that registers are all for what is on its way.
template <int QUADS>
__device__ __noinline__ void count_some(
    const unsigned char* bins, const Entry* rows, int count, Whole* into
) {
    constexpr int AT_ONCE = WARP / QUADS, STEP = COUNT_WARPS * AT_ONCE;  // rows of a warp, of all
    constexpr int BATCH = STEP * UNROLLED;
    int quad = lane() % QUADS, own = lane() / QUADS, turn = own % TURNS;
    bins += 4 * quad;
    unsigned* words = (unsigned*)memory;
    unsigned* mine = words + warp() % COPIES * WORDS + own / TURNS * 4 * QUADS + 4 * quad;
    int place = warp() * AT_ONCE + own, batches = pieces(count, BATCH);
    unsigned four[UNROLLED], force[UNROLLED];
    Entry next[UNROLLED];
    // Rows of a batch, and behind them some that add nothing.
    auto entry_at = [&](int i) { return i < count ? rows[i] : Entry{0, 0}; };
    auto four_at = [&](int row) { return *(const unsigned*)(bins + (Whole)row * WIDTH); };
#pragma unroll
    for (int u = 0; u < UNROLLED; ++u) {
        Entry first = entry_at(place + u * STEP);
        next[u] = entry_at(place + u * STEP + BATCH);
        four[u] = four_at(first.row);
        force[u] = (unsigned)first.packed;
    }
    for (int batch = 0; batch < batches; ++batch) {
        place += BATCH;
#pragma unroll
        for (int u = 0; u < UNROLLED; ++u) {
            if (force[u]) {
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    int feature = (k + turn) & 3, b = four[u] >> 8 * feature & 255;
                    atomicAdd(mine + b * GROUP + feature, force[u]);
                }
            }
            four[u] = four_at(next[u].row);
            force[u] = (unsigned)next[u].packed;
            next[u] = entry_at(place + u * STEP + BATCH);
        }
        if ((batch + 1) % BATCHES == 0 || batch + 1 == batches) move_words<QUADS>(words, into);
    }
}

extern "C" __global__ void __launch_bounds__(COUNT_THREADS, COUNT_BLOCKS) count_rows(Grow grow) {
    const State& state = *grow.state;
    if (state.done) return;
    unsigned* words = (unsigned*)memory;
    int *of_warps = (int*)(words + COPIES * WORDS), *until = of_warps + COUNT_WARPS;
    for (int k = threadIdx.x; k < COPIES * WORDS; k += COUNT_THREADS) words[k] = 0;
    int all = line_up(grow, state.pairs, until, of_warps), most = pieces(all, LEAST_CHUNK);
    // Blocks of a full group, and of the last one; groups of the same rows at the same time.
    constexpr int FULL = GROUPS - 1, COST = FULL_COST * FULL + LAST_COST;
    int each = max((int)gridDim.x * FULL_COST / COST, 1);
    int rest = max((int)gridDim.x - each * FULL, 1);
    for (int t = blockIdx.x; t < each * FULL + rest; t += gridDim.x) {
        bool is_last = t >= each * FULL;
        int group = is_last ? FULL : t % max(FULL, 1), of = min(is_last ? rest : each, most);
        int number = is_last ? t - each * FULL : t / max(FULL, 1);
        if (number >= of) continue;
        int first = (int)((Whole)all * number / of), end = (int)((Whole)all * (number + 1) / of);
        int p = 0, high = state.pairs - 1;
        while (p < high) {
            int middle = (p + high) / 2;
            if (until[middle] > first) high = middle;
            else p = middle + 1;
        }
        for (; first < end; first = until[p++]) {
            Half half = half_of(grow, p);
            int start = until[p] - half.count - MOVED, begin = first - start;
            int count = min(end - start, half.count) - begin;
            if (count <= 0) continue;
            Whole* into = slot_at(grow, half.slot) + (Whole)group * WORDS;
            const Entry* rows = half.rows + begin;
            const unsigned char* bins = grow.bins + group * GROUP;
            if (is_last) count_some<LAST_QUADS>(bins, rows, count, into);
            else count_some<8>(bins, rows, count, into);
        }
    }
}
