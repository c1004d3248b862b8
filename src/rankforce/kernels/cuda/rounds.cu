// Which leaves are split next. A tree grows best leaf first: of all leaves the one whose split gains
// most, of equal ones the one with the lowest number. A split is made once all splits above it are:
// so the first of them are those with the largest `bound`, the least gain on the way from the root.
// In each round every leaf is split that is among the best of all nodes that are known: others never
// will be, since what is not known yet has no larger bound than these. The next round knows more.
// When none is left, growth is played through leaf by leaf, which also settles ties and numbers.

// Leaves of the tree that is played through, in shared memory.
struct Play {
    double* gain;
    int* node;
    int* met;    // leaves to be split, in the order in which they are met
    int* parts;  // of each of them: its items, then the first of them
    unsigned char* is_used;  // slots
    // What grow has of all nodes, in shared memory if there is room.
    double *gains, *bounds;
    int* children;
};

__device__ inline Play lay_out(const Grow& grow) {
    Play play;
    int most = (int)grow.most, near = grow.near ? (int)grow.nodes_at_most : 0;
    play.gain = (double*)memory;
    play.gains = play.gain + most;
    play.bounds = play.gains + near;
    play.node = (int*)(play.bounds + near);
    play.met = play.node + most;
    play.parts = play.met + most;
    play.children = play.parts + most + 1;
    play.is_used = (unsigned char*)(play.children + near);
    if (near) return play;
    play.gains = grow.gain;
    play.bounds = grow.bound;
    play.children = grow.child;
    return play;
}

__device__ void bring_near(const Grow& grow, const Play& play) {
    if (!grow.near) return;
    for (int n = threadIdx.x; n < grow.state->nodes; n += blockDim.x) {
        play.gains[n] = grow.gain[n];
        play.bounds[n] = grow.bound[n];
        play.children[n] = grow.child[n];
    }
}

// What is known of new leaves, of all groups of columns.
__device__ void take_splits(const Grow& grow, const Play& play) {
    const State& state = *grow.state;
    for (int i = threadIdx.x; i < 2 * state.pairs; i += blockDim.x) {
        Pair pair = grow.pairs[i / 2];
        int side = i % 2;
        if (pair.parent < 0 && side) continue;
        int number = pair.child + side;
        Node node = grow.nodes[number];
        if (pair.parent >= 0) {
            const Node& parent = grow.nodes[pair.parent];
            int middle = parent.begin + parent.lefts;
            node.begin = side ? middle : parent.begin;
            node.end = side ? parent.end : middle;
            node.slot = (side == 0) == is_left_smaller(parent) ? pair.slot : parent.slot;
        }
        const Split* splits = grow.splits + (Whole)number * GROUPS;
        double gain = 0.0;
        int best = 0;
#pragma unroll 8
        for (int group = 0; group < GROUPS; ++group) {
            double other = splits[group].gain;
            if (other > gain) best = group;
            gain = fmax(other, gain);
        }
        if (gain > 0.0) {
            Split split = splits[best];
            node.column = split.column;
            node.bin = split.bin;
            node.nan_left = split.nan_left;
            node.left_force = split.left_force;
            node.left_second = split.left_second;
        }
        grow.nodes[number] = node;
        if (node.depth >= grow.deepest) gain = 0.0;
        double bound = pair.parent < 0 ? gain : fmin(gain, play.bounds[pair.parent]);
        grow.gain[number] = play.gains[number] = gain;
        grow.bound[number] = play.bounds[number] = bound;
    }
}

// The leaf with the largest gain of all lanes, or -1.
__device__ inline int find_best(double gain, int leaf) {
    Bits bits = gain > 0.0 ? (Bits)__double_as_longlong(gain) : 0;
    unsigned high = (unsigned)(bits >> 32), most = warp_max(high);
    unsigned low = high == most ? (unsigned)bits : 0, rest = warp_max(low);
    if (!most && !rest) return -1;
    unsigned first = high == most && low == rest ? ~(unsigned)leaf : 0;
    return (int)~warp_max(first);
}

