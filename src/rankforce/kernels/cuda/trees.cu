// A tree at work on rows in the GPU's memory: where they go, sums over leaves, scores.
// Sums are of integers, so that every run gives the same bits.
//
// Cost of a row: in walk_rows a node and a value at random for each step down; in sum_leaves 12 bytes
// and two additions in shared memory; in move_scores 24 bytes, and a value at random.

// Flags of a node: as in kernels/trees.py.
enum { NAN_LEFT = 1, CATEGORICAL = 2, ZERO_MISSING = 4, DEFAULT_LEFT = 8 };
constexpr float ZERO = 1e-35f;

struct Node {
    int feature, left, right, flags;  // children below 0: ~leaf
};

// Every field has 8 bytes, as in models/forest/on_gpu.py.
struct Walk {
    const float* values;  // row by row
    const Node* nodes;
    const float* thresholds;
    const int* sets;  // first word and number of words of each node
    const unsigned* words;
    int* leaf;    // of each row
    int* counts;  // of each leaf
    Whole rows, width, leaves;
    Whole shared;  // whether a block has room for sums over its own rows
};

struct Sums {
    const int* leaf;
    const float* lam;
    const float* hess;
    unsigned* largest;  // force and hessian, as bits
    Bits* sums;         // forces of all leaves, then hessians
    Whole rows, leaves;
    Whole bits;    // that the largest number may have
    Whole shared;  // as above
};

struct Move {
    const int* leaf;
    const double* values;  // of leaves
    double* scores;
    float* rounded;
    Whole rows;
};

// Numbers in the order of floats. Compiled code may take the smallest floats for 0, these not.
__device__ int ordered(float value) {
    unsigned bits = __float_as_uint(value);
    if (bits == 0x80000000u) return 0;
    return bits & 0x80000000u ? (int)(bits ^ 0x7fffffffu) : (int)bits;
}

__device__ bool is_nan(float value) { return (__float_as_uint(value) & 0x7fffffffu) > 0x7f800000u; }

__device__ bool goes_left(const Walk& walk, int node, float x) {
    int flags = walk.nodes[node].flags;
    if (flags & CATEGORICAL) {
        if (is_nan(x) || ordered(x) < 0) return false;
        Whole category = (Whole)x, word = category >> 5;
        if (word >= walk.sets[2 * node + 1]) return false;
        return walk.words[walk.sets[2 * node] + word] >> (category & 31) & 1;
    }
    if (is_nan(x)) return flags & (flags & ZERO_MISSING ? DEFAULT_LEFT : NAN_LEFT);
    if ((flags & ZERO_MISSING) && x <= ZERO && x >= -ZERO) return flags & DEFAULT_LEFT;
    return ordered(x) <= ordered(walk.thresholds[node]);
}

// A block adds up its own rows first: one address would be too busy for all.
template <typename T>
__device__ T* begin_sums(T* sums, Whole count, bool is_shared) {
    if (!is_shared) return sums;
    T* own = (T*)memory;
    for (Whole i = threadIdx.x; i < count; i += blockDim.x) own[i] = 0;
    __syncthreads();
    return own;
}

template <typename T>
__device__ void end_sums(T* own, T* sums, Whole count) {
    if (own == sums) return;
    __syncthreads();
    for (Whole i = threadIdx.x; i < count; i += blockDim.x)
        if (own[i]) atomicAdd(sums + i, own[i]);
}

extern "C" __global__ void walk_rows(Walk walk) {
    int* counts = begin_sums(walk.counts, walk.leaves, walk.shared);
    Whole step = (Whole)blockDim.x * gridDim.x;
    for (Whole row = (Whole)blockIdx.x * blockDim.x + threadIdx.x; row < walk.rows; row += step) {
        const float* own = walk.values + row * walk.width;
        int node = 0;
        while (node >= 0) {
            const Node& at = walk.nodes[node];
            node = goes_left(walk, node, own[at.feature]) ? at.left : at.right;
        }
        walk.leaf[row] = ~node;
        atomicAdd(counts + ~node, 1);
    }
    end_sums(counts, walk.counts, walk.leaves);
}

// Warps look first: one address would be too busy for all.
extern "C" __global__ void find_largest(Sums sums) {
    Whole step = (Whole)blockDim.x * gridDim.x;
    unsigned force = 0, second = 0;
    for (Whole row = (Whole)blockIdx.x * blockDim.x + threadIdx.x; row < sums.rows; row += step) {
        force = max(force, magnitude(sums.lam[row]));
        second = max(second, magnitude(sums.hess[row]));
    }
    force = warp_max(force);
    second = warp_max(second);
    if (lane() == 0) {
        atomicMax(sums.largest, force);
        atomicMax(sums.largest + 1, second);
    }
}

extern "C" __global__ void sum_leaves(Sums sums) {
    double force = scalbn(1.0, shift_of(sums.largest[0], sums.bits));
    double second = scalbn(1.0, shift_of(sums.largest[1], sums.bits));
    Bits* own = begin_sums(sums.sums, 2 * sums.leaves, sums.shared);
    Whole step = (Whole)blockDim.x * gridDim.x;
    for (Whole row = (Whole)blockIdx.x * blockDim.x + threadIdx.x; row < sums.rows; row += step) {
        int leaf = sums.leaf[row];
        atomicAdd(own + leaf, (Bits)(Whole)rint(sums.lam[row] * force));
        atomicAdd(own + sums.leaves + leaf, (Bits)(Whole)rint(sums.hess[row] * second));
    }
    end_sums(own, sums.sums, 2 * sums.leaves);
}

extern "C" __global__ void move_scores(Move move) {
    Whole step = (Whole)blockDim.x * gridDim.x;
    for (Whole row = (Whole)blockIdx.x * blockDim.x + threadIdx.x; row < move.rows; row += step) {
        move.scores[row] += move.values[move.leaf[row]];
        move.rounded[row] = (float)move.scores[row];
    }
}
