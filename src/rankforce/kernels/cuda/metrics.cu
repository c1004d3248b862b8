// Metrics of rankings: as kernels/metrics.py, one block a query, in float64.
//
// Cost: a document's score is read once, 8 bytes, and its row, 8 more, where rows are in any order.
// In a list of n documents, n up to COUNTED, it takes n compares to rank it; in a longer one, which
// is sorted, (log2 n)^2 / 4. Then a warp has a metric, and of each rank up to its cutoff reads what
// the document is worth, 8 bytes at random, and what the rank is, 8 in order.
//
// Sums go in a fixed order, so that every run gives the same bits.

// Numbers of kernels/metrics.py.
enum { SUM, AVERAGE_PRECISION, RECIPROCAL_RANK, CASCADE };
enum { ROW, AVERAGE, LAST };

constexpr double LARGEST_SCORE = 1.7976931348623157e308;

// One query.
struct List {
    Whole start;  // its first place
    int query;    // its number
    int size;     // its documents
};

struct Metric {
    int column, kind, end, ties;
    int row;  // of the scoreboard
};

// As in measures/on_gpu.py: every field has 8 bytes.
struct Board {
    const double* scores;
    const Whole* row;  // of each place; none if places are rows
    const List* lists;
    const Metric* metrics;
    const double* columns;   // values of places, `places` numbers for each kind of value
    const double* tables;    // values of ranks, `width` numbers for each metric
    double* sums;            // `queries` numbers for each metric of the scoreboard
    double* bad;             // of each query: 1 if its scores are not all finite
    unsigned char* scratch;  // one piece for each block; none if lists fit shared memory
    Whole piece;             // bytes of a piece
    Whole room;              // documents of a piece
    Whole first;             // list of this launch
    Whole count;             // of its lists
    Whole measured;          // metrics
    Whole places, width, queries;
    Whole depth;   // how many ranks any metric looks at
    Whole single;  // whether scores are compared in single precision
};

// A query and its ranking. Lists up to COUNTED documents have scores in `given`, longer ones in
// `score`, where they are sorted.
struct Ranked {
    double* given;         // by place
    double* score;         // by rank
    int* order;            // document of each rank
    double* rows;          // four of `room` + 1 numbers, for `mean_cascade`
    const double* column;  // what documents are worth to a metric
    const double* table;   // what ranks are
    int n, room;

    __device__ double value(int r) const { return column[order[r]]; }
    __device__ int tie_end(int start) const {
        int stop = start + 1;
        while (stop < n && score[stop] == score[start]) ++stop;
        return stop;
    }
};

// As float. Compiled code may take the smallest ones for 0; they are the multiples of 2^-149, as
// the doubles from 2^-97 to 2^-96 are.
__device__ inline double to_single(double score) {
    constexpr double UNIT = 1.5 / (1ull << 48) / (1ull << 49);
    if (fabs(score) < 1.1754943508222875e-38) return (score + UNIT) - UNIT;
    return (float)score;
}

// Scores by place, with -infinity up to `size`; false if one is not finite.
__device__ bool load_scores(
    const Board& board, const List& list, int size, double* slots, double* score
) {
    double bad = 0.0;
#pragma unroll 1
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
        double found = -endless();
        if (i < list.size) {
            Whole place = list.start + i;
            found = board.scores[board.row ? board.row[place] : place];
            if (board.single) found = to_single(found);
            if (!(fabs(found) <= LARGEST_SCORE)) bad = 1.0;
        }
        score[i] = found;
    }
    return block_max(bad, slots) == 0.0;
}

__device__ inline bool is_before(double score, int place, double other, int other_place) {
    return score > other || (score == other && place < other_place);
}

struct alignas(16) Two {
    double a, b;
};

// How many documents rank before document `i`. Lanes have neighbours: only among these it matters
// for ties which is which.
__device__ int count_before(int n, const double* score, int i) {
    const Two* twos = (const Two*)score;
    double own = score[i];
    int first = (i - lane()) / 2, end = (n + 1) / 2, last = min(first + WARP / 2, end), found = 0;
#pragma unroll 4
    for (int t = 0; t < first; ++t) found += (twos[t].a >= own) + (twos[t].b >= own);
    for (int t = first; t < last; ++t) {
        found += is_before(twos[t].a, 2 * t, own, i) + is_before(twos[t].b, 2 * t + 1, own, i);
    }
#pragma unroll 4
    for (int t = last; t < end; ++t) found += (twos[t].a > own) + (twos[t].b > own);
    return found;
}

