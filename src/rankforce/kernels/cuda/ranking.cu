// Ranks of a query's documents: best score first, ties by place.
//
// Cost for n documents: a sort of n (log2 n)^2 / 4 compares of 8-byte keys. Up to 8 for each lane a
// warp sorts by itself, in registers and without barriers; more are in shared memory, with (log2 n)^2
// / 2 barriers.

static_assert(BY_WARP <= 8 * WARP, "a lane has 8 keys at most");

// A key that falls with the score, then rises with the place; all keys differ.
__device__ inline Bits sort_key(float score, int place) {
    unsigned bits = __float_as_uint(score);
    bits = bits & 0x80000000u ? bits : ~bits & 0x7fffffffu;
    return (Bits)bits << 32 | (unsigned)place;
}

__device__ inline void sort_two(Bits& a, Bits& b, bool rises) {
    if ((a > b) != rises) return;
    Bits kept = a;
    a = b;
    b = kept;
}

// Bitonic runs of EACH keys of this lane, from the distance `far` on.
template <int EACH>
__device__ inline void merge_own(Bits* own, int run) {
#pragma unroll
    for (int far = EACH / 2; far; far /= 2) {
        if (far > run / 2) continue;
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            if (!(k & far)) sort_two(own[k], own[k + far], !((lane() * EACH + k) & run));
        }
    }
}

// A bitonic sort by a warp, EACH keys of a lane.
template <int EACH>
__device__ void rank_in_warp(int n, const float* given, int* rank) {
    Bits own[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        int i = k * WARP + lane();
        own[k] = i < n ? sort_key(given[i], i) : ~0ull;
    }
#pragma unroll
    for (int run = 2; run <= EACH; run *= 2) merge_own<EACH>(own, run);
    for (int run = 2 * EACH; run <= EACH * WARP; run *= 2) {
        for (int far = run / 2 / EACH; far; far /= 2) {
            bool is_least = !(lane() & far) == !(lane() * EACH & run);
#pragma unroll
            for (int k = 0; k < EACH; ++k) {
                Bits other = __shfl_xor_sync(~0u, own[k], far);
                if ((other < own[k]) == is_least) own[k] = other;
            }
        }
        merge_own<EACH>(own, run);
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        int r = lane() * EACH + k;
        if (r < n) rank[(unsigned)own[k]] = r;
    }
}

// By all threads, with keys that have room for the next power of 2.
__device__ void rank_in_block(int n, const float* given, int* rank, Bits* keys) {
    int size = 1;
    while (size < n) size *= 2;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        keys[i] = i < n ? sort_key(given[i], i) : ~0ull;
    }
    __syncthreads();
    for (int run = 2; run <= size; run *= 2) {
        for (int far = run / 2; far; far /= 2) {
            for (int t = threadIdx.x; t < size / 2; t += blockDim.x) {
                int i = 2 * t - (t & (far - 1)), j = i + far;
                Bits a = keys[i], b = keys[j];
                if ((a > b) == ((i & run) == 0)) {
                    keys[i] = b;
                    keys[j] = a;
                }
            }
            __syncthreads();
        }
    }
    for (int r = threadIdx.x; r < n; r += blockDim.x) rank[(unsigned)keys[r]] = r;
}

// By one warp where a warp sorts by itself, else by all threads.
__device__ void rank_documents(int n, const float* given, int* rank, Bits* keys) {
    if (n > BY_WARP) return rank_in_block(n, given, rank, keys);
    if (n > 4 * WARP) rank_in_warp<8>(n, given, rank);
    else if (n > 2 * WARP) rank_in_warp<4>(n, given, rank);
    else rank_in_warp<2>(n, given, rank);
}
