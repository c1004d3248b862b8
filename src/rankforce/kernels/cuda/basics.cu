// What kernels of all files share.

typedef long long Whole;
typedef unsigned long long Bits;

constexpr int WARP = 32;

extern __shared__ __align__(16) unsigned char memory[];

__device__ inline int lane() { return threadIdx.x % WARP; }
__device__ inline int warp() { return threadIdx.x / WARP; }
__device__ inline int warps() { return blockDim.x / WARP; }

template <typename T>
__device__ inline T warp_sum(T value) {
    for (int far = WARP / 2; far; far /= 2) value += __shfl_xor_sync(~0u, value, far);
    return value;
}

__device__ inline unsigned warp_max(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, value);
#else
    for (int far = WARP / 2; far; far /= 2) value = max(value, __shfl_xor_sync(~0u, value, far));
    return value;
#endif
}

// What the lanes before this one have, and it itself.
__device__ inline int warp_prefix(int value) {
    for (int far = 1; far < WARP; far *= 2) {
        int before = __shfl_up_sync(~0u, value, far);
        if (lane() >= far) value += before;
    }
    return value;
}

// Steele et al. 2014: a hash of 64 bits.
__device__ inline Bits splitmix64(Bits x) {
    Bits z = x + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// A number whose bits these are: compiled code may take the smallest floats for 0, this does not.
__device__ inline double widened(unsigned bits) {
    int power = (int)(bits >> 23 & 255);
    double share = (double)(bits & 0x7fffffu | (power ? 0x800000u : 0u));
    return scalbn(share, (power ? power : 1) - 150);
}

__device__ inline unsigned magnitude(float value) { return __float_as_uint(value) & 0x7fffffffu; }

// By how much numbers up to the largest are multiplied, to have so many bits: a power of 2.
__device__ inline int shift_of(unsigned largest, Whole bits) {
    return (int)bits - ((int)(largest >> 23) - 126);  // the largest is below 2^above
}
