// Forces of pairs. A thread owns a document, or a warp does, and meets the others in label order:
// those with higher labels, then those with lower ones. Every pair is met twice, once from each
// side, so that no sum is shared. In float32, unless scores are so far apart that e^score is not.
// SHARED: of the second derivatives, only those of pairs within a leaf.
//
// Cost of a list of n documents: n^2 meetings without a pair set, less those of equal labels; with m
// members in one, 2 m n. A meeting is a division and 8 bytes of shared memory, 8 to 12 more by
// distances, 16 by swaps. Beside them ranking.cu; where members or swaps depend on the ranks before
// (sets.cu), one thread takes n steps. Of global memory a document is 12 bytes read and 8 written,
// and 8 more where rows are in any order.

constexpr double NEAR = 40.0;  // spread of scores (times sigma, plus twice |center|) that float32 holds
constexpr int UNROLL = UNROLLED;
constexpr int TILE = 1024;     // terms that a sum in float32 takes at a time
constexpr bool HAS_TOTAL = !SHARED || APART;  // a norm may ask for the sum of magnitudes

template <typename Real>
struct Law {
    Real sigma, center, constant;
    Real near, far;  // the norm divides the weight by near + far * |x|
};

template <typename Real>
struct Own {
    Document<Real> doc;
    Real score, u;
    int p, rank, label_class, leaf;
    int first, stop;  // of its tier
    Real as_hi, as_lo;  // its e, shifted by the center of the cost
};

// Of one document: forces where it is hi and where it is lo, and second derivatives.
template <typename Real>
struct Sums {
    Real up, down, hess;
};

// A value of the rank distance, or the bracket of swaps.py.
template <typename Real>
__device__ inline Real extra_of(bool is_hi, const Own<Real>& own, int j, const Room<Real>& room) {
    int rank = room.rank[j];
    if (KIND == BY_DISTANCE) {
        Real far = room.distance[abs(own.rank - rank)];
        return CORRECTED ? far * room.correction[max(own.rank, rank)] : far;
    }
    int stride = room.stride;
    const Real* hi = room.side + (is_hi ? own.p : j);
    const Real* lo = room.side + (is_hi ? j : own.p);
    bool is_above = is_hi ? own.rank < rank : rank < own.rank;
    return is_above ? hi[0] * fabs(hi[stride] - lo[2 * stride])
                    : lo[3 * stride] * fabs(hi[4 * stride] - lo[5 * stride]);
}

// The part of a weight that ranks decide.
template <typename Real>
__device__ inline Real bracket_of(
    bool is_hi, const Own<Real>& own, Real value, int j, const Room<Real>& room, const Law<Real>& law
) {
    Real ranks = POSITIONED ? fabs(LO_RANK ? own.doc.g - value : is_hi ? own.doc.g : value) : 0;
    if (KIND != BY_RANK) ranks += extra_of(is_hi, own, j, room);
    return CONSTANT ? ranks + law.constant : ranks;
}

// And the part that labels decide.
template <typename Real>
__device__ inline Real label_of(bool is_hi, const Own<Real>& own, Real u) {
    Real hi = is_hi ? own.u : u, lo = is_hi ? u : own.u;
    return LO_LABEL ? hi - lo : hi;
}

// What a pair costs: log(1 + e^-z), or 1 / (1 + e^z).
template <typename Real>
__device__ inline Real cost_of(Real z) {
    Real y = exp(-fabs(z));
    if (SIGMOID) return (z > 0 ? y : 1) / (1 + y);
    return max(-z, (Real)0) + log1p(y);
}

