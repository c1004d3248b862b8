// Text that somebody pastes, as documents: JSON as for /rank, a table with a header, or LETOR
// lines. Pure functions; a mistake is one sentence.
import { makeDocument } from "./documents.js";

// Names that a column may have, as in files.
const LABEL = ["label", "grade", "relevance", "y", "target"];
const QUERY = ["qid", "query_id", "query", "group_id"];
const ID = ["id", "doc_id", "docid", "document", "document_id", "url", "doc_url"];
const FEW = 5; // names in a sentence

const text = (value) =>
  value === null || value === undefined ? ""
    : typeof value === "object" ? JSON.stringify(value) : String(value);
const few = (names) => names.slice(0, FEW).join(", ") +
  (names.length > FEW ? ` and ${names.length - FEW} more` : "");

function roleOf(name, features) {
  if (features.some((feature) => feature.name === name)) return "feature";
  const said = name.toLowerCase();
  if (LABEL.includes(said)) return "label";
  if (QUERY.includes(said)) return "query";
  return ID.includes(said) ? "id" : "other";
}

// What is not as the model has it.
function notesOn(roles, features, absent) {
  const others = [...roles.keys()].filter((name) => roles.get(name) === "other");
  const lacking = features.map(({ name }) => name).filter((name) => !roles.has(name));
  if (lacking.length === features.length) {
    throw new Error(`None of the model's features is there: it has ${few(lacking)}.`);
  }
  const notes = others.length ? [`The model has no feature ${few(others)}: left out.`] : [];
  if (!lacking.length) return notes;
  return [...notes, `${lacking.length} of the model's features are not there` +
    (absent ? `, and count as ${absent}: ` : ": ") + `${few(lacking)}.`];
}

// Documents of rows, each a map of names to values; `absent` stands for what is not there.
function fromRows(rows, features, { absent, form }) {
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  const roles = new Map(names.map((name) => [name, roleOf(name, features)]));
  const columns = Object.fromEntries(["id", "label", "query"].map((role) =>
    [role, names.find((name) => roles.get(name) === role)]));
  const cell = (row, name, otherwise) => (row.has(name) ? text(row.get(name)) : otherwise);
  const queryOf = (row) => cell(row, columns.query, "");
  const kept = rows.filter((row) => queryOf(row) === queryOf(rows[0]));
  const documents = kept.map((row, i) => makeDocument(cell(row, columns.id, "") || `d${i + 1}`,
    cell(row, columns.label, ""), features.map(({ name }) => cell(row, name, absent))));
  const notes = notesOn(roles, features, absent);
  const { size } = new Set(rows.map(queryOf));
  if (size > 1) notes.push(`Of ${size} queries the first, ${queryOf(rows[0])}, is shown.`);
  return { form, documents, notes };
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function rowOf(values, features, place) {
  if (isObject(values)) return Object.entries(values);
  if (!Array.isArray(values)) {
    throw new Error(`${place}: expected values by name, or a list of ${features.length} values.`);
  }
  if (values.length !== features.length) {
    throw new Error(
      `${place} has ${values.length} values: the model has ${features.length} features.`);
  }
  return values.map((value, i) => [features[i].name, value]);
}

function readJson(given, features) {
  let told;
  try {
    told = JSON.parse(given);
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}.`, { cause: error });
  }
  const body = Array.isArray(told) ? { documents: told } : told;
  const list = body.documents ?? body.features;
  const place = body.documents ? "documents" : "features";
  if (!Array.isArray(list) || !list.length) {
    throw new Error('Expected {"documents": [{"id": ..., "features": {...}}]}, as for /rank.');
  }
  const rows = list.map((one, i) => {
    const { features: values, ...beside } = isObject(one) && "features" in one ? one
      : { features: one };
    const row = new Map([...rowOf(values, features, `${place}[${i}]`), ...Object.entries(beside)]);
    if (body.ids) row.set("id", body.ids[i]);
    if (body.labels) row.set("label", body.labels[i]);
    return row;
  });
  const found = fromRows(rows, features, { absent: "", form: "JSON" });
  return { ...found, asked: Array.isArray(told) ? {} : told };
}

// The cells of a line; one in quotes may hold the mark between cells.
function cells(line, mark) {
  const found = [];
  let cell = "", isQuoted = false;
  for (let i = 0; i < line.length; i++) {
    const sign = line[i];
    if (sign === '"' && isQuoted && line[i + 1] === '"') cell += line[++i];
    else if (sign === '"' && (isQuoted || cell.trim() === "")) isQuoted = !isQuoted;
    else if (sign === mark && !isQuoted) found.push(cell), (cell = "");
    else cell += sign;
  }
  return [...found, cell].map((one) => one.trim());
}

function readTable(lines, features) {
  const mark = ["\t", ",", ";"].find((one) => lines[0].text.includes(one)) ?? ",";
  const names = cells(lines[0].text, mark);
  const rows = lines.slice(1).map((line) => {
    const values = cells(line.text, mark);
    if (values.length !== names.length) {
      throw new Error(
        `Line ${line.number} has ${values.length} cells: the first line names ${names.length}.`);
    }
    return new Map(values.map((value, i) => [names[i], value]));
  });
  if (!rows.length) throw new Error("There is a first line with names, and no document below it.");
  return fromRows(rows, features, { absent: "", form: mark === "\t" ? "TSV" : "CSV" });
}

const IS_LETOR = /^\S+\s+(qid:\S+\s+)?\d+:\S+/;

// A feature of text by its number: by that name if the model has it, else by its place from 1.
function letorName(number, features, line) {
  if (features.some(({ name }) => name === number)) return number;
  const isNumbered = features.every(({ name }) => /^\d+$/.test(name));
  const at = Number(number) - 1;
  if (isNumbered || !(at in features)) {
    throw new Error(`Line ${line}: feature ${number} is not among the model's ${features.length}.`);
  }
  return features[at].name;
}

function readLetor(lines, features) {
  const rows = lines.map(({ text: line, number }) => {
    const [values, ...comment] = line.split("#");
    const [label, ...pairs] = values.trim().split(/\s+/);
    const row = new Map([["label", label]]);
    const told = comment.join("#").trim();
    if (told) row.set("id", /(?:docid\s*=\s*)(\S+)/.exec(told)?.[1] ?? told);
    for (const pair of pairs) {
      const [name, value] = [pair.slice(0, pair.indexOf(":")), pair.slice(pair.indexOf(":") + 1)];
      if (name === "qid") row.set("qid", value);
      else if (/^\d+$/.test(name)) row.set(letorName(name, features, number), value);
      else throw new Error(`Line ${number}: expected number:value, got ${pair}.`);
    }
    return row;
  });
  // Text leaves out what is 0.
  return fromRows(rows, features, { absent: "0", form: "LETOR lines" });
}

// { form, documents, notes, asked }: `asked` is what JSON says beside documents.
export function readDocuments(given, features) {
  const lines = given.split(/\r?\n/).map((line, i) => ({ text: line, number: i + 1 }))
    .filter((line) => line.text.trim() && !line.text.startsWith("#"));
  if (!lines.length) throw new Error("There is no text to read.");
  if (/^\s*[[{]/.test(given)) return readJson(given, features);
  const read = IS_LETOR.test(lines[0].text) ? readLetor : readTable;
  return { asked: {}, ...read(lines, features) };
}
