// Ranks of a query's documents: best score first, ties by place.

// How many of the scores in `v` rank before document `i`; `from` is the place of the first of them.
enum { BEFORE, AMONG, BEHIND };

template <int WHERE>
__device__ inline int before(float given, int j, float own, int i) {
    if (WHERE == BEFORE) return given >= own;
    if (WHERE == BEHIND) return given > own;
    return given > own || (given == own && j < i);
}

template <int WHERE>
__device__ inline int count_before(
    const float* given, int start, int end, int step, float own, int i
) {
    int found = 0;
#pragma unroll 2
    for (int four = start; four < end; four += step) {
        float4 v = ((const float4*)given)[four];
        found += before<WHERE>(v.x, 4 * four, own, i) + before<WHERE>(v.y, 4 * four + 1, own, i)
               + before<WHERE>(v.z, 4 * four + 2, own, i) + before<WHERE>(v.w, 4 * four + 3, own, i);
    }
    return found;
}

// The first number of a slice from `start` on.
__device__ inline int enter(int start, int slice, int slices) {
    return start + (slice - start % slices + slices) % slices;
}

// By counting the better ones: no more steps than pairs, and none waits for another. `rank` is 0
// before; `given` ends with -infinity up to a multiple of 4.
__device__ void rank_by_counting(int n, const float* given, int* rank) {
    int chunks = (n + WARP - 1) / WARP;
    int slices = max(warps() / chunks, 1);
    for (int unit = warp(); unit < chunks * slices; unit += warps()) {
        int chunk = unit / slices, slice = unit % slices;
        int i = chunk * WARP + lane();
        float own = i < n ? given[i] : 0.0f;
        int first = chunk * WARP / 4, last = first + WARP / 4, end = (n + 3) / 4;
        int found = count_before<BEFORE>(given, slice, first, slices, own, i);
        found += count_before<AMONG>(
            given, enter(first, slice, slices), min(last, end), slices, own, i
        );
        found += count_before<BEHIND>(given, enter(last, slice, slices), end, slices, own, i);
        if (i < n) atomicAdd(rank + i, found);
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
