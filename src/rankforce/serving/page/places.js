// Which field a sentence of the server is about: "documents[3].features.bm25: expected a number".
function featureOf(rest, features) {
  const numbered = /^\[(\d+)\]/.exec(rest);
  if (numbered) return Number(numbered[1]);
  const named = features.map(({ name }, i) => ({ name, i }))
    .filter(({ name }) => rest.startsWith(`.${name}:`))
    .sort((a, b) => b.name.length - a.name.length);
  return named.length ? named[0].i : null;
}

// { field: "value" | "label" | "id" | "row" | "objective" | "k" | "model", row, feature, message };
// null where no field of the page is meant.
export function placeOf(sentence, features) {
  const message = (start) => sentence.slice(sentence.indexOf(": ", start) + 2);
  const alone = /^(objective|k|model): /.exec(sentence);
  if (alone) return { field: alone[1], message: message(0) };
  const label = /^labels\[(\d+)\]: /.exec(sentence);
  if (label) return { field: "label", row: Number(label[1]), message: message(0) };
  const inside = /^documents\[(\d+)\](\.features|\.id)?/.exec(sentence);
  if (!inside) return null;
  const row = Number(inside[1]);
  if (inside[2] === ".id") return { field: "id", row, message: message(0) };
  const feature = inside[2] ? featureOf(sentence.slice(inside[0].length), features) : null;
  if (feature === null || !(feature in features)) return { field: "row", row, message: message(0) };
  const end = inside[0].length + features[feature].name.length; // a name may hold a colon itself
  return { field: "value", row, feature, message: message(end) };
}
