// Sets of codes of categories that go left, as `_scan_codes` of kernels/splits.py finds them: where
// there are few codes each by itself, else those with enough rows in an order, some of the first or
// of the last. A thread has a bin; a block has one column after the other, since they are rare.
//
// Cost of a column with b bins: b^2 compares to order them, and two threads that take a step for each
// code of the longest set.

// In shared memory, of a column.
struct Codes {
    double* key;  // of each bin, what it is ordered by
    Whole* ends;  // sums of the sets that are looked at, way by way; 0 if one is not
    int* rows;    // of each bin, told from hessians; -1 if it stays on the right
    int* order;   // bins that may go left
};
constexpr int CODE_BYTES = 24;  // of each thread, for these

__device__ inline Codes codes_at(unsigned char* room) {
    Codes codes;
    codes.key = (double*)room;
    codes.ends = (Whole*)(codes.key + SPLIT_THREADS);
    codes.rows = (int*)(codes.ends + SPLIT_THREADS);
    codes.order = codes.rows + SPLIT_THREADS;
    return codes;
}

__device__ inline bool is_alone(const Grow& grow, int many) { return many < grow.most_alone; }

// The place of a bin in the way from the first, or from the last.
__device__ inline int code_at(const Codes& codes, int used, int way, int i) {
    return codes.order[way ? used - 1 - i : i];
}

// All threads: bins that may go left, in order; their number. `own` has the sums of each bin.
__device__ int order_codes(
    const Grow& grow, const Limits& limits, const Whole* own, int width, int many, const Codes& codes
) {
    static_assert(!WITH_CODES || SPLIT_THREADS >= BINS, "a thread has a bin");
    int b = threadIdx.x;
    bool alone = is_alone(grow, many);
    double each = __ddiv_rn((double)limits.count, (double)max(limits.second, (Whole)1));
    Whole sum = b < many ? own[b * width] : 0, second = sum & 0xffffffffll;
    Whole force = (sum - second) >> 32;
    int rows = (int)floor(__dadd_rn(__dmul_rn((double)second, each), 0.5));
    bool is_used = second > 0 && (alone || rows >= grow.smooth);
    double key = __ddiv_rn(__dmul_rn((double)-force, limits.step),
                           __dadd_rn(__dmul_rn((double)second, limits.step_hess), grow.smooth));
    codes.key[b] = key;
    codes.rows[b] = is_used ? rows : -1;
    __syncthreads();
    int rank = 0, used = 0;
    for (int u = 0; u < many; ++u) {
        bool is_there = codes.rows[u] >= 0;
        bool is_before = alone ? u < b : codes.key[u] < key || (codes.key[u] == key && u < b);
        used += is_there;
        rank += is_there && is_before;
    }
    if (is_used) codes.order[rank] = b;
    __syncthreads();
    return used;
}

// All threads: the sets of one column.
__device__ void look_at_codes(
    const Grow& grow, const Limits& limits, const Whole* own, int width, int many, int column,
    const Codes& codes, Best& best
) {
    int t = threadIdx.x, used = order_codes(grow, limits, own, width, many, codes);
    if (is_alone(grow, many)) {
        if (t < many && codes.rows[t] >= 0) {
            look(grow, limits, own[t * width], column << 9 | t, grow.l2, best);
        }
        __syncthreads();  // the next column uses the same memory
        return;
    }
    int most = min((int)grow.most_codes, (used + 1) / 2);
    if (t < 2) {
        Whole left = 0;
        int here = 0, fresh = 0;
        bool is_over = false;
        for (int i = 0; i < most; ++i) {
            int b = code_at(codes, used, t, i);
            left += own[b * width];
            here += codes.rows[b];
            fresh += codes.rows[b];
            Whole second = left & 0xffffffffll;
            bool is_enough = min(second, limits.second - second) >= limits.least;
            is_over |= is_enough && limits.count - here < grow.group_rows;
            bool is_end = is_enough && !is_over && fresh >= grow.group_rows;
            if (is_end) fresh = 0;
            codes.ends[t * most + i] = is_end ? left : 0;
        }
    }
    __syncthreads();
    if (t < 2 * most && codes.ends[t]) {
        int code = column << 9 | t / most << 8 | t % most;
        look(grow, limits, codes.ends[t], code, __dadd_rn(grow.l2, grow.codes_l2), best);
    }
    __syncthreads();
}

// All threads: the bins that go left by a split of a column, in words.
__device__ void write_set(
    const Grow& grow, const Limits& limits, const Whole* own, int width, int many, int code,
    const Codes& codes, Bits* into
) {
    int used = order_codes(grow, limits, own, width, many, codes), way = code >> 8 & 1;
    int end = code & 255, w = threadIdx.x;
    if (w < SET) {
        Bits word = 0;
        if (is_alone(grow, many)) {
            word = end >> 6 == w ? (Bits)1 << (end & 63) : 0;
        } else {
            for (int i = 0; i <= end; ++i) {
                int b = code_at(codes, used, way, i);
                if (b >> 6 == w) word |= (Bits)1 << (b & 63);
            }
        }
        into[w] = word;
    }
    __syncthreads();
}
