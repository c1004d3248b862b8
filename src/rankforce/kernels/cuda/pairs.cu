// Forces of pairs. A thread owns a document, or a warp does, and meets the others in label order:
// those with higher labels, then those with lower ones. Every pair is met twice, once from each
// side, so that no sum is shared. In float32, unless scores are so far apart that e^score is not.

constexpr double NEAR = 40.0;  // spread of scores (times sigma, plus twice |center|) that float32 holds
constexpr int UNROLL = UNROLLED;
constexpr int TILE = 1024;     // terms that a sum in float32 takes at a time

template <typename Real>
struct Law {
    Real sigma, center, constant;
    Real near, far;  // the norm divides the weight by near + far * |x|
};

template <typename Real>
struct Own {
    Document<Real> doc;
    int p, rank;
};

// Of one document: forces where it is hi and where it is lo, and second derivatives.
template <typename Real>
struct Sums {
    Real up, down, hess;
};

// A value of the rank distance, or the bracket of swaps.py.
template <bool IS_HI, typename Real>
__device__ inline Real extra_of(const Own<Real>& own, int j, const Room<Real>& room) {
    int rank = room.rank[j];
    if (KIND == BY_DISTANCE) {
        Real far = room.distance[abs(own.rank - rank)];
        return CORRECTED ? far * room.correction[max(own.rank, rank)] : far;
    }
    int stride = room.stride;
    const Real* hi = room.side + (IS_HI ? own.p : j);
    const Real* lo = room.side + (IS_HI ? j : own.p);
    bool is_above = IS_HI ? own.rank < rank : rank < own.rank;
    return is_above ? hi[0] * fabs(hi[stride] - lo[2 * stride])
                    : lo[3 * stride] * fabs(hi[4 * stride] - lo[5 * stride]);
}

template <bool IS_HI, typename Real>
__device__ inline Real weight_of(
    const Own<Real>& own, const Document<Real>& other, int j, const Room<Real>& room,
    const Law<Real>& law
) {
    const Document<Real>& hi = IS_HI ? own.doc : other;
    const Document<Real>& lo = IS_HI ? other : own.doc;
    Real ranks = POSITIONED ? fabs(LO_RANK ? hi.g - lo.g : hi.g) : 0;
    if (KIND != BY_RANK) ranks += extra_of<IS_HI>(own, j, room);
    if (CONSTANT) ranks += law.constant;
    return (LO_LABEL ? hi.u - lo.u : hi.u) * ranks;
}

// What a pair costs: log(1 + e^-z), or 1 / (1 + e^z).
template <typename Real>
__device__ inline Real cost_of(Real z) {
    Real y = exp(-fabs(z));
    if (SIGMOID) return (z > 0 ? y : 1) / (1 + y);
    return max(-z, (Real)0) + log1p(y);
}

// One pair seen from `own`. In float32 with p = e_lo / (e_hi + e_lo): one division, and the factor
// e of `own` is left to the end.
template <bool IS_HI, typename Real>
__device__ inline void meet(
    const Own<Real>& own, int j, const Room<Real>& room, const Law<Real>& law, Real mine, Real& push,
    Real& hess
) {
    Document<Real> other = room.docs[j];
    Real weight = weight_of<IS_HI>(own, other, j, room, law);
    Real x = IS_HI ? own.doc.score - other.score : other.score - own.doc.score;
    if (COST) {
        push += weight * cost_of(law.sigma * x + law.center);
        return;
    }
    Real apart = APART ? law.near + law.far * fabs(x) : 1;
    if (sizeof(Real) == 8) {
        Real z = law.sigma * x + law.center;
        Real y = exp(-fabs(z));
        Real inverse = 1 / ((1 + y) * apart);
        Real second = weight * inverse * y * (inverse * apart);
        hess += second;
        push += SIGMOID ? second : weight * inverse * (z > 0 ? y : 1);
    } else {
        Real inverse = 1 / (APART ? (mine + other.e) * apart : mine + other.e);
        Real base = weight * inverse;
        Real there = base * other.e;
        Real second = there * (APART ? inverse * apart : inverse);
        hess += second;
        push += SIGMOID ? second : IS_HI ? there : base;
    }
}

// e of `own`, shifted by the center of the cost.
template <bool IS_HI, typename Real>
__device__ inline Real mine_of(const Own<Real>& own, const Law<Real>& law) {
    if (sizeof(Real) == 8 || COST) return 1;
    return CENTERED ? own.doc.e * exp(IS_HI ? law.center : -law.center) : own.doc.e;
}

