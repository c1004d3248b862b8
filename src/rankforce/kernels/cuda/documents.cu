// A query's documents in label order, highest label first: everything that a pair looks at.

constexpr bool HAS_SCORE = APART || COST;  // whether pairs look at scores, and not just at e

template <typename Real>
struct alignas(2 * sizeof(Real)) Document {
    Real e, g;  // e = exp(sigma * score) around the middle of the query; value of the rank
};

// Rows of `room` numbers each, and a table of the query's labels; launch.py counts them, by the same
// macros. What stands in `given` and `by_place` gives way to forces, and keys of a sort to documents.
template <typename Real>
struct Room {
    double* slots;
    Real *lam, *hess;
    Document<Real>* docs;
    Real *score, *side, *distance, *correction;
    int *leaf, *rank, *order, *class_of, *inside, *member, *label_class, *need, *left;
    Real* class_u;  // label term of each run of equal labels
    int *class_start, *tier_start, *tier_stop;
    float* given;  // scores and ranks by place
    int* by_place;
    int stride;
};

// Hands out rows of a piece, one behind the other; a row that is not there takes no bytes.
struct Rows {
    unsigned char* piece;
    int at;  // bytes that are taken

    template <typename T>
    __device__ T* take(int count, bool is_there = true) {
        T* row = (T*)(piece + at);
        if (is_there) at += count * (int)sizeof(T);
        return row;
    }
};

template <typename Real>
__device__ Room<Real> carve(unsigned char* piece, int room, int classes) {
    Room<Real> all;
    Rows rows = {piece, 0};
    bool is_extended = PAIR_SET >= EXTENDED;
    all.stride = room;
    all.slots = rows.take<double>(4 * SLOTS);
    all.lam = rows.take<Real>(room);
    all.hess = rows.take<Real>(room);
    all.given = (float*)all.lam;
    all.by_place = (int*)all.hess;
    all.class_u = rows.take<Real>(classes);
    all.class_start = rows.take<int>(classes);
    all.tier_start = rows.take<int>(classes, TIERED);
    all.tier_stop = rows.take<int>(classes, TIERED);
    all.leaf = rows.take<int>(room, SHARED);
    rows.at = (rows.at + 15) / 16 * 16;
    all.docs = rows.take<Document<Real>>(room);  // here keys of a sort begin
    all.score = rows.take<Real>(room, HAS_SCORE || sizeof(Real) == 8);
    all.side = rows.take<Real>(6 * room, KIND == BY_SWAP);
    all.distance = rows.take<Real>(room, KIND == BY_DISTANCE);
    all.correction = rows.take<Real>(room, CORRECTED);
    all.rank = rows.take<int>(room, NEEDS_RANK);
    all.order = rows.take<int>(room, NEEDS_RANK);
    all.class_of = rows.take<int>(room, PAIR_SET >= TRUNCATED);
    all.inside = rows.take<int>(room, is_extended);
    all.member = is_extended ? rows.take<int>(room) : all.order;
    all.label_class = rows.take<int>(room, is_extended);
    all.need = rows.take<int>(room, is_extended);
    all.left = rows.take<int>(room, is_extended);
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
    // The last threads first: they have fewer documents to load.
    for (int c = blockDim.x - 1 - threadIdx.x; c <= query.classes; c += blockDim.x) {
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
        room.given[i] = score + 0.0f;  // -0 as 0
        low = is_bad ? -endless() : fminf(low, score);
        high = is_bad ? endless() : fmaxf(high, score);
    }
    for (int far = WARP / 2; far; far /= 2) {
        low = fminf(low, __shfl_xor_sync(~0u, low, far));
        high = fmaxf(high, __shfl_xor_sync(~0u, high, far));
    }
    float *least = (float*)room.slots, *most = least + SLOTS;  // of each warp
    if (lane() == 0) {
        least[warp()] = low;
        most[warp()] = high;
    }
    __syncthreads();
    for (int w = 0; w < warps(); ++w) {
        low = fminf(low, least[w]);
        high = fmaxf(high, most[w]);
    }
    query.low = low;
    query.high = high;
}

template <typename Real>
__device__ void load_leaves(
    const Bound& bound, const Call& call, const Job& job, const Query& query, Room<Real>& room
) {
    for (int i = threadIdx.x; i < query.n; i += blockDim.x) {
        room.leaf[bound.position[query.first + i]] = call.leaf[row_at(call, job, i)];
    }
}

// A value of a table: of ranks, of rank distances, of corrections.
template <typename Real>
__device__ inline Real value_at(const Bound& bound, int table, int i) {
    Whole at = table * bound.width + i;
    return sizeof(Real) == 8 ? (Real)bound.exact[at] : (Real)bound.tables[at];
}

// Documents in label order, but for their ranks: by the threads from `first` on.
template <typename Real>
__device__ void lay_documents(const Bound& bound, const Query& query, int first, Room<Real>& room) {
    float middle = (float)(0.5 * query.low + 0.5 * query.high), sigma = (float)bound.sigma;
    for (int i = (int)threadIdx.x - first; i < query.n; i += blockDim.x - first) {
        int p = bound.position[query.first + i];
        room.docs[p].e = sizeof(Real) == 4 ? expf(sigma * (room.given[i] - middle)) : 0;
        if (HAS_SCORE || sizeof(Real) == 8) room.score[p] = room.given[i];
        if (PAIR_SET >= TRUNCATED) room.class_of[p] = class_at(query, p, room);
        if (KIND == BY_DISTANCE) room.distance[i] = value_at<Real>(bound, 1, i);
        if (CORRECTED) room.correction[i] = value_at<Real>(bound, 2, i);
    }
}

// Documents in label order, and their ranks. While a warp sorts, the others lay documents.
template <typename Real>
__device__ void load_documents(const Bound& bound, const Query& query, Room<Real>& room) {
    bool by_warp = RANKED && query.n <= BY_WARP && warps() > 1;
    if (RANKED && !by_warp) {
        rank_documents(query.n, room.given, room.by_place, (Bits*)room.docs);
        __syncthreads();
    }
    if (by_warp && !warp()) rank_documents(query.n, room.given, room.by_place, (Bits*)room.docs);
    else lay_documents(bound, query, by_warp ? WARP : 0, room);
    if (by_warp) __syncthreads();
    for (int i = threadIdx.x; i < query.n; i += blockDim.x) {
        int p = bound.position[query.first + i];
        int rank = RANKED ? room.by_place[i] : 0;
        room.docs[p].g = POSITIONED ? value_at<Real>(bound, 0, rank) : 0;
        if (NEEDS_RANK) {
            room.rank[p] = rank;
            room.order[rank] = p;
        }
    }
    __syncthreads();
}
