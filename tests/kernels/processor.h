// Kernels on one thread of the processor: blocks run one after the other, and the threads of a
// block are contexts that change at barriers. Slow, and the same as on a GPU, but for rounding and
// for mistakes that only true simultaneity shows. Some of these are shown by running blocks and
// threads backward: what needs a barrier and has none comes out differently. See threads.h.

#define UNWATCHED __attribute__((noinline))

#include <setjmp.h>
#include <ucontext.h>

#include <functional>

#include "cuda_words.h"

alignas(64) unsigned char memory[256 * 1024];

// A context lives on from block to block and from launch to launch. It is begun by ucontext, and
// changed by jumps, which ask nothing of the system.
struct Thread {
    ucontext_t context;
    jmp_buf place;
    char* stack = nullptr;
    bool is_begun = false, is_done = false;
};

constexpr int STACK = 32 * 1024;
std::vector<Thread*> threads;
jmp_buf scheduler;
std::function<void()> running;

UNWATCHED void leave() {
    if (!_setjmp(threads[threadIdx.x]->place)) _longjmp(scheduler, 1);
}

void leave(const Barrier&, int) { leave(); }

UNWATCHED void __syncthreads() { wait_at(of_block, blockDim.x); }

UNWATCHED void __syncwarp() { wait_at(of_warp[threadIdx.x / 32], 32); }

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

bool is_backward = false;
extern "C" void set_backward(int given) { is_backward = given; }

void run_for_ever() {
    for (;;) {
        running();
        threads[threadIdx.x]->is_done = true;
        leave();
    }
}

__attribute__((noinline)) void enter(Thread* thread) {
    if (_setjmp(scheduler)) return;
    if (thread->is_begun) _longjmp(thread->place, 1);
    thread->is_begun = true;
    getcontext(&thread->context);
    thread->stack = (char*)std::malloc(STACK);
    thread->context.uc_stack.ss_sp = thread->stack;
    thread->context.uc_stack.ss_size = STACK;
    makecontext(&thread->context, run_for_ever, 0);
    setcontext(&thread->context);
}

void run_block() {
    of_block = Barrier();
    for (Barrier& one : of_warp) one = Barrier();
    for (unsigned t = 0; t < blockDim.x; ++t) threads[t]->is_done = false;
    for (unsigned done = 0; done < blockDim.x;) {
        done = 0;
        for (unsigned number = 0; number < blockDim.x; ++number) {
            unsigned t = is_backward ? blockDim.x - 1 - number : number;
            threadIdx.x = t;
            if (!threads[t]->is_done) enter(threads[t]);
            done += threads[t]->is_done;
        }
    }
}

template <typename Kernel>
void run_grid(unsigned blocks, unsigned count, unsigned, Kernel kernel) {
    gridDim.x = blocks;
    blockDim.x = count;
    running = kernel;
    while (threads.size() < count) threads.push_back(new Thread);
    for (unsigned number = 0; number < blocks; ++number) {
        blockIdx.x = is_backward ? blocks - 1 - number : number;
        std::memset(memory, 0xff, sizeof memory);  // nothing is 0 by itself
        run_block();
    }
}