// By counting the better ones; ranks from `known` on are not kept.
__device__ void rank_by_counting(int known, Ranked& list) {
#pragma unroll 1
    for (int i = threadIdx.x; i < list.n; i += blockDim.x) {
        int rank = count_before(list.n, list.given, i);
        if (rank >= known) continue;
        list.score[rank] = list.given[i];
        list.order[rank] = i;
    }
}

// By a bitonic sort; `size` is a power of 2.
__device__ void rank_by_sorting(int size, Ranked& list) {
    for (int i = threadIdx.x; i < size; i += blockDim.x) list.order[i] = i;
    __syncthreads();
    for (int run = 2; run <= size; run *= 2) {
        for (int far = run / 2; far; far /= 2) {
            for (int t = threadIdx.x; t < size / 2; t += blockDim.x) {
                int i = 2 * t - (t & (far - 1)), j = i + far;
                double a = list.score[i], b = list.score[j];
                int at = list.order[i], bt = list.order[j];
                if (is_before(b, bt, a, at) == ((i & run) == 0)) {
                    list.score[i] = b;
                    list.score[j] = a;
                    list.order[i] = bt;
                    list.order[j] = at;
                }
            }
            __syncthreads();
        }
    }
}

// What the values of the lanes before this one add up to; `sum` becomes that of all lanes.
__device__ inline double sum_before(double& sum) {
    double before = 0.0;
    for (int far = 1; far < WARP; far *= 2) {
        double other = __shfl_xor_sync(~0u, sum, far);
        if (lane() & far) before += other;
        sum += other;
    }
    return before;
}

// The same for a product.
__device__ inline double product_before(double& product) {
    double before = 1.0;
    for (int far = 1; far < WARP; far *= 2) {
        double other = __shfl_xor_sync(~0u, product, far);
        if (lane() & far) before *= other;
        product *= other;
    }
    return before;
}

// One metric of ranks before `end`, by a warp.
__device__ double measure(int kind, int end, const Ranked& list) {
    double total = 0.0, hits = 0.0, reading = 1.0;
#pragma unroll 1
    for (int start = 0; start < end; start += WARP) {
        int r = start + lane();
        double value = r < end ? list.value(r) : 0.0;
        if (kind == SUM) {
            if (r < end) total += value * list.table[r];
        } else if (kind == CASCADE) {
            double rest = 1.0 - value;
            total += reading * product_before(rest) * value / (r + 1.0);
            reading *= rest;
        } else {
            double found = value, before = hits + sum_before(found);
            hits += found;
            if (kind == AVERAGE_PRECISION) total += value * (before + value) / (r + 1.0);
            else if (value > 0.0 && before == 0.0) total = 1.0 / (r + 1.0);
        }
    }
    return warp_sum(total);
}

// What a tie is worth to a metric, with `hits` relevant documents before it: the mean over all
// orders of its documents, or with each at the last rank.
__device__ double tie_worth(
    const Metric& metric, int start, int end, double hits, const Ranked& list
) {
    int stop = list.tie_end(start), last = min(stop, end);
    double size = stop - start, found = 0.0, total = 0.0;
    for (int r = start; r < stop; ++r) found += list.value(r);
    if (metric.kind == SUM) {
        for (int r = start; r < last; ++r) total += list.table[r];
        return found * total / size;
    }
    if (found == 0.0) return 0.0;
    if (metric.kind == AVERAGE_PRECISION && metric.ties == LAST) {
        return stop <= end ? found * (hits + found) / stop : 0.0;
    }
    double share = found / size, step = (found - 1.0) / max(size - 1.0, 1.0);
    double none_before = hits > 0.0 ? 0.0 : 1.0;
#pragma unroll 1
    for (int r = start; r < last; ++r) {
        if (metric.kind == AVERAGE_PRECISION) {
            total += share * (1.0 + hits + (r - start) * step) / (r + 1.0);
        } else {
            double here = min(found / (stop - r), 1.0);
            total += none_before * here / (r + 1.0);
            none_before *= 1.0 - here;
        }
    }
    return total;
}

// The same where tied documents do not rank by place: a lane has a tie.
__device__ double measure_ties(const Metric& metric, int end, const Ranked& list) {
    double total = 0.0, hits = 0.0;
#pragma unroll 1
    for (int start = 0; start < end; start += WARP) {
        int r = start + lane();
        double found = r < end ? list.value(r) : 0.0, before = hits + sum_before(found);
        hits += found;
        if (r < end && (r == 0 || list.score[r] != list.score[r - 1])) {
            total += tie_worth(metric, r, end, before, list);
        }
    }
    return warp_sum(total);
}