// One pair seen from `own`, but for its labels. In float32 with p = e_lo / (e_hi + e_lo): one
// division, and the factor e of `own` is left to the end.
template <typename Real>
__device__ inline void meet(
    bool is_hi, const Own<Real>& own, int j, const Room<Real>& room, const Law<Real>& law, Real& push,
    Real& hess
) {
    Document<Real> other = room.docs[j];
    Real mine = is_hi ? own.as_hi : own.as_lo;
    Real bracket = bracket_of(is_hi, own, other.g, j, room, law);
    bool is_counted = !SHARED || room.leaf[j] == own.leaf;
    Real x = 0, apart = 1;
    if (APART || COST || sizeof(Real) == 8) {
        x = is_hi ? own.score - room.score[j] : room.score[j] - own.score;
    }
    if (APART) apart = law.near + law.far * fabs(x);
    if (COST) {
        push += bracket * cost_of(law.sigma * x + law.center);
    } else if (sizeof(Real) == 8) {
        Real z = law.sigma * x + law.center;
        Real y = exp(-fabs(z));
        Real inverse = 1 / ((1 + y) * apart);
        Real second = bracket * inverse * y * (inverse * apart);
        hess += is_counted ? second : 0;
        push += SIGMOID ? second : bracket * inverse * (z > 0 ? y : 1);
    } else {
        Real inverse = 1 / (APART ? (mine + other.e) * apart : mine + other.e);
        Real base = bracket * inverse;
        Real there = base * other.e;
        Real rest = APART ? inverse * apart : inverse;
        // Rounded as without leaves, so that nothing is left where all pairs are within one.
        hess += (is_counted ? there : 0) * rest;
        push += SIGMOID ? there * rest : is_hi ? there : base;
    }
}

template <typename Real>
__device__ inline void add(
    bool is_hi, const Own<Real>& own, Real label, Real push, Real hess, Sums<Real>& sums
) {
    Real mine = label * (is_hi ? own.as_hi : own.as_lo);
    Real force = push * (is_hi && !SIGMOID ? label : mine);
    sums.up += is_hi ? force : 0;
    sums.down += is_hi ? 0 : force;
    sums.hess += hess * mine;
}

// Pairs with the documents begin..end-1, which have one label.
template <typename Real>
__device__ inline void meet_run(
    bool is_hi, const Own<Real>& own, Real u, int begin, int end, const Room<Real>& room,
    const Law<Real>& law, Sums<Real>& sums
) {
    for (int start = begin; start < end; start += TILE) {
        Real push = 0, hess = 0;
        int stop = min(end, start + TILE);
#pragma unroll UNROLL
        for (int j = start; j < stop; ++j) meet(is_hi, own, j, room, law, push, hess);
        add(is_hi, own, label_of(is_hi, own, u), push, hess, sums);
    }
}

// Pairs with all documents of other labels: a slice of each run of equal labels.
template <typename Real>
__device__ inline void meet_all(
    const Query& query, const Own<Real>& own, int slice, int shift, const Room<Real>& room,
    const Law<Real>& law, Sums<Real>& sums
) {
    for (int c = 0; c < query.classes; ++c) {
        int begin = room.class_start[c], end = room.class_start[c + 1];
        if (TIERED && (begin < own.first || begin >= own.stop)) continue;
        if (shift) {
            int count = end - begin;
            end = begin + slice_start(count, slice + 1, shift);
            begin += slice_start(count, slice, shift);
        }
        if (c > own.label_class) {
            meet_run(true, own, room.class_u[c], begin, end, room, law, sums);
        } else if (!COST && c < own.label_class) {
            meet_run(false, own, room.class_u[c], begin, end, room, law, sums);
        }
    }
}

// One pair with its label.
template <typename Real>
__device__ inline void meet_one(
    bool is_hi, const Own<Real>& own, int j, int c, const Room<Real>& room, const Law<Real>& law,
    Sums<Real>& sums
) {
    Real push = 0, hess = 0;
    meet(is_hi, own, j, room, law, push, hess);
    add(is_hi, own, label_of(is_hi, own, room.class_u[c]), push, hess, sums);
}

