// The forces of one query in float64, from objectives as tables: the arithmetic of the kernels; and
// scores that move a document. Pure functions of numbers; nothing here knows of the page.
const { labelColumn, deficits, drawer } = rankforce.pairSets;
const { partPairs } = rankforce.weights;

// What pushes where no pair does, by kind of part: forces of whole lists are the cross entropy of
// NDCG (Bruch et al. 2021), those of points least squares.
const WITHOUT_PAIRS = { list: "the list as a whole", point: "each label by itself" };
const besidePairs = (objective) =>
  objective.parts.map((part) => WITHOUT_PAIRS[part.kind]).find(Boolean);
const sum = (values) => values.reduce((total, value) => total + value, 0);

// Softmax of all scores, of all but the best (`quota`), and 1 - rho of the best: where that one
// is next to 1, quotas keep the digits that 1 - rho loses.
function softmax(scores) {
  const best = scores.reduce((top, score, i) => (score > scores[top] ? i : top), 0);
  const second = Math.max(...scores.filter((_, i) => i !== best));
  const e = scores.map((score, i) => (i === best ? 0 : Math.exp(score - second)));
  const total = sum(e);
  const odds = total * Math.exp(second - scores[best]);
  const rest = odds / (1 + odds);
  const quota = e.map((value) => value / total);
  const rho = quota.map((value, i) => (i === best ? 1 / (1 + odds) : value * rest));
  return { best, rest, quota, rho };
}

// The terms of the next order: rho_i * sum over j != i of term_j / (1 - rho_j).
function nextOrder(terms, { best, quota, rho }) {
  const shared = terms.map((term, i) => (i === best ? 0 : term / (1 - rho[i])));
  const others = sum(shared);
  return terms.map((_, i) =>
    i === best ? rho[i] * others : rho[i] * (others - shared[i]) + quota[i] * terms[best]);
}

// Forces and hessians of a part before any norm.
function listForces(part, tables, query, scores, iteration) {
  const none = scores.map(() => 0);
  if (part.kind === "point") {
    const labels = labelColumn(query, part.source);
    return { lambda: scores.map((score, i) => labels[i] - score), hess: scores.map(() => 1) };
  }
  if (scores.length < 2) return { lambda: none, hess: none };
  const gainOf = new Map(tables[part.labels].map((y, i) => [y, tables[part.gains][i]]));
  const draw = drawer(part.seed, iteration, query.key);
  const worth = Array.from(labelColumn(query, part.source),
    (y, i) => gainOf.get(y) + (1 - draw(i)));
  const total = sum(worth);
  const soft = softmax(scores);
  const { best, rest, rho } = soft;
  const first = worth.map((value, i) => value / total - rho[i]);
  const second = nextOrder(first, soft);
  const third = nextOrder(second, soft);
  return {
    lambda: first.map((term, i) => term + second[i] + third[i]),
    hess: rho.map((value, i) => value * (i === best ? rest : 1 - value)),
  };
}

// Documents by rank, best score first, ties by document number; and the rank of each document.
function rankDocuments(scores) {
  const order = Array.from(scores, (_, i) => i).sort((a, b) => scores[b] - scores[a] || a - b);
  const rank = new Int32Array(order.length);
  order.forEach((document, r) => (rank[document] = r));
  return { order, rank };
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
  const isDivided = norm === "lightgbm" || norm === "apart";
  const isApart = isDivided && scores.some((score) => score !== scores[0]);
  const { first, lambda, hess, total } = pushPairs(pairs, scores, part.cost, isApart);
  const factor = part.weight * normFactor(norm, total, lambda);
  // A cost whose second derivative changes sign, and forces in units of their spread, make
  // gradient steps.
  const isStep = (norm === "std" || part.cost.name === "sigmoid") && factor > 0 && total > 0;
  for (let i = 0; i < scores.length; i++) {
    whole.lambda[i] += factor * lambda[i];
    whole.hess[i] += isStep ? part.weight : factor * hess[i];
  }
  whole.total += part.weight * total;
  whole.count += pairs.count;
  for (let p = 0; whole.pairs && p < pairs.count; p++) {
    const [hi, lo] = [pairs.hi[p], pairs.lo[p]];
    if (whole.of !== undefined && hi !== whole.of && lo !== whole.of) continue;
    whole.pairs.push({ hi, lo, weight: part.weight * pairs.weight[p], force: factor * first[p] });
  }
}