constexpr int SOME = 4;  // gains that a lane reads at once

struct Played {
    int leaves, met, certain;  // splits before the first leaf that is met
};

// One warp: lane l has the leaves l, l + 32, ...
__device__ Played play_through(const Grow& grow, const Play& play) {
    Played played = {1, 0, -1};
    if (lane() == 0) {
        play.gain[0] = play.gains[0];
        play.node[0] = 0;
    }
    __syncwarp();
    double best = lane() == 0 ? play.gain[0] : 0.0;
    int at = lane();
    while (played.leaves < grow.most) {
        int leaf = find_best(best, at), next = played.leaves;
        if (leaf < 0) break;
        int node = play.node[leaf], child = play.children[node];
        if (!child && played.certain < 0) played.certain = next - 1;
        __syncwarp();  // all lanes have read what lane 0 writes
        if (lane() == 0) {
            Whole* own = grow.result + RESULT * next;
            own[COLUMN] = node;  // its split is written when the tree is done
            own[LEAF] = leaf;
            if (!child) play.met[played.met] = node;
            play.gain[leaf] = child ? play.gains[child] : 0.0;
            play.node[leaf] = child;
            play.gain[next] = child ? play.gains[child + 1] : 0.0;
            play.node[next] = child + 1;
        }
        played.met += !child;
        ++played.leaves;
        __syncwarp();
        if (lane() == leaf % WARP || lane() == next % WARP) {
            best = 0.0;
            for (int first = lane(); first < played.leaves; first += SOME * WARP) {
                double own[SOME];
#pragma unroll
                for (int s = 0; s < SOME; ++s) {
                    int l = first + s * WARP;
                    own[s] = l < played.leaves ? play.gain[l] : 0.0;
                }
#pragma unroll
                for (int s = 0; s < SOME; ++s) {
                    if (own[s] > best) at = first + s * WARP;
                    best = fmax(own[s], best);
                }
            }
        }
    }
    return played;
}

// All threads: leaves that could still be in the tree, in any order; their number, or that of the
// leaves of a tree if there are more, as ties may make them. A warp looks at a leaf. Those that were
// looked at before are split, or never will be, unless there was no room for all.
__device__ int find_met(const Grow& grow, const Play& play, int* found) {
    const State& state = *grow.state;
    int nodes = state.nodes, most = (int)grow.most;
    int first = state.is_short ? 0 : max(nodes - 2 * state.pairs, 0);
    if (threadIdx.x == 0) *found = 0;
    __syncthreads();
    for (int n = first + warp(); n < nodes; n += warps()) {
        double own = play.bounds[n];
        if (play.children[n] || !(own > 0.0)) continue;
        int before = 0;
        for (int u = lane(); u < nodes; u += WARP) before += play.bounds[u] > own;
        if (warp_sum(before) >= most - 1 || lane()) continue;
        int at = atomicAdd(found, 1);
        if (at < most) play.met[at] = n;
    }
    __syncthreads();
    return min(*found, most);
}

// Histograms are kept for the leaves that are met; the smaller child of each gets a free slot.
__device__ void take_slots(const Grow& grow, const Play& play, int met, int count) {
    for (int s = threadIdx.x; s < grow.slots_at_most; s += blockDim.x) play.is_used[s] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < met; j += blockDim.x) play.is_used[grow.nodes[play.met[j]].slot] = 1;
    __syncthreads();
    if (warp() == 0) {
        for (int s = lane(), found = 0; found < count; s += WARP) {
            bool is_free = s < grow.slots_at_most && !play.is_used[s];
            unsigned free = __ballot_sync(~0u, is_free);
            int own = found + __popc(free & ((1u << lane()) - 1));
            if (is_free && own < count) grow.pairs[own].slot = s;
            found += __popc(free);
        }
    }
}

