// Documents as somebody types them: every value is text until it is sent. Pure functions.
let made = 0;

// A document; `key` stays the same whatever is typed.
export const makeDocument = (id, label, values) => ({ key: ++made, id, label, values });

// A name that no document has yet.
export function newName(documents, wish) {
  const taken = new Set(documents.map((one) => one.id));
  if (wish && !taken.has(wish)) return wish;
  let number = wish ? 2 : documents.length + 1;
  const name = () => (wish ? `${wish} ${number}` : `d${number}`);
  while (taken.has(name())) number++;
  return name();
}

// What is no number goes as it is: the server says what is wrong with it.
function sent(text, categories) {
  const plain = text.trim();
  if (plain === "") return null;
  const category = categories?.find((one) => String(one) === plain);
  if (category !== undefined) return category;
  return Number.isFinite(Number(plain)) ? Number(plain) : plain;
}

// The body of POST /rank.
export function rankBody({ model, documents, allowsMissing }) {
  const valuesOf = (one) => Object.fromEntries(model.features.map(({ name, categories }, i) =>
    [name, sent(one.values[i], categories)]));
  const body = { model: model.name,
    documents: documents.map((one) => ({ id: one.id, features: valuesOf(one) })) };
  return allowsMissing ? { ...body, missing: "allow" } : body;
}

// The body of POST /explain: the same, and labels where there are some.
export function explainBody(state) {
  const body = rankBody(state);
  const labels = state.documents.map((one) => sent(one.label));
  if (labels.every((label) => label === null)) return body;
  body.labels = labels;
  if (state.objective) body.objective = state.objective;
  if (sent(state.k) !== null) body.k = sent(state.k);
  return body;
}

// Mulberry32 by Tommy Ettinger: the same number gives the same example.
function drawer(seed) {
  let at = seed;
  return () => {
    at = (at + 0x6d2b79f5) | 0;
    let t = Math.imul(at ^ (at >>> 15), 1 | at);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const GRADES = ["0", "0", "1", "0", "2", "0", "3", "1"]; // of the documents of an example

// One of a feature's categories, or a value within its range with few digits.
function within({ least, most, categories }, draw) {
  if (categories) return String(categories[Math.floor(draw() * categories.length)]);
  const low = least ?? 0, high = Math.max(low, most ?? 1);
  const value = Number((low + (high - low) * draw()).toPrecision(3));
  return String(Math.min(high, Math.max(low, value)));
}

export function example(features, seed) {
  const draw = drawer(seed);
  return GRADES.map((grade, i) => makeDocument(`d${i + 1}`, grade,
    features.map((feature) => within(feature, draw))));
}