template <bool IS_HI, typename Real>
__device__ inline void add(Sums<Real>& sums, Real push, Real hess, Real mine) {
    (IS_HI ? sums.up : sums.down) += !IS_HI || SIGMOID ? push * mine : push;
    sums.hess += hess * mine;
}

// Pairs with the documents begin..end-1, every `step`-th of them from number `from` on. From the
// outside in: threads with different labels look at the same document, as long as both do.
template <bool IS_HI, typename Real>
__device__ inline void meet_run(
    const Own<Real>& own, int begin, int end, int from, int step, const Room<Real>& room,
    const Law<Real>& law, Sums<Real>& sums
) {
    Real mine = mine_of<IS_HI>(own, law);
    int count = end - begin;
    for (int start = from; start < count; start += TILE * step) {
        Real push = 0, hess = 0;
        int stop = min(count, start + TILE * step);
#pragma unroll UNROLL
        for (int k = start; k < stop; k += step) {
            meet<IS_HI>(own, IS_HI ? end - 1 - k : begin + k, room, law, mine, push, hess);
        }
        add<IS_HI>(sums, push, hess, mine);
    }
}

template <typename Real>
__device__ inline void meet_all(
    const Own<Real>& own, const Reach& reach, int from, int step, const Room<Real>& room,
    const Law<Real>& law, Sums<Real>& sums
) {
    if (!COST) meet_run<false>(own, reach.first, reach.above, from, step, room, law, sums);
    meet_run<true>(own, reach.below, reach.stop, from, step, room, law, sums);
}

// Pairs with the members alone.
template <typename Real>
__device__ void meet_members(
    const Own<Real>& own, const Reach& reach, int members, int from, int step,
    const Room<Real>& room, const Law<Real>& law, Sums<Real>& sums
) {
    Real as_hi = mine_of<true>(own, law), as_lo = mine_of<false>(own, law);
    for (int m = from; m < members; m += step) {
        int j = room.member[m];
        Real push = 0, hess = 0;
        if (j >= reach.below && j < reach.stop) {
            meet<true>(own, j, room, law, as_hi, push, hess);
            add<true>(sums, push, hess, as_hi);
        } else if (!COST && j >= reach.first && j < reach.above) {
            meet<false>(own, j, room, law, as_lo, push, hess);
            add<false>(sums, push, hess, as_lo);
        }
    }
}

template <typename Real>
__device__ inline Own<Real> own_of(int p, const Room<Real>& room) {
    Own<Real> own;
    own.doc = room.docs[p];
    own.p = p;
    own.rank = NEEDS_RANK ? room.rank[p] : 0;
    return own;
}

// A warp owns 32 documents and a slice of those they meet: as many slices as keep all warps busy.
// Returns what this thread adds to the sum of magnitudes.
template <typename Real>
__device__ double push_documents(
    const Query& query, int members, int slices, const Room<Real>& room, const Law<Real>& law
) {
    double total = 0.0;
    int chunks = (query.n + WARP - 1) / WARP;
    for (int unit = warp(); unit < chunks * slices; unit += warps()) {
        int chunk = unit / slices, slice = unit % slices;
        int p = chunk * WARP + lane();
        if (p >= query.n) continue;
        Own<Real> own = own_of(p, room);
        Reach reach = reach_of(query, p);
        Sums<Real> sums = {0, 0, 0};
        if (members == query.n) meet_all(own, reach, slice, slices, room, law, sums);
        else if (!room.inside[p])
            meet_members(own, reach, members, slice, slices, room, law, sums);
        total += sums.up;
        room.lam[slice * chunks * WARP + p] = sums.up - sums.down;
        room.hess[slice * chunks * WARP + p] = sums.hess;
    }
    return total;
}

// A member meets everybody, and a whole warp owns it.
template <typename Real>
__device__ double push_members(
    const Query& query, int members, const Room<Real>& room, const Law<Real>& law
) {
    double total = 0.0;
    for (int m = warp(); m < members; m += warps()) {
        Own<Real> own = own_of(room.member[m], room);
        Sums<Real> sums = {0, 0, 0};
        meet_all(own, reach_of(query, own.p), lane(), WARP, room, law, sums);
        Real lam = warp_sum(sums.up - sums.down), hess = warp_sum(sums.hess);
        total += sums.up;
        if (lane() == 0) {
            room.lam[own.p] = lam;
            room.hess[own.p] = hess;
        }
    }
    return total;
}

__device__ void write_same(const Call& call, const Job& job, int n, float value) {
    if (COST) {
        if (threadIdx.x == 0) call.costs[job.slot] = value;
        return;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        Whole row = row_at(call, job, i);
        call.lam[row] = value;
        call.hess[row] = value;
    }
}

