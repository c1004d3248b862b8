// What CUDA C++ has beyond C++, on one thread of the processor: blocks run one after the other, and
// the threads of a block are contexts that change at barriers. Slow, and the same as on a GPU, but
// for rounding and for mistakes that only true simultaneity shows.

#include <ucontext.h>

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
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct Index {
    unsigned x;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

Index threadIdx, blockIdx, blockDim, gridDim;
alignas(64) unsigned char memory[256 * 1024];

// Threads of a block that wait for each other.
struct Barrier {
    int arrived = 0, turn = 0;
};

struct Thread {
    ucontext_t context;
    std::vector<char> stack;
    bool is_done = false;
};

std::vector<Thread> threads;
ucontext_t scheduler;
Barrier of_block, of_warp[32];
double exchanged[32][32];

void wait_at(Barrier& barrier, int all) {
    int turn = barrier.turn;
    if (++barrier.arrived == all) {
        barrier.arrived = 0;
        ++barrier.turn;
        return;
    }
    while (barrier.turn == turn) swapcontext(&threads[threadIdx.x].context, &scheduler);
}

__attribute__((noinline)) void __syncthreads() { wait_at(of_block, blockDim.x); }

template <typename T>
__attribute__((noinline)) T __shfl_xor_sync(unsigned, T value, int far) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    exchanged[warp][lane] = (double)value;
    wait_at(of_warp[warp], 32);
    T found = (T)exchanged[warp][lane ^ far];
    wait_at(of_warp[warp], 32);
    return found;
}

template <typename T>
T atomicAdd(T* sum, T value) {
    T before = *sum;
    *sum += value;
    return before;
}

unsigned atomicMax(unsigned* most, unsigned value) {
    unsigned before = *most;
    *most = max(before, value);
    return before;
}

unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

float __int_as_float(int bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

template <typename Kernel>
struct Running {
    static Kernel* kernel;
    static void start() {
        (*kernel)();
        threads[threadIdx.x].is_done = true;
        swapcontext(&threads[threadIdx.x].context, &scheduler);
    }
};
template <typename Kernel>
Kernel* Running<Kernel>::kernel;

template <typename Kernel>
void run_block(Kernel& kernel) {
    Running<Kernel>::kernel = &kernel;
    of_block = Barrier();
    for (Barrier& one : of_warp) one = Barrier();
    for (Thread& thread : threads) {
        thread.is_done = false;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        makecontext(&thread.context, Running<Kernel>::start, 0);
    }
    for (unsigned done = 0; done < threads.size();) {
        done = 0;
        for (unsigned t = 0; t < threads.size(); ++t) {
            if (!threads[t].is_done) {
                threadIdx.x = t;
                swapcontext(&scheduler, &threads[t].context);
            }
            done += threads[t].is_done;
        }
    }
}

template <typename Kernel>
void run_grid(unsigned blocks, unsigned count, Kernel kernel) {
    gridDim.x = blocks;
    blockDim.x = count;
    threads.resize(count);
    for (Thread& thread : threads) thread.stack.resize(32 * 1024);
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        std::memset(memory, 0xff, sizeof memory);  // nothing is 0 by itself
        run_block(kernel);
    }
}
