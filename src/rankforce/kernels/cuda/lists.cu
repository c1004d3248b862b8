// Forces where no pair pushes: the cross entropy of NDCG of whole lists, and least squares; and the
// norm of a sum of forces. In float64: there is no more to do than a few steps for each document.
//
// Cost of a list of n documents: n exponentials, n hashes and 4 n divisions of cross entropy, of
// the others a few additions; hessians within leaves take n^2 compares of leaves.

// Rows of `room` numbers each.
struct Lists {
    double *slots, *rho, *quota, *target, *term;
    double of_best, rest;  // log-odds and share of all but the best document
    int best;
};

__device__ Lists carve_lists(unsigned char* piece, int room) {
    Lists all;
    all.slots = (double*)piece;
    all.rho = all.slots + 8 * SLOTS;
    all.quota = all.rho + room;
    all.target = all.quota + room;
    all.term = all.target + room;
    return all;
}

// Softmax of the scores, which stand in row `term`, and that of all but the best document: as
// `fill_softmax` of listwise.py. False if a score is not finite.
__device__ bool fill_softmax(const Call& call, const Job& job, int n, Lists& all) {
    double high = -endless(), bad = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double score = call.scores[row_at(call, job, i)];
        all.term[i] = score;
        high = fmax(high, score);
        if (!(fabs(score) <= LARGEST)) bad = 1.0;
    }
    bad = block_max(bad, all.slots);
    if (bad > 0.0) return false;
    high = block_max(high, all.slots + SLOTS);
    double first = -(double)n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (all.term[i] == high) first = fmax(first, -(double)i);
    }
    all.best = (int)-block_max(first, all.slots + 2 * SLOTS);
    double second = -endless();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (i != all.best) second = fmax(second, all.term[i]);
    }
    second = block_max(second, all.slots + 3 * SLOTS);
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        all.quota[i] = i == all.best ? 0.0 : exp(all.term[i] - second);
        sum += all.quota[i];
    }
    sum = block_sum(sum, all.slots + 4 * SLOTS);
    double odds = sum * exp(second - high);
    all.rest = odds / (1.0 + odds);
    all.of_best = log1p(odds);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        all.quota[i] /= sum;
        all.rho[i] = i == all.best ? 1.0 / (1.0 + odds) : all.quota[i] * all.rest;
    }
    return true;
}

// Proportional to 2^y - gamma, gamma drawn by the row's number in its query.
__device__ void fill_targets(
    const Bound& bound, const Call& call, const Job& job, int n, Lists& all
) {
    Whole first = bound.pointer[job.query];
    Bits key = draw_key(call.seed, call.iteration, bound.key[job.query]);
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        all.target[i] = bound.u[first + i] + (1.0 - draw(key, bound.number[first + i]));
        sum += all.target[i];
    }
    sum = block_sum(sum, all.slots + 5 * SLOTS);
    for (int i = threadIdx.x; i < n; i += blockDim.x) all.target[i] /= sum;
}

// From the terms of one order to those of the next, added to the forces, which are row `target`.
__device__ void add_order(int n, double* slots, Lists& all) {
    __syncthreads();
    double of_best = all.term[all.best];
    __syncthreads();
    double others = 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        all.term[i] = i == all.best ? 0.0 : all.term[i] / (1.0 - all.rho[i]);
        others += all.term[i];
    }
    others = block_sum(others, slots);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double rest = others - all.term[i];
        all.term[i] = all.rho[i] * rest + (i == all.best ? 0.0 : all.quota[i] * of_best);
        all.target[i] += all.term[i];
    }
}

__device__ void write_list(const Call& call, const Job& job, int n, float lam, float hess) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        call.lam[row_at(call, job, i)] = lam;
        call.hess[row_at(call, job, i)] = hess;
    }
}

__device__ void push_list(const Bound& bound, const Call& call, const Job& job, Lists& all) {
    int n = (int)(bound.pointer[job.query + 1] - bound.pointer[job.query]);
    if (n < 2) {
        float value = n && !(fabsf(call.scores[row_at(call, job, 0)]) <= LARGEST) ? no_number() : 0;
        return write_list(call, job, n, value, value);
    }
    if (!fill_softmax(call, job, n, all)) {
        return write_list(call, job, n, no_number(), no_number());
    }
    fill_targets(bound, call, job, n, all);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        all.target[i] -= all.rho[i];
        all.term[i] = all.target[i];
    }
    add_order(n, all.slots + 6 * SLOTS, all);
    add_order(n, all.slots + 7 * SLOTS, all);
    double factor = 1.0;
    if (call.norm == STD_NORM) {
        factor = spread_factor(n, [&](int i) { return all.target[i]; }, all.slots);
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        Whole row = row_at(call, job, i);
        double hess = all.rho[i] * (i == all.best ? all.rest : 1.0 - all.rho[i]);
        call.lam[row] = (float)(factor * all.target[i]);
        call.hess[row] = (float)(call.norm == STD_NORM ? (double)(factor > 0.0) : hess);
    }
}