// Norm and scale, and the forces to their rows.
template <typename Real>
__device__ void write_out(
    const Bound& bound, const Call& call, const Job& job, const Query& query, double total,
    int slices, Room<Real>& room
) {
    int n = query.n, chunk_end = (n + WARP - 1) / WARP * WARP;
    auto sum_of = [&](const Real* parts, int p) {
        Real sum = parts[p];
        for (int slice = 1; slice < slices; ++slice) sum += parts[slice * chunk_end + p];
        return sum;
    };
    double factor = bound.sigma * query.scale, factor_hess = factor * bound.sigma;
    if (call.norm == LIGHTGBM_NORM) {
        double less = shrink(2.0 * factor * total);
        factor *= less;
        factor_hess *= less;
    } else if (call.norm == STD_NORM) {
        auto force = [&](int p) { return sum_of(room.lam, p); };
        factor = spread_factor(n, force, room.slots);
        if (factor == 0.0) factor_hess = 0.0;
    }
    bool is_step = (call.norm == STD_NORM || SIGMOID) && factor > 0.0 && total > 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int p = bound.position[query.first + i];
        Whole row = row_at(call, job, i);
        call.lam[row] = (float)(factor * sum_of(room.lam, p));
        call.hess[row] = is_step ? 1.0f : (float)(factor_hess * sum_of(room.hess, p));
    }
}

template <typename Real>
__device__ void push_query(const Bound& bound, const Call& call, int number, unsigned char* piece) {
    Job job = call.jobs[number];
    Query query = query_of(bound, job.query);
    if (query.n == 0) return write_same(call, job, 0, 0.0f);
    Room<Real> room = carve<Real>(piece, (int)call.room);
    load_scores(call, job, query, room);
    double spread = query.high - query.low;
    if (!(spread <= 2.0 * LARGEST)) return write_same(call, job, query.n, no_number());
    if (query.classes < 2 || query.scale == 0.0) return write_same(call, job, query.n, 0.0f);
    double reach = fmax(spread, bound.sigma * spread + 2.0 * fabs(bound.center));
    if (sizeof(Real) == 4 && !COST && reach > NEAR) {
        if (threadIdx.x == 0) call.far[1 + atomicAdd(call.far, 1)] = number;
        return;
    }
    load_documents(bound, query, room);
    if (KIND == BY_SWAP) fill_sides(bound, query, room);
    Law<Real> law = {(Real)bound.sigma, (Real)bound.center, (Real)bound.constant, 1, 0};
    if (APART && spread > 0.0) {
        law.near = (Real)0.01;
        law.far = 1;
    }
    int members = mark_pair_set(bound, call, job, query, room);
    int slices = max(warps() / ((query.n + WARP - 1) / WARP), 1);
    double total = push_documents(query, members, slices, room, law);
    if (members < query.n) {
        __syncthreads();
        total += push_members(query, members, room, law);
    }
    __syncthreads();
    if (COST || SIGMOID || call.norm != NO_NORM || call.totals) {
        total = block_sum(total, room.slots + 2 * SLOTS);
    }
    if (COST) return write_same(call, job, 1, (float)(query.scale * total));
    if (call.totals && threadIdx.x == 0) {
        call.totals[job.slot] = 2.0 * bound.sigma * query.scale * total;
    }
    write_out(bound, call, job, query, total, slices, room);
}

extern "C" {

// Lists that fit shared memory several times: one block each.
__global__ void __launch_bounds__(SHORT_THREADS, SHORT_BLOCKS) push_short(Bound bound, Call call) {
    push_query<float>(bound, call, (int)call.first + blockIdx.x, memory);
}

// Longer lists, in the shared memory of a whole multiprocessor or else in device memory.
__global__ void __launch_bounds__(LONG_THREADS, 1) push_long(Bound bound, Call call) {
    unsigned char* piece = call.scratch ? call.scratch + blockIdx.x * call.piece : memory;
    for (int b = blockIdx.x; b < call.count; b += gridDim.x) {
        push_query<float>(bound, call, (int)call.first + b, piece);
        __syncthreads();
    }
}

// Lists whose scores are far apart, in float64.
__global__ void __launch_bounds__(SHORT_THREADS) push_far(Bound bound, Call call) {
    unsigned char* piece = call.scratch + blockIdx.x * call.piece;
    for (int k = blockIdx.x; k < call.far[0]; k += gridDim.x) {
        push_query<double>(bound, call, call.far[1 + k], piece);
        __syncthreads();
    }
}

}