__device__ void make_pairs(const Grow& grow, const Play& play, int count) {
    int first = grow.state->nodes;
    for (int j = threadIdx.x; j < count; j += blockDim.x) {
        int number = play.met[j], child = first + 2 * j;
        Node& node = grow.nodes[number];
        grow.pairs[j].parent = number;
        grow.pairs[j].child = child;
        grow.child[number] = child;
        node.lefts = node.rights = 0;
        play.parts[j] = pieces(node.end - node.begin, PART_ROWS);
        for (int side = 0; side < 2; ++side) {
            Node own = {};
            own.depth = node.depth + 1;
            own.parent = number;
            own.leaf = -1;
            own.force = side ? node.force - node.left_force : node.left_force;
            own.second = side ? node.second - node.left_second : node.left_second;
            grow.nodes[child + side] = own;
            grow.child[child + side] = 0;
        }
    }
}

// The first item of each pair instead of how many there are, the number of all behind them, and all
// items.
__device__ void make_items(const Grow& grow, const Play& play, int count) {
    if (warp() == 0) {
        int all = 0;
        for (int j = lane(); j - lane() < count; j += WARP) {
            int own = j < count ? play.parts[j] : 0, until = warp_prefix(own);
            if (j < count) play.parts[j] = all + until - own;
            all += __shfl_sync(~0u, until, WARP - 1);
        }
        if (lane() == 0) play.parts[count] = grow.state->parts = all;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < play.parts[count]; t += blockDim.x) {
        int low = 0, high = count;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (play.parts[middle] <= t) low = middle;
            else high = middle;
        }
        grow.parts[t] = Item{low, (t - play.parts[low]) * PART_ROWS};
    }
}

// Numbers of leaves, where rows go, and what the processor is told of nodes and leaves.
__device__ void tell_tree(const Grow& grow, const Play& play, int leaves) {
    State& state = *grow.state;
    for (int l = threadIdx.x; l < leaves; l += blockDim.x) {
        Node& node = grow.nodes[play.node[l]];
        node.leaf = l;
        Whole* own = grow.result + RESULT * (grow.most + l);
        own[FORCE] = node.force;
        own[HESSIAN] = node.second;
        own[COUNT] = node.end - node.begin;
    }
    for (int i = 1 + threadIdx.x; i < leaves; i += blockDim.x) {
        Whole* own = grow.result + RESULT * i;
        int number = (int)own[COLUMN];
        const Node& node = grow.nodes[number];
        own[COLUMN] = node.column;
        own[BIN] = node.bin;
        own[NAN_LEFT] = node.nan_left;
        own[GAIN] = __double_as_longlong(grow.gain[number]);
        own[FORCE] = node.force;
        own[HESSIAN] = node.second;
        own[COUNT] = node.end - node.begin;
        for (int w = 0; WITH_CODES && w < SET; ++w) {
            own[COUNT + 1 + w] = (Whole)set_at(grow, number, node.column / GROUP)[w];
        }
    }
    if (threadIdx.x == 0) state.parts = 0;
    __syncthreads();
    for (int n = threadIdx.x; n < state.nodes; n += blockDim.x) {
        Node& node = grow.nodes[n];
        int bin = WITH_CODES && node.bin == CODED ? CODED : node.bin | node.nan_left << 16;
        grow.steps[n] = Step{node.column, bin, play.children[n], node.leaf};
        if (play.children[n]) continue;
        // Every row is in one node without children.
        int up = n;
        while (grow.nodes[up].leaf < 0) up = grow.nodes[up].parent;
        node.home = grow.nodes[up].leaf;
        int own = pieces(node.end - node.begin, PART_ROWS), first = atomicAdd(&state.parts, own);
        for (int i = 0; i < own; ++i) grow.parts[first + i] = Item{n, i * PART_ROWS};
    }
    __syncthreads();
}

