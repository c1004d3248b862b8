// A tree while it grows on bins in the GPU's memory: what kernels of growing share.
//
// A tree grows in rounds, each of four kernels, and nothing is asked of the processor meanwhile:
//   part_rows    rows of every leaf that is split: read once, written once to the other order
//   count_rows   histograms of the smaller half of each, 4 columns of a row a step
//   find_splits  histograms of the larger half by subtraction, the best split of both
//   plan_round   which leaves are split next: those that could still be in the tree
// Sums are of integers: they are exact, and no order of blocks changes them. Columns of categories
// are there only where WITH_CODES is 1.
//
// Cost of a round, for r rows in the leaves that are split, c columns, b bins and p leaves: r * (16 +
// 64) bytes in part_rows (of memory, two sectors for the bin of a row); r/2 * (c + 8 * c / 32) bytes
// and r/2 * c additions in shared memory in count_rows; 32 * p * c * b bytes and 4 * p * c * b
// divisions in find_splits; a comparison of each new leaf with every node in plan_round, and when the
// tree is done a chain of as many steps as it has leaves.

constexpr int BINS = 1 << SHIFT;
constexpr int GROUP = 32;  // columns that a block works on
constexpr int LAST = 4 * LAST_QUADS;  // those of the last group, some of them may be no columns
constexpr int WIDTH = GROUP * (GROUPS - 1) + LAST;  // bytes of a row
constexpr int SIZE = BINS * WIDTH;                  // of the histograms of a leaf
constexpr double TINY = 1e-15;  // a hessian below it divides nothing
constexpr int SET = 4;          // words of a set of bins
constexpr int CODED = -1;       // in place of the last bin that goes left: a set does
enum { HAS_NAN = 1, IS_CODED = 2, DRAWN = 4 };

// A leaf, or what was one before it was split.
struct Node {
    int begin, end;  // its rows in the order
    int depth, parent;
    int slot;                    // of its histograms
    int column, bin, nan_left;   // its best split
    int lefts, rights;           // rows that were parted
    int leaf;                    // its number in the tree that is kept, or -1
    int home;                    // the number of the leaf that its rows are in, in the end
    Whole force, second;         // sums, in steps
    Whole left_force, left_second;
};

struct Split {
    double gain;
    Whole left_force, left_second;
    int column, bin, nan_left, unused;
};

// A leaf that is split: its children are `child` and the next. The first of all has no parent.
struct Pair {
    int parent, child, slot;  // a slot for the smaller child; the larger one has the parent's
};

// A row in the order of leaves, and what it adds to sums.
struct __align__(8) Entry {
    int row, packed;  // force << 16 | hessian, in steps
};

// Some rows of a pair, or of a node, from the `first` of them on.
struct Item {
    int of, first;
};

// Where a row that is walked goes on from a node.
struct Step {
    int column, bin, child, leaf;  // bin: and 65536 if NaN goes left, or CODED; leaf: or -1
};

struct State {
    int nodes, pairs, parts, expanded, done, leaves, rounds;
    int is_short;  // whether there was no room to split all leaves that could be in the tree
};

// Every field has 8 bytes, as in engines/cuda/arrays.py.
struct Grow {
    const unsigned char* bins;  // row by row
    const int* many;            // bins of each column, which is the number of NaN's
    const int* kind;            // of each column: HAS_NAN, IS_CODED, DRAWN
    const int* bag;             // rows that are in; none if all are
    const Bits* keys;           // of the rows' draws
    const float* lam;
    const float* hess;
    unsigned* largest;  // force and hessian, as bits
    Entry* order;       // rows of leaves of even depth
    Entry* other;       // and of odd depth
    Whole* slots;       // histograms: force << 32 | hessian, group by group, in each bin by bin
    Node* nodes;
    double* gain;   // of the best split of each node
    double* bound;  // the least gain on the way to each node, and its own
    int* child;    // of each node, 0 if it has none
    Split* splits;  // of each node and group
    Bits* sets;     // of each of these, bins that go left; none without columns of categories
    Pair* pairs;
    Item* parts;
    State* state;
    Step* steps;
    Whole* result;  // for the processor: RESULT words of the tree, of each node, of each leaf
    int* leaf;      // of each row
    Whole rows, count;  // of the features, and in the bag
    Whole columns;
    Whole most, deepest;
    Whole nodes_at_most, slots_at_most;
    Whole levels;
    Whole near;  // whether plan_round has room for what it reads of all nodes in shared memory
    Bits key;    // of this tree's draws
    double least_rows, least_weight, least_gain, l1, l2;
    double smooth, codes_l2, most_codes, most_alone, group_rows;  // of categories
};

// What leaves are worth in the end.
struct Leaves {
    const float* lam;
    const float* hess;
    const unsigned* largest;  // of these, as bits
    Bits* sums;               // of all leaves: forces, then hessians
    const double* shared;     // second derivatives that moving a leaf as a whole takes; may be none
    double* values;
    Whole bits;  // that the largest number may have
    double rate;
};

constexpr int RESULT = WITH_CODES ? 8 + SET : 8;  // the last are the bins that go left
enum { DONE, LEAVES, ROUNDS, LARGEST, LARGEST_HESSIAN };
enum { COLUMN, BIN, NAN_LEFT, LEAF, GAIN, FORCE, HESSIAN, COUNT };

__device__ inline int group_width(int group) { return group < GROUPS - 1 ? GROUP : LAST; }

__device__ inline const unsigned char* bins_of(const Grow& grow, int row) {
    return grow.bins + (Whole)row * WIDTH;
}

__device__ inline Whole* slot_at(const Grow& grow, int slot) { return grow.slots + (Whole)slot * SIZE; }

__device__ inline Entry* order_at(const Grow& grow, int depth) {
    return depth & 1 ? grow.other : grow.order;
}

// The sizes of steps, as `find_steps` of engines/steps.py.
__device__ inline double step_of(const Grow& grow) {
    return widened(grow.largest[0]) / (double)(grow.levels / 2);
}
__device__ inline double step_hess_of(const Grow& grow) {
    return widened(grow.largest[1]) / (double)grow.levels;
}

__device__ inline Bits* set_at(const Grow& grow, int node, int group) {
    return grow.sets + ((Whole)node * GROUPS + group) * SET;
}

// Whether a row with bin `b` goes left at a node; `many` is the bin of NaN.
__device__ inline bool goes_left(
    const Grow& grow, int node, int column, int b, int many, int bin, bool nan_left
) {
    if (WITH_CODES && bin == CODED) {
        return set_at(grow, node, column / GROUP)[b >> 6] >> (b & 63) & 1;
    }
    return b == many ? nan_left : b <= bin;
}

// Of a node whose rows were parted.
__device__ inline bool is_left_smaller(const Node& node) {
    return 2 * (Whole)node.lefts <= node.end - node.begin;
}

// How many pieces of a length so many rows have.
__device__ inline int pieces(Whole rows, int length) { return (int)((rows + length - 1) / length); }

__device__ inline void clear_slot(const Grow& grow, int slot) {
    Whole* own = slot_at(grow, slot);
    for (int k = threadIdx.x; k < SIZE; k += blockDim.x) own[k] = 0;
}
