// What splits gain. Gains must not depend on what a compiler makes of them: operations are those of
// kernels/splits.py, one by one.

__device__ inline double worth(double force, double second, double l1, double l2) {
    double size = fmax(__dadd_rn(fabs(force), -l1), 0.0), below = __dadd_rn(second, l2);
    return below > TINY ? __ddiv_rn(__dmul_rn(size, size), below) : 0.0;
}

// What a leaf is worth, and the least sum of hessians that a side may have.
struct Limits {
    double step, step_hess, whole;
    Whole force, second, least;
    int count;  // rows
};

__device__ inline Limits limits_of(const Grow& grow, Whole force, Whole second, int count) {
    Limits limits;
    limits.step = step_of(grow);
    limits.step_hess = step_hess_of(grow);
    limits.force = force;
    limits.second = second;
    limits.count = count;
    double own = __dmul_rn((double)force, limits.step);
    double own_hess = __dmul_rn((double)second, limits.step_hess);
    limits.whole = __dadd_rn(worth(own, own_hess, grow.l1, grow.l2), grow.least_gain);
    // Rows on a side are told from its share of the hessians, rounded.
    double rows = __dmul_rn(__dadd_rn(grow.least_rows, -0.5), (double)max(second, (Whole)1));
    double least = ceil(__ddiv_rn(rows, (double)count));
    double weight = limits.step_hess > 0.0 ? ceil(__ddiv_rn(grow.least_weight, limits.step_hess)) : 0.0;
    // More than there is, however much, is as little to be had: Whole does not hold every limit.
    limits.least = (Whole)fmin(fmax(fmax(least, weight), 0.0), __dadd_rn((double)second, 1.0));
    return limits;
}

struct Best {
    double gain;
    int code;  // column, NaN's side and bin, or of codes the way and the end: of equal gains the first
    Whole left;
};

__device__ inline void look(
    const Grow& grow, const Limits& limits, Whole left, int code, double l2, Best& best
) {
    Whole second = left & 0xffffffffll, force = (left - second) >> 32;
    Whole rest = limits.second - second;
    if (min(second, rest) < limits.least) return;
    double one = worth(__dmul_rn((double)force, limits.step),
                       __dmul_rn((double)second, limits.step_hess), grow.l1, l2);
    double two = worth(__dmul_rn((double)(limits.force - force), limits.step),
                       __dmul_rn((double)rest, limits.step_hess), grow.l1, l2);
    double gain = __dadd_rn(__dadd_rn(one, two), -limits.whole);
    if (gain > best.gain || (gain == best.gain && gain > 0.0 && code < best.code)) {
        best = Best{gain, code, left};
    }
}