// `stops` of one tie, as in metrics.py, by all threads of the block: each has some of the numbers
// m, and they read one pair of rows to write the other.
__device__ const double* stops_of_tie(int start, int stop, int deep, const Ranked& list) {
    int width = list.room + 1;
    double *goes_on = list.rows, *stops = goes_on + width;
    double *next_on = stops + width, *next_stops = next_on + width;
    for (int m = threadIdx.x; m <= deep; m += blockDim.x) {
        goes_on[m] = next_on[m] = m == 0;
        stops[m] = next_stops[m] = 0.0;
    }
    __syncthreads();
    for (int seen = 1; seen <= stop - start; ++seen) {
        double value = list.value(start + seen - 1), rest = 1.0 - value, share = 1.0 / seen;
        for (int m = 1 + threadIdx.x; m <= min(deep, seen); m += blockDim.x) {
            double on = goes_on[m - 1], among = (m - 1.0) * rest * stops[m - 1];
            next_stops[m] = ((seen - m) * stops[m] + value * on + among) * share;
            next_on[m] = ((seen - m) * goes_on[m] + m * rest * on) * share;
        }
        double *on = goes_on, *at = stops;
        goes_on = next_on, stops = next_stops;
        next_on = on, next_stops = at;
        __syncthreads();
    }
    return stops;
}

// Mean of a cascade over all orders of tied documents, by all threads of the block.
__device__ double mean_cascade(int end, const Ranked& list) {
    double total = 0.0, reading = 1.0;
    for (int start = 0; start < end;) {
        int stop = list.tie_end(start), deep = min(stop, end) - start;
        if (stop - start == 1) {
            total += reading * list.value(start) / stop;
        } else {
            const double* stops = stops_of_tie(start, stop, deep, list);
            double own = 0.0;
            for (int m = 1 + lane(); m <= deep; m += WARP) own += stops[m] / (start + m);
            total += reading * warp_sum(own);
            __syncthreads();
        }
#pragma unroll 1  // registers are few
        for (; start < stop; ++start) reading *= 1.0 - list.value(start);
    }
    return total;
}

__device__ void write(const Board& board, const List& job, int m, double value) {
    board.sums[board.queries * board.metrics[m].row + job.query] = value;
}

// False if a score is not finite.
__device__ bool rank(const Board& board, const List& job, double* slots, Ranked& list) {
    int n = list.n = job.size;
    if (n <= COUNTED) {
        if (!load_scores(board, job, n + n % 2, slots, list.given)) return false;
        rank_by_counting((int)min((Whole)n, board.depth), list);
    } else {
        int size = COUNTED;
        while (size < n) size *= 2;
        if (!load_scores(board, job, size, slots, list.score)) return false;
        rank_by_sorting(size, list);
    }
    __syncthreads();
    return true;
}

__device__ void measure_list(const Board& board, const List& job, double* slots, Ranked& list) {
    if (!rank(board, job, slots, list)) {
        if (threadIdx.x == 0) board.bad[job.query] = 1.0;
        for (int m = threadIdx.x; m < board.measured; m += blockDim.x) {
            write(board, job, m, no_number());
        }
        return;
    }
    auto look_at = [&](const Metric& metric, int m) {
        list.column = board.columns + board.places * metric.column + job.start;
        list.table = board.tables + board.width * m;
        return min(list.n, metric.end);
    };
    for (int m = warp(); m < board.measured; m += warps()) {
        const Metric& metric = board.metrics[m];
        bool is_by_place = !TIED || metric.ties == ROW;
        if (!is_by_place && metric.kind == CASCADE) continue;
        int end = look_at(metric, m);
        double found = is_by_place ? measure(metric.kind, end, list)
                                   : measure_ties(metric, end, list);
        if (lane() == 0) write(board, job, m, found);
    }
    for (int m = 0; TIED && m < board.measured; ++m) {
        const Metric& metric = board.metrics[m];
        if (metric.kind != CASCADE || metric.ties == ROW) continue;
        double found = mean_cascade(look_at(metric, m), list);
        if (threadIdx.x == 0) write(board, job, m, found);
    }
}

extern "C" __global__ void __launch_bounds__(LONG_THREADS) measure_queries(Board board) {
    unsigned char* piece = SCRATCH ? board.scratch + blockIdx.x * board.piece : memory;
    Ranked list;
    list.room = (int)board.room;
    list.given = (double*)piece + SLOTS;
    list.score = list.given + min(list.room, COUNTED);
    list.order = (int*)(list.score + list.room);
    list.rows = (double*)(list.order + list.room);
    for (Whole b = blockIdx.x; b < board.count; b += gridDim.x) {
        measure_list(board, board.lists[board.first + b], (double*)piece, list);
        __syncthreads();
    }
}
