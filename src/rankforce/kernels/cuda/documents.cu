// A query's documents in label order, highest label first: everything that a pair looks at.

template <typename Real>
struct alignas(2 * sizeof(Real)) Document {
    Real e, g;  // e = exp(sigma * score) around the middle of the query; value of the rank
};

// Rows of `room` numbers each, and a table of the query's labels; launch.py counts them, by the same
// macros. What stands in `given` and `by_place` gives way to forces.
template <typename Real>
struct Room {
    double* slots;
    Document<Real>* docs;
    Real *score, *lam, *hess;
    Real *side, *distance, *correction;
    int *leaf, *rank, *order, *inside, *class_of, *member, *label_class, *need, *left;
    Real* class_u;  // label term of each run of equal labels
    int *class_start, *tier_start, *tier_stop;
    float* given;  // scores and ranks by place
    int* by_place;
    int stride;
};

template <typename Real>
__device__ Room<Real> carve(unsigned char* piece, int room, int classes) {
    Room<Real> all;
    all.stride = room;
    all.slots = (double*)piece;
    Real* reals = (Real*)(piece + 4 * SLOTS * sizeof(double));
    all.docs = (Document<Real>*)reals;  // keys of a sort take the place of the first four rows
    all.score = reals + 2 * room;
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
    all.class_u = next;
    int* integers = (int*)(next + classes);
    all.class_start = integers;
    all.tier_start = all.class_start + classes;
    all.tier_stop = all.tier_start + classes;
    all.leaf = integers + (TIERED ? 3 : 1) * classes;
    all.rank = all.leaf + (SHARED ? room : 0);
    all.order = all.rank + room;
    all.inside = all.order + room;
    all.class_of = all.inside + room;
    all.member = PAIR_SET >= EXTENDED ? all.class_of + room : all.order;
    all.label_class = all.member + room;
    all.need = all.label_class + room;
    all.left = all.need + room;
    return all;
}

// What is known of one query.
struct Query {
    int n;
    Whole first;  // its first place in the whole set
    Whole first_class;
    int classes;
    int positive;
    double scale;
    double low, high;  // scores
};

__device__ inline Query query_of(const Bound& bound, int q) {
    Query query;
    query.first = bound.pointer[q];
    query.n = (int)(bound.pointer[q + 1] - query.first);
    query.first_class = bound.class_pointer[q];
    query.classes = (int)(bound.class_pointer[q + 1] - query.first_class) - 1;
    query.positive = bound.positive[q];
    query.scale = bound.scale[q];
    return query;
}

// The run of equal labels that a document is in.
template <typename Real>
__device__ inline int class_at(const Query& query, int p, const Room<Real>& room) {
    int c = 0, last = query.classes;
    while (last - c > 1) {
        int middle = (c + last) / 2;
        if (room.class_start[middle] <= p) c = middle;
        else last = middle;
    }
    return c;
}

template <typename Real>
__device__ void load_classes(const Bound& bound, const Query& query, Room<Real>& room) {
    for (int c = threadIdx.x; c <= query.classes; c += blockDim.x) {
        int start = bound.class_start[query.first_class + c];
        room.class_start[c] = start;
        if (c < query.classes) room.class_u[c] = bound.u[query.first + start];
        if (TIERED) {
            room.tier_start[c] = bound.tier_start[query.first_class + c];
            room.tier_stop[c] = bound.tier_stop[query.first_class + c];
        }
    }
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

template <typename Real>
__device__ void load_leaves(
    const Bound& bound, const Call& call, const Job& job, const Query& query, Room<Real>& room
) {
    for (int i = threadIdx.x; i < query.n; i += blockDim.x) {
        room.leaf[bound.position[query.first + i]] = call.leaf[row_at(call, job, i)];
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
    float middle = (float)(0.5 * query.low + 0.5 * query.high), sigma = (float)bound.sigma;
    for (int i = threadIdx.x; i < query.n; i += blockDim.x) {
        int p = bound.position[query.first + i];
        int rank = RANKED ? room.by_place[i] : 0;
        Document<Real> doc;
        doc.e = sizeof(Real) == 4 ? expf(sigma * (room.given[i] - middle)) : 0;
        doc.g = POSITIONED ? bound.tables[rank] : 0.0f;
        room.docs[p] = doc;
        room.score[p] = room.given[i];
        if (NEEDS_RANK) {
            room.rank[p] = rank;
            room.order[rank] = p;
        }
        if (KIND == BY_DISTANCE) room.distance[i] = bound.tables[bound.width + i];
        if (CORRECTED) room.correction[i] = bound.tables[2 * bound.width + i];
    }
    __syncthreads();
}
