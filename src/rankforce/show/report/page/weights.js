// The pairs of one query with their weights, from a part of an objective as tables: what labels and
// ranks of a pair are worth. Pure functions of numbers.
const { readLabels, drawer, membersOf } = rankforce.pairSets;

function idealOf(part, tables, seen) {
  if (part.ideal === "none") return 1;
  if (part.ideal === "relevant") return seen.positive;
  if (part.ideal === "hits") return Math.min(seen.positive, part.swaps_cutoff ?? Infinity);
  const values = tables[part.ideal_values].slice(0, seen.label.length).sort((a, b) => b - a);
  const byLabel = Array.from(seen.label, (_, i) => i);
  byLabel.sort((a, b) => (seen.label[b] > seen.label[a]) - (seen.label[b] < seen.label[a]));
  return byLabel.reduce((sum, document, r) => sum + seen.gain[document] * values[r], 0);
}

// What a swap changes in a metric that is no sum over documents: six numbers A, P, Q, B, R, S
// per rank, and A |P - Q| where hi stands above lo, B |R - S| where it stands below.
const sides = {
  map(gain, cutoff) {
    let hits = 0;
    let inverse = 0;
    return gain.map((g, r) => {
      const inside = r < cutoff ? 1 / (r + 1) : 0;
      hits += Number(g > 0);
      inverse += g > 0 ? inside : 0;
      const value = hits * inside - inverse;
      return [1, value, value, 1, value + inside, value + inside];
    });
  },
  mrr(gain, cutoff) {
    const worth = (r) => (r < Math.min(cutoff, gain.length) ? 1 / (r + 1) : 0);
    const hits = gain.flatMap((g, r) => (g > 0 ? [r] : []));
    const [first = gain.length, second = gain.length] = hits;
    const best = worth(first);
    return gain.map((_, r) => {
      const after = worth(Math.min(r, second));
      return [Number(r === first), best, after, 1, best, Math.max(best, worth(r))];
    });
  },
  err(gain, cutoff) {
    const worth = [];
    let below = 0;
    for (let r = gain.length - 1; r >= 0; r--) {
      const inside = r < cutoff ? 1 / (r + 1) : 0;
      worth[r] = inside - below;
      below = gain[r] * inside + (1 - gain[r]) * below;
    }
    let passed = 1;
    return gain.map((g, r) => {
      passed *= 1 - g;
      const value = passed * worth[r];
      return [1 / (1 - g), value, value, 1 / (1 - g), value, value];
    });
  },
};

// What two ranks (from 0, that of hi first) are worth where that is a function of these alone.
function termOfRanks(part, tables) {
  const position = part.position === null ? null : tables[part.position];
  const distance = part.distance === null ? null : tables[part.distance];
  const correction = part.correction === null ? null : tables[part.correction];
  return (i, j) => {
    let term = part.constant;
    if (position) term += Math.abs(position[i] - (part.position_of_hi_only ? 0 : position[j]));
    if (distance) {
      term += distance[Math.abs(i - j)] * (correction ? correction[Math.max(i, j)] : 1);
    }
    return term;
  };
}

// What the ranks of a pair are worth, as a function of hi and lo.
function rankTerm(part, tables, seen, ranked) {
  const { order, rank } = ranked;
  if (part.swaps !== null) {
    const isGraded = part.swaps === "err";
    const gains = order.map((d) => (isGraded ? seen.gain[d] : Number(seen.label[d] > 0)));
    const side = sides[part.swaps](gains, part.swaps_cutoff ?? Infinity);
    return (hi, lo) => {
      const h = side[rank[hi]];
      const l = side[rank[lo]];
      return rank[hi] < rank[lo] ? h[0] * Math.abs(h[1] - l[2]) : l[3] * Math.abs(h[4] - l[5]);
    };
  }
  const term = termOfRanks(part, tables);
  return (hi, lo) => term(rank[hi], rank[lo]);
}

// What ranks alone make of the weights in a list of n, row by row: 0 outside the pair set, of
// which labels may add more. null where the weight is no function of the two ranks alone.
function rankWeights(part, tables, n) {
  if (part.kind !== "labels" || part.swaps !== null) return null;
  const term = termOfRanks(part, tables);
  const top = part.pairs.cutoff ?? n;
  const weight = (i, j) => (i === j || Math.min(i, j) >= top ? 0
    : term(Math.min(i, j), Math.max(i, j)));
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => weight(i, j)));
}

const candidatePairs = (weights) =>
  weights.reduce((sum, row, i) => sum + row.filter((w, j) => j > i && w !== 0).length, 0);

function labelTerm(part, seen) {
  if (part.label_term === "one") return () => 1;
  if (part.label_term === "higher") return (hi) => seen.gain[hi];
  return (hi, lo) => seen.gain[hi] - seen.gain[lo];
}

// A list of pairs as columns: a list of 2,000 documents has two million of them.
function pairList() {
  let room = 64;
  const list = {
    hi: new Int32Array(room),
    lo: new Int32Array(room),
    weight: new Float64Array(room),
    count: 0,
  };
  list.add = (hi, lo, weight) => {
    if (list.count === room) {
      room *= 2;
      for (const name of ["hi", "lo", "weight"]) {
        const wider = new list[name].constructor(room);
        wider.set(list[name]);
        list[name] = wider;
      }
    }
    list.hi[list.count] = hi;
    list.lo[list.count] = lo;
    list.weight[list.count] = weight;
    list.count += 1;
  };
  return list;
}

// The pairs of a part that have a weight.
function labelPairs(part, tables, query, ranked, iteration) {
  const seen = readLabels(part, tables, query);
  const { label, isOut, isTold } = seen;
  const ideal = idealOf(part, tables, seen);
  const pairs = pairList();
  if (!(ideal > 0)) return pairs;
  const draw = drawer(part.seed, iteration, query.key);
  const members = membersOf(part, seen, ranked.order, draw);
  const ofLabels = labelTerm(part, seen);
  const ofRanks = rankTerm(part, tables, seen, ranked);
  const isDone = Uint8Array.from(isOut, Number);
  for (const a of members) {
    if (isOut[a]) continue;
    isDone[a] = 1; // two members are a pair once
    for (let b = 0; b < isDone.length; b++) {
      if (isDone[b] || label[a] === label[b] || (isTold && isTold(a, b))) continue;
      const hi = label[a] > label[b] ? a : b;
      const lo = a + b - hi;
      const weight = (ofLabels(hi, lo) * ofRanks(hi, lo)) / ideal;
      if (weight !== 0) pairs.add(hi, lo, weight);
    }
  }
  return pairs;
}

function partPairs(part, tables, query, ranked, iteration) {
  if (part.kind === "labels") return labelPairs(part, tables, query, ranked, iteration);
  const pairs = pairList();
  for (const [hi, lo, weight] of query.preferences ?? []) {
    if (weight > 0) pairs.add(hi, lo, weight);
  }
  return pairs;
}

rankforce.weights = { partPairs, rankWeights, candidatePairs };
