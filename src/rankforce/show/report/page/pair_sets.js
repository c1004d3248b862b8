// Labels as a part of an objective sees them, and which documents its pairs must have: the pair
// sets of the kernels, down to their random draws. Pure functions of numbers.
const MASK = (1n << 64n) - 1n;

function labelColumn(query, source) {
  const column = source === null ? query.labels : query.sources[source];
  return Float64Array.from(column, (label) => (label === null ? NaN : label));
}

// Labels and gains as a part of an objective sees them. A missing label comes last and is worth
// nothing; its document, and others that a tier leaves out, are in no pair.
function readLabels(part, tables, query) {
  const own = labelColumn(query, part.source);
  const above = part.above.map((source) => labelColumn(query, source));
  const gainOf = new Map(tables[part.labels].map((y, i) => [y, tables[part.gains][i]]));
  const label = own.map((y) => (part.binary ? Number(y > 0) : Number.isNaN(y) ? -Infinity : y));
  const gain = label.map((y) => gainOf.get(y) ?? 0);
  const isOut = Array.from(
    own,
    (y, i) =>
      Number.isNaN(y) ||
      (part.leave_out_zeros && y === 0) ||
      above.some((values) => Number.isNaN(values[i])),
  );
  const isTold = above.length ? (a, b) => above.some((values) => values[a] !== values[b]) : null;
  const positive = label.reduce((count, y) => count + Number(y > 0), 0);
  return { label, gain, isOut, isTold, positive };
}

// SplitMix64 (Steele et al. 2014), keyed as in the kernels.
function splitmix64(x) {
  let z = (x + 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

function drawer(seed, iteration, queryKey) {
  const start = splitmix64(BigInt(seed)) ^ (BigInt(iteration) & MASK);
  const key = splitmix64(splitmix64(start) ^ BigInt(queryKey));
  return (rank) => Number(splitmix64(key ^ BigInt(rank)) >> 11n) * 2 ** -53;
}

// How many documents of each label the ideal top has more than the top of the list. Where
// `missed` is "label", all labels of the ideal top count as one (`kind`), and so do all others.
function deficits(label, order, top, missed) {
  const need = new Map();
  const best = Array.from(label).sort((a, b) => (b > a) - (b < a)).slice(0, top);
  const kind = (y) => (missed === "label" ? y >= best.at(-1) : y);
  const count = (y, by) => need.set(kind(y), (need.get(kind(y)) ?? 0) + by);
  best.forEach((y) => count(y, 1));
  order.slice(0, top).forEach((document) => count(label[document], -1));
  return { need, kind };
}

// The hybrid strategies decide by labels and cutoff alone (Marcuzzi et al. 2023, section 4).
function plainStrategy(strategy, seen, cutoff) {
  if (!strategy.startsWith("all-")) return strategy;
  const positive = Array.from(seen.label).filter((y) => y > 0).sort((a, b) => b - a);
  const inTop = positive.slice(0, cutoff);
  const reaches = positive.length > 0 && positive.at(-1) === inTop.at(-1);
  return reaches ? strategy.slice("all-".length) : "all";
}

// The documents of which one must be in a pair: all, the top, or the top extended to X.
function membersOf(part, seen, order, draw) {
  const { cutoff, extended, missed } = part.pairs;
  const n = order.length;
  const top = Math.min(cutoff ?? n, n);
  const members = order.slice(0, top);
  if (extended === null) return members;
  const strategy = plainStrategy(extended, seen, top);
  const { need, kind } = deficits(seen.label, order, top, missed);
  // Also where no document of the top stands in their place.
  if (missed === "label" && strategy === "all") need.set(true, n);
  const left = new Map();
  const below = order.map((document) => seen.label[document]).slice(top);
  for (const y of below) if (y > 0) left.set(kind(y), (left.get(kind(y)) ?? 0) + 1);
  for (let r = top; r < n; r++) {
    const y = below[r - top];
    const needed = need.get(kind(y)) ?? 0;
    if (!(y > 0) || needed <= 0) continue;
    // Selection sampling: every subset of the needed size has the same chance.
    const isTaken = strategy !== "random" || draw(r) * left.get(kind(y)) < needed;
    if (strategy === "random") left.set(kind(y), left.get(kind(y)) - 1);
    if (!isTaken) continue;
    members.push(order[r]);
    if (strategy !== "all") need.set(kind(y), needed - 1);
  }
  return members;
}

rankforce.pairSets = { labelColumn, readLabels, deficits, drawer, membersOf };
