// A query's documents in label order, highest label first: everything that a pair looks at.

template <typename Real>
struct alignas(4 * sizeof(Real)) Document {
    Real score, e, u, g;  // e = exp(sigma * score) around the middle of the query; value of the rank
};

// Rows of `room` numbers each; launch.py counts them, by the same macros.
template <typename Real>
struct Room {
    double* slots;
    Document<Real>* docs;
    Real *lam, *hess;
    Real *side, *distance, *correction;
    int *rank, *order, *member, *inside, *label_class, *need, *left;
    float* given;  // scores and ranks by place, before there are forces
    int* by_place;
    int stride;
};

template <typename Real>
__device__ Room<Real> carve(unsigned char* piece, int room) {
    Room<Real> all;
    all.stride = room;
    all.slots = (double*)piece;
    Real* reals = (Real*)(piece + 4 * SLOTS * sizeof(double));
    all.docs = (Document<Real>*)reals;
    all.lam = reals + 4 * room;
    all.hess = reals + 5 * room;
    all.given = (float*)all.lam;
    all.by_place = (int*)all.hess;
    Real* next = reals + 6 * room;
    all.side = next;
    if (KIND == BY_SWAP) next += 6 * room;
    all.distance = next;
    if (KIND == BY_DISTANCE) next += room;
    all.correction = next;
    if (CORRECTED) next += room;
    int* integers = (int*)next;
    all.rank = integers;
    all.order = integers + room;
    all.member = PAIR_SET >= EXTENDED ? integers + 3 * room : all.order;
    all.inside = integers + 2 * room;
    all.label_class = integers + 4 * room;
    all.need = integers + 5 * room;
    all.left = integers + 6 * room;
    return all;
}

// What is known of one query.
struct Query {
    int n;
    Whole first;  // its first place in the whole set
    const int *class_start, *tier_start, *tier_stop;
    int classes;
    int positive;
    double scale;
    double low, high;
};

__device__ inline Query query_of(const Bound& bound, int q) {
    Query query;
    query.first = bound.pointer[q];
    query.n = (int)(bound.pointer[q + 1] - query.first);
    Whole first = bound.class_pointer[q];
    query.classes = (int)(bound.class_pointer[q + 1] - first) - 1;
    query.class_start = bound.class_start + first;
    query.tier_start = bound.tier_start + first;
    query.tier_stop = bound.tier_stop + first;
    query.positive = bound.positive[q];
    query.scale = bound.scale[q];
    return query;
}

// The documents that one is paired with: hi are first..above-1, lo are below..stop-1.
struct Reach {
    int first, above, below, stop;
};

__device__ inline Reach reach_of(const Query& query, int p) {
    int c = 0, last = query.classes;
    while (last - c > 1) {
        int middle = (c + last) / 2;
        if (query.class_start[middle] <= p) c = middle;
        else last = middle;
    }
    Reach reach;
    reach.first = query.tier_start[c];
    reach.above = query.class_start[c];
    reach.below = query.class_start[c + 1];
    reach.stop = query.tier_stop[c];
    return reach;
}

// Scores by place, and their range, which is endless if one is not finite.
template <typename Real>
__device__ void load_scores(const Call& call, const Job& job, Query& query, Room<Real>& room) {
    float low = endless(), high = -low;
    for (int i = threadIdx.x; i < query.n; i += blockDim.x) {
        float score = call.scores[row_at(call, job, i)];
        bool is_bad = !(fabsf(score) <= LARGEST);
        room.given[i] = score;
        low = is_bad ? -endless() : fminf(low, score);
        high = is_bad ? endless() : fmaxf(high, score);
        room.by_place[i] = 0;
    }
    int end = (query.n + 3) / 4 * 4;
    for (int i = query.n + threadIdx.x; i < end; i += blockDim.x) room.given[i] = -endless();
    for (int far = WARP / 2; far; far /= 2) {
        low = fminf(low, __shfl_xor_sync(~0u, low, far));
        high = fmaxf(high, __shfl_xor_sync(~0u, high, far));
    }
    if (lane() == 0) {
        room.slots[warp()] = low;
        room.slots[SLOTS + warp()] = high;
    }
    __syncthreads();
    query.low = room.slots[0];
    query.high = room.slots[SLOTS];
    for (int w = 1; w < warps(); ++w) {
        query.low = fmin(query.low, room.slots[w]);
        query.high = fmax(query.high, room.slots[SLOTS + w]);
    }
}

// Documents in label order, and their ranks.
template <typename Real>
__device__ void load_documents(const Bound& bound, const Query& query, Room<Real>& room) {
    if (RANKED) {
        if (query.n <= COUNTED) rank_by_counting(query.n, room.given, room.by_place);
        else rank_by_sorting(query.n, room.given, room.by_place, (Bits*)room.docs);
        __syncthreads();
    }
    double middle = 0.5 * query.low + 0.5 * query.high;
    Real sigma = (Real)bound.sigma;
    for (int i = threadIdx.x; i < query.n; i += blockDim.x) {
        int p = bound.position[query.first + i];
        int rank = RANKED ? room.by_place[i] : 0;
        Document<Real> doc;
        doc.score = room.given[i];
        doc.e = sizeof(Real) == 4 ? expf(sigma * (Real)(room.given[i] - middle)) : 0;
        doc.u = bound.u[query.first + p];
        doc.g = RANKED ? bound.tables[rank] : 0.0f;
        room.docs[p] = doc;
        if (NEEDS_RANK) {
            room.rank[p] = rank;
            room.order[rank] = p;
        }
        if (KIND == BY_DISTANCE) room.distance[i] = bound.tables[bound.width + i];
        if (CORRECTED) room.correction[i] = bound.tables[2 * bound.width + i];
    }
    __syncthreads();
}