// Cross entropy of the targets against the softmax.
__device__ void cost_list(const Bound& bound, const Call& call, const Job& job, Lists& all) {
    int n = (int)(bound.pointer[job.query + 1] - bound.pointer[job.query]);
    double sum = 0.0;
    if (n > 1 && !fill_softmax(call, job, n, all)) sum = no_number();
    else if (n > 1) {
        fill_targets(bound, call, job, n, all);
        double high = all.term[all.best];
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            sum += all.target[i] * (high - all.term[i] + all.of_best);
        }
    }
    sum = block_sum(sum, all.slots + 6 * SLOTS);
    if (threadIdx.x == 0) call.costs[job.slot] = (float)sum;
}

// rho_i * rho_j of the documents that share a leaf, by document: as `share_lists` of listwise.py.
__device__ void share_list(const Bound& bound, const Call& call, const Job& job, Lists& all) {
    int n = (int)(bound.pointer[job.query + 1] - bound.pointer[job.query]);
    double none = n < 2 || fill_softmax(call, job, n, all) ? 0.0 : no_number();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        all.term[i] = call.leaf[row_at(call, job, i)];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double others = none;
        for (int j = 0; j < n; ++j) {
            if (j != i && all.term[j] == all.term[i]) others += all.rho[j];
        }
        call.hess[row_at(call, job, i)] = (float)(others > 0.0 ? all.rho[i] * others : none);
    }
}

extern "C" {

__global__ void __launch_bounds__(LIST_THREADS) push_lists(Bound bound, Call call) {
    unsigned char* piece = call.scratch ? call.scratch + blockIdx.x * call.piece : memory;
    Lists all = carve_lists(piece, (int)call.room);
    for (int b = blockIdx.x; b < call.count; b += gridDim.x) {
        if (call.costs) cost_list(bound, call, call.jobs[call.first + b], all);
        else push_list(bound, call, call.jobs[call.first + b], all);
        __syncthreads();
    }
}

__global__ void __launch_bounds__(LIST_THREADS) share_lists(Bound bound, Call call) {
    unsigned char* piece = call.scratch ? call.scratch + blockIdx.x * call.piece : memory;
    Lists all = carve_lists(piece, (int)call.room);
    for (int b = blockIdx.x; b < call.count; b += gridDim.x) {
        share_list(bound, call, call.jobs[call.first + b], all);
        __syncthreads();
    }
}

// Forces are label - score, second derivatives 1; a document costs half the square.
__global__ void __launch_bounds__(LIST_THREADS) push_points(Bound bound, Call call) {
    Job job = call.jobs[blockIdx.x];
    Whole first = bound.pointer[job.query];
    int n = (int)(bound.pointer[job.query + 1] - first);
    double* slots = (double*)memory;
    auto force = [&](int i) {
        double score = call.scores[row_at(call, job, i)];
        return fabs(score) <= LARGEST ? bound.u[first + i] - score : no_number();
    };
    if (call.costs) {
        double sum = 0.0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) sum += 0.5 * force(i) * force(i);
        sum = block_sum(sum, slots);
        if (threadIdx.x == 0) call.costs[job.slot] = (float)sum;
        return;
    }
    double factor = call.norm == STD_NORM ? spread_factor(n, force, slots) : 1.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        Whole row = row_at(call, job, i);
        call.lam[row] = (float)(factor * force(i));
        call.hess[row] = factor > 0.0;
    }
}

// Gives sums of forces the norm that one objective has: as `norm_sums` of forces.py.
__global__ void __launch_bounds__(LIST_THREADS) norm_sums(Bound bound, Call call) {
    Job job = call.jobs[blockIdx.x];
    int n = (int)(bound.pointer[job.query + 1] - bound.pointer[job.query]);
    auto force = [&](int i) { return call.lam[row_at(call, job, i)]; };
    double inverse = spread_factor(n, force, (double*)memory);
    double total = call.totals[job.slot];
    double factor = total > 0.0 || inverse > 0.0 ? 1.0 : 0.0;
    if (call.norm == LIGHTGBM_NORM) factor *= shrink(total);
    if (call.norm == STD_NORM) factor = inverse;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        Whole row = row_at(call, job, i);
        call.lam[row] *= (float)factor;
        call.hess[row] = call.is_step ? (float)(factor > 0.0) : call.hess[row] * (float)factor;
    }
}

}