// Pairs with the members alone.
template <typename Real>
__device__ void meet_members(
    const Own<Real>& own, int members, int slice, int shift, const Room<Real>& room,
    const Law<Real>& law, Sums<Real>& sums
) {
    for (int m = slice; m < members; m += 1 << shift) {
        int j = room.member[m], c = room.class_of[j];
        bool is_hi = c > own.label_class;
        if (c == own.label_class || (COST && !is_hi)) continue;
        if (TIERED && (j < own.first || j >= own.stop)) continue;
        meet_one(is_hi, own, j, c, room, law, sums);
    }
}

// Pairs of a member with every document of another label, by a whole warp.
template <typename Real>
__device__ void meet_everybody(
    const Own<Real>& own, const Room<Real>& room, const Law<Real>& law, Sums<Real>& sums
) {
    int above = room.class_start[own.label_class], below = room.class_start[own.label_class + 1];
    for (int j = below + lane(); j < own.stop; j += WARP) {
        meet_one(true, own, j, room.class_of[j], room, law, sums);
    }
    for (int j = own.first + lane(); !COST && j < above; j += WARP) {
        meet_one(false, own, j, room.class_of[j], room, law, sums);
    }
}

template <typename Real>
__device__ inline Own<Real> own_of(
    const Query& query, int p, const Room<Real>& room, const Law<Real>& law
) {
    Own<Real> own;
    own.doc = room.docs[p];
    own.score = HAS_SCORE || sizeof(Real) == 8 ? room.score[p] : 0;
    own.p = p;
    own.rank = NEEDS_RANK ? room.rank[p] : 0;
    own.label_class = PAIR_SET >= TRUNCATED ? room.class_of[p] : class_at(query, p, room);
    own.leaf = SHARED ? room.leaf[p] : 0;
    own.u = room.class_u[own.label_class];
    own.first = TIERED ? room.tier_start[own.label_class] : 0;
    own.stop = TIERED ? room.tier_stop[own.label_class] : query.n;
    own.as_hi = own.as_lo = sizeof(Real) == 8 || COST ? 1 : own.doc.e;
    if (CENTERED && sizeof(Real) == 4 && !COST) {
        own.as_hi *= exp(law.center);
        own.as_lo *= exp(-law.center);
    }
    return own;
}

// Which of several blocks a block is that share a query.
struct Share {
    int own, all;
};

// A warp owns 32 documents and a slice of those they meet.
// Returns what this thread adds to the sum of magnitudes.
template <typename Real>
__device__ double push_documents(
    const Query& query, int members, int shift, Share share, const Room<Real>& room,
    const Law<Real>& law
) {
    double total = 0.0;
    int chunks = (query.n + WARP - 1) / WARP, all = warps() * share.all;
    for (int unit = warp() * share.all + share.own; unit < chunks << shift; unit += all) {
        int chunk = unit >> shift, slice = unit & ((1 << shift) - 1);
        int p = chunk * WARP + lane();
        if (p >= query.n) continue;
        bool is_member = members != query.n && is_inside(room, p, members);
        if (is_member && !slice) continue;  // perhaps another block's
        Own<Real> own = own_of(query, p, room, law);
        Sums<Real> sums = {0, 0, 0};
        if (members == query.n) meet_all(query, own, slice, shift, room, law, sums);
        else if (!is_member) meet_members(own, members, slice, shift, room, law, sums);
        total += sums.up;
        if (!SHARED) room.lam[slice * chunks * WARP + p] = sums.up - sums.down;
        room.hess[slice * chunks * WARP + p] = sums.hess;
    }
    return total;
}

