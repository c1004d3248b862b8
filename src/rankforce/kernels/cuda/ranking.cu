// Ranks of a query's documents: best score first, ties by place.
//
// Cost for n documents: by counting n^2 compares, of 4 scores a load; by sorting n (log2 n)^2 / 4
// compares of 8-byte keys, with (log2 n)^2 / 2 barriers.

// Where other documents stand: before the own ones, among them or behind them.
enum { BEFORE, AMONG, BEHIND };

template <int WHERE>
__device__ inline int is_before(float given, int j, float own, int i) {
    if (WHERE == BEFORE) return given >= own;
    if (WHERE == BEHIND) return given > own;
    return given > own || (given == own && j < i);
}

// How many of four scores, of place `j` and on, rank before document `i`.
template <int WHERE>
__device__ inline int count_four(float4 four, int j, float own, int i) {
    return is_before<WHERE>(four.x, j, own, i) + is_before<WHERE>(four.y, j + 1, own, i)
         + is_before<WHERE>(four.z, j + 2, own, i) + is_before<WHERE>(four.w, j + 3, own, i);
}

// The same for two documents a warp apart: what is read serves both.
template <int WHERE>
__device__ inline void count_before(
    const float* given, int start, int end, const float* own, int i, int* found
) {
#pragma unroll 2
    for (int t = start; t < end; ++t) {
        float4 four = ((const float4*)given)[t];
        found[0] += count_four<WHERE>(four, 4 * t, own[0], i);
        found[1] += count_four<WHERE>(four, 4 * t, own[1], i + WARP);
    }
}

// By counting the better ones: no more steps than pairs, and none waits for another. `rank` is 0
// before; `given` ends with -infinity up to a multiple of 4.
__device__ void rank_by_counting(int n, const float* given, int* rank) {
    int chunks = (n + 2 * WARP - 1) / (2 * WARP), fours = (n + 3) / 4;
    int shift = slice_shift(chunks);
    for (int unit = warp(); unit < chunks << shift; unit += warps()) {
        int chunk = unit >> shift, slice = unit & ((1 << shift) - 1);
        int i = chunk * 2 * WARP + lane();
        float own[2] = {i < n ? given[i] : 0.0f, i + WARP < n ? given[i + WARP] : 0.0f};
        int found[2] = {0, 0};
        int start = slice_start(fours, slice, shift), end = slice_start(fours, slice + 1, shift);
        int first = chunk * WARP / 2, last = first + WARP / 2;
        count_before<BEFORE>(given, start, min(first, end), own, i, found);
        count_before<AMONG>(given, max(start, first), min(last, end), own, i, found);
        count_before<BEHIND>(given, max(start, last), end, own, i, found);
        if (i < n) atomicAdd(rank + i, found[0]);
        if (i + WARP < n) atomicAdd(rank + i + WARP, found[1]);
    }
}

// A key that falls with the score, then rises with the place; all keys differ.
__device__ inline Bits sort_key(float score, int place) {
    unsigned bits = __float_as_uint(score + 0.0f);  // -0 as 0
    bits = bits & 0x80000000u ? bits : ~bits & 0x7fffffffu;
    return (Bits)bits << 32 | (unsigned)place;
}

// By a bitonic sort of keys, which have room for the next power of 2.
__device__ void rank_by_sorting(int n, const float* given, int* rank, Bits* keys) {
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
