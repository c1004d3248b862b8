// Rows of a tree that grows: forces in few bits, their order by leaves, sums over leaves, scores.
//
// Cost of a row: in pack_rows a hash and 24 bytes, in end_tree 20 bytes, 12 of them at random;
// in walk_bins a sector for each step down. What part_rows takes stands in growing.cu.

constexpr int PART_ROWS = PART_THREADS * PART_EACH;  // of a block at a time
constexpr double UNIT = 1.0 / 4294967296.0;

// A number in steps, up or down by chance: as `throw_dice` of kernels/trees.py.
__device__ inline int throw_dice(float value, double inverse, unsigned draw) {
    double up = __dmul_rn((double)draw, UNIT);
    int size = (int)floor(__dadd_rn(__dmul_rn(widened(magnitude(value)), inverse), up));
    return value > 0.0f ? size : -size;
}

extern "C" {

// Forces of all rows as small integers, the first order, and the sums over the root.
__global__ void __launch_bounds__(ROW_THREADS) pack_rows(Grow grow) {
    if (blockIdx.x == 0) clear_slot(grow, 0);
    double step = step_of(grow), step_hess = step_hess_of(grow);
    double inverse = step > 0.0 ? 1.0 / step : 0.0;
    double inverse_hess = step_hess > 0.0 ? 1.0 / step_hess : 0.0;
    Whole force = 0, second = 0, stride = (Whole)blockDim.x * gridDim.x;
    for (Whole i = (Whole)blockIdx.x * blockDim.x + threadIdx.x; i < grow.count; i += stride) {
        int row = grow.bag ? grow.bag[i] : (int)i;
        Bits draw = splitmix64(grow.key ^ grow.keys[row]);
        int own = throw_dice(grow.lam[row], inverse, (unsigned)(draw >> 32));
        int other = throw_dice(grow.hess[row], inverse_hess, (unsigned)draw);
        grow.order[i] = Entry{row, own * 65536 + other};
        force += own;
        second += other;
    }
    force = warp_sum(force);
    second = warp_sum(second);
    if (lane() == 0) {
        atomicAdd((Bits*)&grow.nodes[0].force, (Bits)force);
        atomicAdd((Bits*)&grow.nodes[0].second, (Bits)second);
    }
}

// Rows of every leaf that is split: those that go left to the front of its place in the other order,
// the others to the back. A warp has rows one behind the other, which stay near each other.
__global__ void __launch_bounds__(PART_THREADS) part_rows(Grow grow) {
    const State& state = *grow.state;
    if (state.done) return;
    for (int p = blockIdx.x; p < state.pairs; p += gridDim.x) clear_slot(grow, grow.pairs[p].slot);
    int* before = (int*)memory;  // lefts of each warp, then their rights, then where both begin
    for (int t = blockIdx.x; t < state.parts; t += gridDim.x) {
        Item item = grow.parts[t];
        int number = grow.pairs[item.of].parent;
        Node& node = grow.nodes[number];
        const Entry* from = order_at(grow, node.depth);
        Entry* into = order_at(grow, node.depth + 1);
        int begin = node.begin, end = node.end, column = node.column, many = grow.many[column];
        int first = begin + item.first + warp() * WARP * PART_EACH + lane();
        Entry own[PART_EACH];
        unsigned left[PART_EACH], right[PART_EACH];
        int lefts = 0, rights = 0;
#pragma unroll
        for (int j = 0; j < PART_EACH; ++j) {
            int i = first + j * WARP;
            own[j] = i < end ? from[i] : Entry{-1, 0};
        }
#pragma unroll
        for (int j = 0; j < PART_EACH; ++j) {
            int b = own[j].row < 0 ? 0 : bins_of(grow, own[j].row)[column];
            bool goes = goes_left(grow, number, column, b, many, node.bin, node.nan_left);
            left[j] = __ballot_sync(~0u, own[j].row >= 0 && goes);
            right[j] = __ballot_sync(~0u, own[j].row >= 0 && !goes);
            lefts += __popc(left[j]);
            rights += __popc(right[j]);
        }
        if (lane() == 0) {
            before[warp()] = lefts;
            before[warps() + warp()] = rights;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int all = 0, rest = 0;
            for (int w = 0; w < warps(); ++w) {
                all += before[w];
                rest += before[warps() + w];
            }
            before[2 * warps()] = atomicAdd(&node.lefts, all);
            before[2 * warps() + 1] = atomicAdd(&node.rights, rest);
        }
        __syncthreads();
        int at = begin + before[2 * warps()], back = end - 1 - before[2 * warps() + 1];
        for (int w = 0; w < warp(); ++w) {
            at += before[w];
            back -= before[warps() + w];
        }
        unsigned lower = (1u << lane()) - 1;
#pragma unroll
        for (int j = 0; j < PART_EACH; ++j) {
            if (left[j] >> lane() & 1) into[at + __popc(left[j] & lower)] = own[j];
            if (right[j] >> lane() & 1) into[back - __popc(right[j] & lower)] = own[j];
            at += __popc(left[j]);
            back -= __popc(right[j]);
        }
        __syncthreads();  // the next rows use the same memory
    }
}

// The leaf of every row of the bag, and what forces and hessians add up to over each leaf.
__global__ void __launch_bounds__(PART_THREADS) end_tree(Grow grow, Leaves leaves) {
    const State& state = *grow.state;
    if (!state.done) return;
    double force = scalbn(1.0, shift_of(leaves.largest[0], leaves.bits));
    double second = scalbn(1.0, shift_of(leaves.largest[1], leaves.bits));
    for (int t = blockIdx.x; t < state.parts; t += gridDim.x) {
        Item item = grow.parts[t];
        const Node& node = grow.nodes[item.of];
        const Entry* order = order_at(grow, node.depth);
        int first = node.begin + item.first, end = min(node.end, first + PART_ROWS);
        Whole sum = 0, sum_hess = 0;
        for (int i = first + threadIdx.x; i < end; i += blockDim.x) {
            int row = order[i].row;
            grow.leaf[row] = node.home;
            sum += (Whole)rint(leaves.lam[row] * force);
            sum_hess += (Whole)rint(leaves.hess[row] * second);
        }
        sum = warp_sum(sum);
        sum_hess = warp_sum(sum_hess);
        if (lane() == 0) {
            atomicAdd(leaves.sums + node.home, (Bits)sum);
            atomicAdd(leaves.sums + grow.most + node.home, (Bits)sum_hess);
        }
    }
}

// The leaf of rows of other features, or of some rows of these: by the steps of a tree that is done.
__global__ void __launch_bounds__(ROW_THREADS) walk_bins(Grow grow) {
    Whole stride = (Whole)blockDim.x * gridDim.x;
    bool is_done = grow.state->done;
    for (Whole i = (Whole)blockIdx.x * blockDim.x + threadIdx.x; i < grow.count; i += stride) {
        int row = grow.bag ? grow.bag[i] : (int)i, node = 0;
        Step step = grow.steps[0];
        while (is_done && step.leaf < 0) {
            int b = bins_of(grow, row)[step.column];
            bool is_coded = WITH_CODES && step.bin == CODED;
            int bin = is_coded ? CODED : step.bin & 65535, many = grow.many[step.column];
            bool goes = goes_left(grow, node, step.column, b, many, bin, step.bin >> 16);
            node = step.child + !goes;
            step = grow.steps[node];
        }
        grow.leaf[row] = is_done ? step.leaf : 0;
    }
}

}
