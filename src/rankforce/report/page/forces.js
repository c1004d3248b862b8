// The forces of one query in float64, from objectives as tables: the arithmetic of the kernels.
// Pure functions of numbers; nothing here knows of the page.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const MASK = (1n << 64n) - 1n;

  // Documents by rank, best score first, ties by document number; and the rank of each document.
  function rankDocuments(scores) {
    const order = Array.from(scores, (_, i) => i).sort((a, b) => scores[b] - scores[a] || a - b);
    const rank = new Int32Array(order.length);
    order.forEach((document, r) => (rank[document] = r));
    return { order, rank };
  }

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

  function idealOf(part, tables, seen) {
    if (part.ideal === "none") return 1;
    if (part.ideal === "relevant") return seen.positive;
    if (part.ideal === "hits") return Math.min(seen.positive, part.swaps_cutoff ?? Infinity);
    const values = tables[part.ideal_values].slice(0, seen.label.length).sort((a, b) => b - a);
    const byLabel = Array.from(seen.label, (_, i) => i);
    byLabel.sort((a, b) => (seen.label[b] > seen.label[a]) - (seen.label[b] < seen.label[a]));
    return byLabel.reduce((sum, document, r) => sum + seen.gain[document] * values[r], 0);
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

  // How many documents of each label the ideal top has more than the top of the list.
  function deficits(label, order, top) {
    const need = new Map();
    const count = (y, by) => need.set(y, (need.get(y) ?? 0) + by);
    const best = Array.from(label).sort((a, b) => (b > a) - (b < a));
    best.slice(0, top).forEach((y) => count(y, 1));
    order.slice(0, top).forEach((document) => count(label[document], -1));
    return need;
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
    const { cutoff, extended } = part.pairs;
    const n = order.length;
    const top = Math.min(cutoff ?? n, n);
    const members = order.slice(0, top);
    if (extended === null) return members;
    const strategy = plainStrategy(extended, seen, top);
    const need = deficits(seen.label, order, top);
    const left = new Map();
    for (const document of order.slice(top)) {
      left.set(seen.label[document], (left.get(seen.label[document]) ?? 0) + 1);
    }
    for (let r = top; r < n; r++) {
      const y = seen.label[order[r]];
      const needed = need.get(y) ?? 0;
      if (!(y > 0) || needed <= 0) continue;
      // Selection sampling: every subset of the needed size has the same chance.
      const isTaken = strategy !== "random" || draw(r) * left.get(y) < needed;
      if (strategy === "random") left.set(y, left.get(y) - 1);
      if (!isTaken) continue;
      members.push(order[r]);
      if (strategy !== "all") need.set(y, needed - 1);
    }
    return members;
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

  // What the ranks of a pair are worth, as a function of hi and lo.
  function rankTerm(part, tables, seen, ranked) {
    const { order, rank } = ranked;
    if (part.swaps !== null) {
      const gains = order.map((d) => (part.swaps === "err" ? seen.gain[d] : Number(seen.label[d] > 0)));
      const side = sides[part.swaps](gains, part.swaps_cutoff ?? Infinity);
      return (hi, lo) => {
        const h = side[rank[hi]];
        const l = side[rank[lo]];
        return rank[hi] < rank[lo] ? h[0] * Math.abs(h[1] - l[2]) : l[3] * Math.abs(h[4] - l[5]);
      };
    }
    const position = part.position === null ? null : tables[part.position];
    const distance = part.distance === null ? null : tables[part.distance];
    const correction = part.correction === null ? null : tables[part.correction];
    return (hi, lo) => {
      const i = rank[hi];
      const j = rank[lo];
      let term = part.constant;
      if (position) term += Math.abs(position[i] - (part.position_of_hi_only ? 0 : position[j]));
      if (distance) {
        term += distance[Math.abs(i - j)] * (correction ? correction[Math.max(i, j)] : 1);
      }
      return term;
    };
  }

  function labelTerm(part, seen) {
    if (part.label_term === "one") return () => 1;
    if (part.label_term === "higher") return (hi) => seen.gain[hi];
    return (hi, lo) => seen.gain[hi] - seen.gain[lo];
  }

  // A list of pairs as columns: a list of 2,000 documents has two million of them.
  function pairList() {
    let room = 64;
    const list = { hi: new Int32Array(room), lo: new Int32Array(room), weight: new Float64Array(room) };
    list.count = 0;
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

  function spread(values) {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (largest < 1e-300) return 0;
    const square = values.reduce((sum, value) => sum + (value / largest) ** 2, 0); // the mean is 0
    return largest * Math.sqrt(square / values.length);
  }

  // What a norm multiplies the forces of a query by.
  function normFactor(norm, total, lambda) {
    if (norm === "lightgbm") return total > 0 ? Math.log1p(2 * total) / (2 * total * Math.LN2) : 0;
    if (norm !== "std") return 1;
    const deviation = spread(lambda);
    return deviation > 0 ? 1 / deviation : 0;
  }

  // The forces of a part before any norm; `first` has that of each pair.
  function pushPairs(pairs, scores, cost, isApart) {
    const { hi, lo, weight, count } = pairs;
    const { sigma, center } = cost;
    const isSigmoid = cost.name === "sigmoid";
    const first = new Float64Array(count);
    const lambda = new Float64Array(scores.length);
    const hess = new Float64Array(scores.length);
    let total = 0;
    for (let p = 0; p < count; p++) {
      const x = scores[hi[p]] - scores[lo[p]];
      const z = sigma * x + center;
      const y = Math.exp(-Math.abs(z));
      const base = (sigma * weight[p]) / ((1 + y) * (isApart ? 0.01 + Math.abs(x) : 1));
      const bump = (base * y) / (1 + y);
      first[p] = isSigmoid ? bump : base * (z > 0 ? y : 1);
      total += first[p];
      lambda[hi[p]] += first[p];
      lambda[lo[p]] -= first[p];
      hess[hi[p]] += sigma * bump;
      hess[lo[p]] += sigma * bump;
    }
    return { first, lambda, hess, total };
  }

  // Adds a part, normalised by itself, to the whole.
  function addPart(part, pairs, scores, norm, whole) {
    const isApart = norm === "lightgbm" && scores.some((score) => score !== scores[0]);
    const { first, lambda, hess, total } = pushPairs(pairs, scores, part.cost, isApart);
    const factor = part.weight * normFactor(norm, total, lambda);
    // A cost whose second derivative changes sign, and forces in units of their spread, make
    // gradient steps.
    const isStep = (norm === "std" || part.cost.name === "sigmoid") && factor > 0 && total > 0;
    for (let i = 0; i < scores.length; i++) {
      whole.lambda[i] += factor * lambda[i];
      whole.hess[i] += isStep ? part.weight : factor * hess[i];
    }
    whole.count += pairs.count;
    for (let p = 0; whole.pairs && p < pairs.count; p++) {
      const [hi, lo] = [pairs.hi[p], pairs.lo[p]];
      if (whole.of !== undefined && hi !== whole.of && lo !== whole.of) continue;
      whole.pairs.push({ hi, lo, weight: part.weight * pairs.weight[p], force: factor * first[p] });
    }
  }

  // Ranks, forces and hessians of one query, one per document; `count` pairs have a weight.
  // With options.pairs the pairs themselves, with options.of only those of one document.
  function compute(objective, tables, query, options) {
    const scores = Array.from(options.scores);
    const ranked = rankDocuments(scores);
    const iteration = options.iteration ?? objective.iteration;
    const whole = {
      rank: ranked.rank,
      lambda: new Float64Array(scores.length),
      hess: new Float64Array(scores.length),
      count: 0,
      pairs: options.pairs ? [] : undefined,
      of: options.of,
    };
    for (const part of objective.parts) {
      if (!(part.weight > 0)) continue;
      const pairs = partPairs(part, tables, query, ranked, iteration);
      addPart(part, pairs, scores, part.norm ?? options.norm ?? "none", whole);
    }
    return whole;
  }

  // False and missed documents of the top k with a larger force on the false one, as
  // [false, missed] (Marcuzzi et al. 2023, definition 3.1, at the cutoff only).
  function incoherent(objective, query, scores, lambda, k) {
    const part = objective.parts[0];
    const own = part.kind === "labels" ? labelColumn(query, part.source) : labelColumn(query, null);
    const label = own.map((y) => (part.binary ? Number(y > 0) : Number.isNaN(y) ? -Infinity : y));
    const { order } = rankDocuments(scores);
    const top = Math.min(k, order.length);
    const need = deficits(label, order, top);
    const wrong = order.slice(0, top).filter((d) => need.get(label[d]) < 0);
    const missed = order.slice(top).filter((d) => label[d] > 0 && (need.get(label[d]) ?? 0) > 0);
    return wrong.flatMap((a) => missed.filter((b) => lambda[a] > lambda[b]).map((b) => [a, b]));
  }

  // NDCG@k with gain 2^y - 1; NaN without a relevant document.
  function ndcg(labels, scores, k) {
    const sum = (ys) =>
      ys.slice(0, k).reduce((total, y, r) => total + (2 ** y - 1) / Math.log2(r + 2), 0);
    const ideal = sum(Array.from(labels).sort((a, b) => b - a));
    return sum(rankDocuments(scores).order.map((document) => labels[document])) / ideal;
  }

  rankforce.forces = { compute, incoherent, ndcg, rankDocuments };
})();
