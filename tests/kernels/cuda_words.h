// What CUDA C++ has beyond C++, but for how threads run, memory of blocks, and atomic operations:
// that is in processor.h, which is fast, and in threads.h, which is watched by a sanitizer.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using std::exp;
using std::fabs;
using std::log1p;
using std::max;
using std::min;

#define __device__
#define __global__
#define __shared__
#define __noinline__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct Index {
    unsigned x;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

Index threadIdx, blockIdx, blockDim, gridDim;

// Threads of a block that wait for each other.
struct Barrier {
    int arrived = 0, turn = 0;
};

Barrier of_block, of_warp[32];
unsigned long long exchanged[32][32];

// To the scheduler, and on from here when the barrier's turn is another.
void leave(const Barrier& barrier, int turn);

UNWATCHED void wait_at(Barrier& barrier, int all) {
    int turn = barrier.turn;
    if (++barrier.arrived == all) {
        barrier.arrived = 0;
        ++barrier.turn;
        return;
    }
    while (barrier.turn == turn) leave(barrier, turn);
}

// What a lane of the same warp has, any 8 bytes; its number is asked of each lane.
template <typename T, typename From>
UNWATCHED T take_from(T value, From from) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    std::memcpy(&exchanged[warp][lane], &value, sizeof value);
    wait_at(of_warp[warp], 32);
    T found;
    std::memcpy(&found, &exchanged[warp][from(lane)], sizeof found);
    wait_at(of_warp[warp], 32);
    return found;
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int far) {
    return take_from(value, [=](int lane) { return lane ^ far; });
}

template <typename T>
T __shfl_up_sync(unsigned, T value, int far) {
    return take_from(value, [=](int lane) { return lane < far ? lane : lane - far; });
}

template <typename T>
T __shfl_sync(unsigned, T value, int from) {
    return take_from(value, [=](int) { return from; });
}

UNWATCHED unsigned __ballot_sync(unsigned, bool vote) {
    int warp = threadIdx.x / 32;
    exchanged[warp][threadIdx.x % 32] = vote;
    wait_at(of_warp[warp], 32);
    unsigned found = 0;
    for (int lane = 0; lane < 32; ++lane) found |= (unsigned)exchanged[warp][lane] << lane;
    wait_at(of_warp[warp], 32);
    return found;
}

int __popc(unsigned bits) { return __builtin_popcount(bits); }

// Rounded to the nearest and never joined with others: so is all arithmetic here.
double __dadd_rn(double a, double b) { return a + b; }
double __dmul_rn(double a, double b) { return a * b; }
double __ddiv_rn(double a, double b) { return a / b; }

unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

long long __double_as_longlong(double value) {
    long long bits;
    std::memcpy(&bits, &value, 8);
    return bits;
}

float __int_as_float(int bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}
