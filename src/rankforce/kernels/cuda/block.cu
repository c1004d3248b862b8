// What kernels of queries share: one block works off one query, or several of them in turn.
// Sums go in a fixed order, so that every run gives the same bits.

typedef LABEL Label;

// Numbers of layout.py, sets.py and swaps.py.
enum { BY_RANK, BY_STEP, BY_DISTANCE, BY_SWAP };
enum { NO_PAIRS, ALL_PAIRS, TRUNCATED, EXTENDED, EXTENDED_BY_LABEL };
enum { NO_NORM, LIGHTGBM_NORM, STD_NORM, APART_NORM };
enum { STATIC, RANDOM, ALL };
enum { NO_SWAPS, MAP, MRR, ERR };

constexpr float LARGEST = 3.4028235e38f;
constexpr double LEAST = 1e-300;  // forces below are as good as none
constexpr int SLOTS = 32;  // of a reduction: one for each warp

// One query of a call.
struct Job {
    Whole start;  // its first place in this call's scores
    int query;    // its number in the whole set
    int slot;     // its number in this call
};

// What labels alone decide, of the whole set. As in launch.py: every field has 8 bytes.
struct Bound {
    const Whole* pointer;  // query q has the places pointer[q]..pointer[q+1]-1
    const Bits* key;       // of random draws
    const int* position;   // of each place, in label order within its query
    const Label* u;        // label term in label order; of lists, the gain of each place
    const double* scale;
    const Whole* class_pointer;
    const int* class_start;
    const int* tier_start;
    const int* tier_stop;
    const int* positive;
    const unsigned char* strategy;
    const float* tables;  // values of ranks, of rank distances, corrections: `width` of each
    const double* exact;  // the same, for scores far apart: there only neighbours' differences count
    const Whole* number;  // of each place: that of its row within its query
    Whole width;
    double sigma, center, constant;
    Whole cutoff, swaps_cutoff;
};

// What changes from call to call.
struct Call {
    const float* scores;
    const int* row;  // of each place; none if places are rows
    const Job* jobs;
    Whole first;  // job of this launch
    Whole count;  // of its jobs
    float* lam;
    float* hess;
    double* totals;  // magnitudes of each query, once for each document; may be none
    float* costs;
    int* far;                // jobs whose scores are far apart: their number, then they
    unsigned char* scratch;  // one piece for each block; none if documents fit shared memory
    Whole piece;             // bytes of a piece
    Whole parts;             // blocks that share a list
    Whole room;              // documents of a piece
    Whole classes;           // and runs of equal labels, with one behind the last
    Whole norm;
    Bits seed, iteration;
    Whole is_step;
    const int* leaf;  // of each row, where only pairs within a leaf count; their sums go to `hess`
};

__device__ inline float endless() { return __int_as_float(0x7f800000); }
__device__ inline float no_number() { return __int_as_float(0x7fc00000); }

__device__ inline Whole row_at(const Call& call, const Job& job, int i) {
    return call.row ? call.row[job.start + i] : job.start + i;
}

// Where there are more warps than chunks of work, each chunk is cut into 2^shift slices.
__device__ inline int slice_shift(int chunks) {
    int shift = 0;
    while (chunks << (shift + 1) <= warps()) ++shift;
    return shift;
}

// Where a slice of `count` things begins; the next one begins where it ends.
__device__ inline int slice_start(int count, int slice, int shift) {
    return (int)((Whole)count * slice >> shift);
}

__device__ inline double block_sum(double value, double* slots) {
    value = warp_sum(value);
    if (lane() == 0) slots[warp()] = value;
    __syncthreads();
    double total = 0.0;
    for (int w = 0; w < warps(); ++w) total += slots[w];
    return total;
}

__device__ inline double block_max(double value, double* slots) {
    for (int far = WARP / 2; far; far /= 2) value = fmax(value, __shfl_xor_sync(~0u, value, far));
    if (lane() == 0) slots[warp()] = value;
    __syncthreads();
    for (int w = 0; w < warps(); ++w) value = fmax(value, slots[w]);
    return value;
}

__device__ inline Bits draw_key(Bits seed, Bits iteration, Bits query) {
    return splitmix64(splitmix64(splitmix64(seed) ^ iteration) ^ query);
}

__device__ inline double draw(Bits key, Bits number) {
    return (double)(splitmix64(key ^ number) >> 11) * (1.0 / 9007199254740992.0);
}

// One over the root of the mean square of forces; 0 without forces.
template <typename Force>
__device__ double spread_factor(int n, Force force, double* slots) {
    double largest = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) largest = fmax(largest, fabs((double)force(i)));
    largest = block_max(largest, slots);
    if (largest < LEAST) return 0.0;
    double square = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double share = (double)force(i) / largest;
        square += share * share;
    }
    square = block_sum(square, slots + SLOTS);
    return 1.0 / (largest * sqrt(square / n));
}

// What LightGBM's norm multiplies forces by whose magnitudes add up to s / 2.
__device__ inline double shrink(double s) {
    return s > 0.0 ? log1p(s) / (s * 0.69314718055994531) : 0.0;
}