// A member meets everybody, and a whole warp owns it: those warps first that have fewer documents.
template <typename Real>
__device__ double push_members(
    const Query& query, int members, int shift, Share share, const Room<Real>& room,
    const Law<Real>& law
) {
    double total = 0.0;
    int busy = ((query.n + WARP - 1) / WARP << shift) % warps();
    int turn = warp() < busy ? warp() + warps() - busy : warp() - busy;
    for (int m = turn * share.all + share.own; m < members; m += warps() * share.all) {
        Own<Real> own = own_of(query, room.member[m], room, law);
        Sums<Real> sums = {0, 0, 0};
        meet_everybody(own, room, law, sums);
        Real lam = SHARED ? 0 : warp_sum(sums.up - sums.down), hess = warp_sum(sums.hess);
        total += sums.up;
        if (lane() == 0) {
            if (!SHARED) room.lam[own.p] = lam;
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
        if (!SHARED) call.lam[row] = value;
        call.hess[row] = value;
    }
}

// Norm and scale, and the forces to their rows.
template <typename Real>
__device__ void write_out(
    const Bound& bound, const Call& call, const Job& job, const Query& query, double total,
    int shift, Room<Real>& room
) {
    int n = query.n, chunk_end = (n + WARP - 1) / WARP * WARP;
    auto sum_of = [&](const Real* parts, int p) {
        Real sum = parts[p];
        for (int slice = 1; slice < 1 << shift; ++slice) sum += parts[slice * chunk_end + p];
        return sum;
    };
    double factor = bound.sigma * query.scale, factor_hess = factor * bound.sigma;
    if (HAS_TOTAL && call.norm == LIGHTGBM_NORM) {
        double less = shrink(2.0 * factor * total);
        factor *= less;
        factor_hess *= less;
    } else if (!SHARED && call.norm == STD_NORM) {
        auto force = [&](int p) { return sum_of(room.lam, p); };
        factor = spread_factor(n, force, room.slots);
        if (factor == 0.0) factor_hess = 0.0;
    }
    bool has_second = SHARED || !(call.norm == STD_NORM || SIGMOID);
    bool is_step = !has_second && factor > 0.0 && total > 0.0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int p = bound.position[query.first + i];
        Whole row = row_at(call, job, i);
        if (!SHARED) call.lam[row] = (float)((Real)factor * sum_of(room.lam, p));
        call.hess[row] = is_step ? 1.0f : (float)((Real)factor_hess * sum_of(room.hess, p));
    }
}

// A query whose documents are laid out.
template <typename Real>
struct Laid {
    Query query;
    Law<Real> law;
    int members;
    bool is_over;  // there is nothing to push, and what it has is written
};

template <typename Real>
__device__ Laid<Real> lay_out(const Bound& bound, const Call& call, int number, Room<Real>& room) {
    Job job = call.jobs[number];
    Laid<Real> laid;
    Query& query = laid.query;
    query = query_of(bound, job.query);
    laid.is_over = true;
    if (query.n == 0) return write_same(call, job, 0, 0.0f), laid;
    load_classes(bound, query, room);
    load_scores(call, job, query, room);
    double spread = query.high - query.low;
    if (!(spread <= 2.0 * LARGEST)) return write_same(call, job, query.n, no_number()), laid;
    if (query.classes < 2 || query.scale == 0.0) return write_same(call, job, query.n, 0.0f), laid;
    double reach = fmax(spread, bound.sigma * spread + 2.0 * fabs(bound.center));
    if (sizeof(Real) == 4 && !COST && reach > NEAR) {
        if (threadIdx.x == 0) call.far[1 + atomicAdd(call.far, 1)] = number;
        return laid;
    }
    if (SHARED) load_leaves(bound, call, job, query, room);
    load_documents(bound, query, room);
    if (KIND == BY_SWAP) fill_sides(bound, query, room);
    laid.law = {(Real)bound.sigma, (Real)bound.center, (Real)bound.constant, 1, 0};
    if (APART && spread > 0.0) {
        laid.law.near = (Real)0.01;
        laid.law.far = 1;
    }
    laid.members = mark_pair_set(bound, call, job, query, room);
    laid.is_over = false;
    return laid;
}