// Adds a part whose forces are those of the whole list; LightGBM's norm is one of pairs.
function addList(part, { lambda, hess }, norm, whole) {
  const factor = norm === "std" ? normFactor(norm, 0, lambda) : 1;
  const isStep = norm === "std" && factor > 0;
  for (let i = 0; i < lambda.length; i++) {
    whole.lambda[i] += part.weight * factor * lambda[i];
    whole.hess[i] += part.weight * (isStep ? 1 : hess[i]);
  }
}

// Gives a sum of parts, found without one, its norm.
function normSum({ norm, parts }, whole) {
  const factor = normFactor(norm, whole.total, whole.lambda);
  const isStep = norm === "std" ||
    parts.some((part) => part.weight > 0 && part.cost?.name === "sigmoid");
  const isMoved = factor > 0 && spread(whole.lambda) > 0;
  for (let i = 0; i < whole.lambda.length; i++) {
    whole.lambda[i] *= factor;
    whole.hess[i] = isStep ? Number(isMoved) : factor * whole.hess[i];
  }
  for (const pair of whole.pairs ?? []) pair.force *= factor;
}

// How the parts of a sum with a norm are found: of LightGBM's, what a pair alone decides.
const NORM_WITHIN = { none: "none", lightgbm: "apart", std: "none" };

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
    total: 0,
    pairs: options.pairs ? [] : undefined,
    of: options.of,
  };
  for (const part of objective.parts) {
    if (!(part.weight > 0)) continue;
    const norm = NORM_WITHIN[objective.norm] ?? part.norm ?? options.norm ?? "none";
    if (part.kind in WITHOUT_PAIRS) {
      addList(part, listForces(part, tables, query, scores, iteration), norm, whole);
    } else {
      addPart(part, partPairs(part, tables, query, ranked, iteration), scores, norm, whole);
    }
  }
  if (objective.norm) normSum(objective, whole);
  return whole;
}

// False and missed documents of the top k with a larger force on the false one, as
// [false, missed] (Marcuzzi et al. 2023, definition 3.1, at the cutoff only).
function incoherent(objective, query, scores, lambda, k) {
  const part = objective.parts[0];
  const own = labelColumn(query, part.source ?? null);
  const label = own.map((y) => (part.binary ? Number(y > 0) : Number.isNaN(y) ? -Infinity : y));
  const { order } = rankDocuments(scores);
  const top = Math.min(k, order.length);
  const { need, kind } = deficits(label, order, top, part.pairs?.missed);
  const needed = (d) => need.get(kind(label[d])) ?? 0;
  const wrong = order.slice(0, top).filter((d) => needed(d) < 0);
  const missed = order.slice(top).filter((d) => label[d] > 0 && needed(d) > 0);
  return wrong.flatMap((a) => missed.filter((b) => lambda[a] > lambda[b]).map((b) => [a, b]));
}

// NDCG@k with gain 2^y - 1; NaN without a relevant document.
function ndcg(labels, scores, k) {
  const sum = (ys) =>
    ys.slice(0, k).reduce((total, y, r) => total + (2 ** y - 1) / Math.log2(r + 2), 0);
  const ideal = sum(Array.from(labels).sort((a, b) => b - a));
  return sum(rankDocuments(scores).order.map((document) => labels[document])) / ideal;
}

// The scores after the document at rank `from` went to rank `to`: it gets one strictly between
// its new neighbours, or beyond the end. Where no number lies between them, because they tie, the
// scores by rank stay and documents change places instead; ties that would still order them by
// number are then broken by a hair.
function moveDocument(scores, from, to) {
  const { order } = rankDocuments(scores);
  const [moved] = order.splice(from, 1);
  order.splice(to, 0, moved);
  const next = Float64Array.from(scores);
  const sorted = Float64Array.from(scores).sort().reverse();
  const spread = sorted[0] - sorted.at(-1);
  const step = spread > 0 ? spread / Math.max(scores.length - 1, 1) : 1;
  const above = to > 0 ? scores[order[to - 1]] : null;
  const below = to + 1 < order.length ? scores[order[to + 1]] : null;
  if (above === null) next[moved] = below + step;
  else if (below === null) next[moved] = above - step;
  else next[moved] = below + (above - below) / 2;
  const isBetween =
    (above === null || above > next[moved]) && (below === null || next[moved] > below);
  if (isBetween) return next;
  const hair = 1e-6 * Math.max(spread, Math.abs(sorted[0]), 1);
  order.forEach((document, r) => {
    next[document] = sorted[r];
    if (r === 0) return;
    const last = next[order[r - 1]];
    const isBehind = last > sorted[r] || (last === sorted[r] && order[r - 1] < document);
    if (!isBehind) next[document] = last - hair;
  });
  return next;
}

rankforce.forces = { besidePairs, compute, incoherent, moveDocument, ndcg, rankDocuments };