extern "C" {

// All rows in the root.
__global__ void __launch_bounds__(PLAN_THREADS) begin_tree(Grow grow, Leaves leaves) {
    State& state = *grow.state;
    for (int i = threadIdx.x; i < 2 * grow.most; i += blockDim.x) leaves.sums[i] = 0;
    for (int i = threadIdx.x; i < RESULT; i += blockDim.x) grow.result[i] = 0;
    if (threadIdx.x == 0) {
        state = State{};
        state.nodes = state.pairs = 1;
        Node root = {};
        root.end = (int)grow.count;
        root.parent = root.leaf = -1;
        grow.nodes[0] = root;
        grow.child[0] = 0;
        grow.pairs[0] = Pair{-1, 0, 0};
        grow.largest[0] = grow.largest[1] = 0;
    }
}

__global__ void __launch_bounds__(PLAN_THREADS) plan_round(Grow grow) {
    State& state = *grow.state;
    if (state.done) return;
    Play play = lay_out(grow);
    Played* played = (Played*)play.parts;  // until items are numbered
    bring_near(grow, play);
    __syncthreads();
    take_splits(grow, play);
    __syncthreads();
    int room = (int)((grow.nodes_at_most - 1) / 2) - state.expanded, slots = (int)grow.slots_at_most;
    Played found = {1, find_met(grow, play, (int*)played), 0};
    int count = found.met;
    __syncthreads();
    // With nothing to split, or no room for all, one leaf after the other.
    if (!count || count == grow.most || 2 * count > slots || count > room - (int)grow.most) {
        if (warp() == 0) {
            Played last = play_through(grow, play);
            if (lane() == 0) *played = last;
        }
        __syncthreads();
        found = *played;
        __syncthreads();
        // Splits that are certain to stay must always have room: no others are made without it.
        int spare = max(room - (int)(grow.most - 1 - max(found.certain, 0)), 1);
        count = min(found.met, min(spare, slots - found.met));
    }
    if (found.met) {
        take_slots(grow, play, found.met, count);
        make_pairs(grow, play, count);
        __syncthreads();
        make_items(grow, play, count);
    } else {
        tell_tree(grow, play, found.leaves);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        ++state.rounds;
        state.pairs = count;
        state.is_short = count < found.met;
        state.nodes += 2 * count;
        state.expanded += count;
        state.done = !found.met;
        state.leaves = found.leaves;
        Whole* head = grow.result;
        head[DONE] = state.done;
        head[LEAVES] = state.leaves;
        head[ROUNDS] = state.rounds;
        head[LARGEST] = grow.largest[0];
        head[LARGEST_HESSIAN] = grow.largest[1];
    }
}

// One Newton step of each leaf, as `leaf_steps` of training/forces.py, times the rate; 0 for all
// while the tree is not done, and if nothing was split.
__global__ void __launch_bounds__(PLAN_THREADS) set_values(Grow grow, Leaves leaves) {
    const State& state = *grow.state;
    for (int l = threadIdx.x; l < grow.most; l += blockDim.x) {
        double value = 0.0;
        if (state.done && state.leaves > 1 && l < state.leaves) {
            double force = scalbn((double)(Whole)leaves.sums[l],
                                  -shift_of(leaves.largest[0], leaves.bits));
            double second = scalbn((double)(Whole)leaves.sums[grow.most + l],
                                   -shift_of(leaves.largest[1], leaves.bits));
            if (leaves.shared) second = fmax(__dadd_rn(second, -leaves.shared[l]), 0.0);
            double size = fmax(__dadd_rn(fabs(force), -grow.l1), 0.0);
            double below = __dadd_rn(second, grow.l2);
            double step = below > TINY ? __ddiv_rn(force < 0.0 ? -size : size, below) : 0.0;
            value = __dmul_rn(leaves.rate, step);
        }
        leaves.values[l] = value;
    }
}

}
