// Kernels while a sanitizer of the compiler looks on: which two threads come to the same memory
// with nothing between them that makes one wait (-fsanitize=thread), and who leaves an array or
// what a block asked for (-fsanitize=address).
//
// Threads are contexts that change at barriers, as in processor.h. ThreadSanitizer is told of each
// as of a thread of its own, so it does not matter who happened to be first, and every run finds
// the same: what it knows of order is what a GPU promises.
//   __syncthreads, __syncwarp   what was before them in any thread, is before what comes behind
//   shuffles, ballots           nothing: values go from lane to lane, memory is not ordered
//   atomic operations           nothing, but two of them do not disturb each other
//   blocks of a launch          nothing
//   launches                    one behind the other

#define UNWATCHED __attribute__((noinline, no_sanitize("thread")))

#include <ucontext.h>

#include "cuda_words.h"

#ifdef __SANITIZE_THREAD__
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned);
void __tsan_switch_to_fiber(void* fiber, unsigned is_unordered);
void __tsan_set_fiber_name(void* fiber, const char* name);
void __tsan_acquire(void* place);
void __tsan_release(void* place);
}
#else
void* __tsan_get_current_fiber() { return nullptr; }
void* __tsan_create_fiber(unsigned) { return nullptr; }
void __tsan_switch_to_fiber(void*, unsigned) {}
void __tsan_set_fiber_name(void*, const char*) {}
void __tsan_acquire(void*) {}
void __tsan_release(void*) {}
#endif

struct Thread {
    ucontext_t context;
    void* fiber = nullptr;
    const Barrier* at = nullptr;  // where it waits
    int turn = 0;
    bool is_done = true;
};

constexpr size_t STACK = 128 * 1024;
// Threads that are told apart: blocks that are further from each other than so many are taken for
// one behind the other. ThreadSanitizer takes 1 MB for each.
constexpr unsigned MOST = 2048;

// Of all libraries together, which `inline` makes of a variable.
struct Everybody {
    std::vector<Thread*> threads;
    Thread scheduler, *current;
    void (*kernel)(void*);
    void* given;
    char begun, ended;  // what is before a block, and behind a launch
};
inline Everybody all_of;

unsigned char* memory;  // of the block

UNWATCHED void change(Thread& from, Thread& to) {
    all_of.current = &to;
    __tsan_switch_to_fiber(to.fiber, 1);
    swapcontext(&from.context, &to.context);
}

UNWATCHED void leave(const Barrier& barrier, int turn) {
    Thread& own = *all_of.current;
    own.at = &barrier;
    own.turn = turn;
    change(own, all_of.scheduler);
}

// What ThreadSanitizer knows of a block's barriers. Two places of each by turns: who hurries on to
// the next must not tell those that are still here.
struct Places {
    char of_block[2] = {}, of_warp[32][2] = {};
};
Places* places;

UNWATCHED void meet_at(Barrier& barrier, int all, char* two) {
    char* place = two + barrier.turn % 2;
    __tsan_release(place);
    wait_at(barrier, all);
    __tsan_acquire(place);
}

UNWATCHED void __syncthreads() { meet_at(of_block, blockDim.x, places->of_block); }

UNWATCHED void __syncwarp() {
    int warp = threadIdx.x / 32;
    meet_at(of_warp[warp], 32, places->of_warp[warp]);
}

template <typename T>
T atomicAdd(T* sum, T value) {
    return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

unsigned atomicMax(unsigned* most, unsigned value) {
    unsigned before = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (before < value
           && !__atomic_compare_exchange_n(
               most, &before, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return before;
}

UNWATCHED void run_for_ever() {
    for (;;) {
        __tsan_acquire(&all_of.begun);
        all_of.kernel(all_of.given);
        __tsan_release(&all_of.ended);
        Thread& own = *all_of.current;
        own.is_done = true;
        change(own, all_of.scheduler);
    }
}

UNWATCHED Thread* make_thread() {
    Thread* thread = new Thread;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = std::malloc(STACK);
    thread->context.uc_stack.ss_size = STACK;
    makecontext(&thread->context, run_for_ever, 0);
    thread->fiber = __tsan_create_fiber(0);
    return thread;
}

UNWATCHED void run_block(Thread** own) {
    of_block = Barrier();
    for (Barrier& one : of_warp) one = Barrier();
    for (unsigned t = 0; t < blockDim.x; ++t) {
        char name[40];
        std::snprintf(name, sizeof name, "block %u, thread %u", blockIdx.x, t);
        __tsan_set_fiber_name(own[t]->fiber, name);
        own[t]->is_done = false;
        own[t]->at = nullptr;
    }
    for (unsigned done = 0; done < blockDim.x;) {
        unsigned went_on = 0;
        done = 0;
        for (unsigned t = 0; t < blockDim.x; ++t) {
            threadIdx.x = t;
            Thread& thread = *own[t];
            bool waits = thread.at && thread.at->turn == thread.turn;
            if (!thread.is_done && !waits) change(all_of.scheduler, thread), ++went_on;
            done += thread.is_done;
        }
        if (!went_on) {
            std::fprintf(stderr, "block %u waits at a barrier that not all reach\n", blockIdx.x);
            std::_Exit(66);
        }
    }
}

template <typename Kernel>
UNWATCHED void run_grid(unsigned blocks, unsigned count, unsigned shared, Kernel kernel) {
    gridDim.x = blocks;
    blockDim.x = count;
    all_of.kernel = [](void* kernel) { (*(Kernel*)kernel)(); };
    all_of.given = &kernel;
    all_of.scheduler.fiber = __tsan_get_current_fiber();
    std::vector<Thread*>& threads = all_of.threads;
    unsigned together = max(min(blocks, MOST / count), 1u);
    while (threads.size() < together * count) threads.push_back(make_thread());
    std::vector<void*> kept;
    std::vector<Places> own_places(blocks);
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        void* own;
        if (posix_memalign(&own, 128, shared)) std::abort();
        std::memset(own, 0xff, shared);  // nothing is 0 by itself
        kept.push_back(own);
        memory = (unsigned char*)own;
        places = &own_places[blockIdx.x];
        __tsan_release(&all_of.begun);
        run_block(&threads[blockIdx.x % together * count]);
    }
    __tsan_acquire(&all_of.ended);
    for (void* one : kept) std::free(one);
}