// What all threads of a block, or of several, add to the sum of magnitudes.
template <typename Real>
__device__ double push_pairs(
    const Call& call, const Laid<Real>& laid, int shift, Share share, Room<Real>& room
) {
    const Query& query = laid.query;
    double total = push_documents(query, laid.members, shift, share, room, laid.law);
    if (laid.members < query.n) {
        total += push_members(query, laid.members, shift, share, room, laid.law);
    }
    __syncthreads();
    if (!HAS_TOTAL || !(COST || SIGMOID || call.norm != NO_NORM || call.totals)) return total;
    return block_sum(total, room.slots + 2 * SLOTS);
}

template <typename Real>
__device__ void write_query(
    const Bound& bound, const Call& call, int number, const Query& query, double total, int shift,
    Room<Real>& room
) {
    Job job = call.jobs[number];
    if (COST) return write_same(call, job, 1, (float)(query.scale * total));
    if (!SHARED && call.totals && threadIdx.x == 0) {
        call.totals[job.slot] = 2.0 * bound.sigma * query.scale * total;
    }
    write_out(bound, call, job, query, total, shift, room);
}

template <typename Real>
__device__ void push_query(const Bound& bound, const Call& call, int number, unsigned char* piece) {
    Room<Real> room = carve<Real>(piece, (int)call.room, (int)call.classes);
    Laid<Real> laid = lay_out(bound, call, number, room);
    if (laid.is_over) return;
    int shift = slice_shift((laid.query.n + WARP - 1) / WARP);
    double total = push_pairs(call, laid, shift, Share{0, 1}, room);
    write_query(bound, call, number, laid.query, total, shift, room);
}

// A list that several blocks share: what one of them laid out stands in the piece, behind the sums
// of a block; at the end of the piece is what each adds to the sum of magnitudes.
struct Common {
    Room<float> room;
    Laid<float>* laid;
    double* totals;
};

__device__ Common common_of(const Call& call, int list) {
    unsigned char* piece = call.scratch + list * call.piece;
    Common common;
    common.room = carve<float>(piece, (int)call.room, (int)call.classes);
    common.laid = (Laid<float>*)(common.room.slots + 3 * SLOTS);
    common.totals = (double*)(piece + call.piece) - call.parts;
    return common;
}

extern "C" {

// Lists that fit shared memory several times: one block each.
__global__ void __launch_bounds__(SHORT_THREADS, SHORT_BLOCKS) push_short(Bound bound, Call call) {
    push_query<float>(bound, call, (int)call.first + blockIdx.x, memory);
}

// Longer lists, in the shared memory of a whole multiprocessor.
__global__ void __launch_bounds__(LONG_THREADS, 1) push_long(Bound bound, Call call) {
    push_query<float>(bound, call, (int)call.first + blockIdx.x, memory);
}

// Lists that shared memory does not hold, in three steps: one block lays them out, several push, and
// one writes.
__global__ void __launch_bounds__(LONG_THREADS, 1) lay_out_lists(Bound bound, Call call) {
    Common common = common_of(call, blockIdx.x);
    Laid<float> laid = lay_out(bound, call, (int)call.first + blockIdx.x, common.room);
    if (threadIdx.x == 0) *common.laid = laid;
}

__global__ void __launch_bounds__(PART_THREADS, 1) push_parts(Bound bound, Call call) {
    int list = blockIdx.x / (int)call.parts, part = blockIdx.x % (int)call.parts;
    Common common = common_of(call, list);
    Laid<float> laid = *common.laid;
    if (laid.is_over) return;
    common.room.slots = (double*)memory;  // of this block alone
    double total = push_pairs(call, laid, 0, Share{part, (int)call.parts}, common.room);
    if (threadIdx.x == 0) common.totals[part] = total;
}

__global__ void __launch_bounds__(LONG_THREADS, 1) write_lists(Bound bound, Call call) {
    Common common = common_of(call, blockIdx.x);
    if (common.laid->is_over) return;
    double total = 0.0;
    for (int part = 0; part < call.parts; ++part) total += common.totals[part];
    Query query = common.laid->query;
    __syncthreads();
    write_query(bound, call, (int)call.first + blockIdx.x, query, total, 0, common.room);
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
