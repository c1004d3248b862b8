// The state of the page as the part of its address behind #, which stays in the browser.
import { makeDocument } from "./documents.js";

const MOST = 40_000; // bytes; more documents than that are not for a link

const encode = (bytes) => btoa(String.fromCodePoint(...bytes))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
function decode(text) {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (one) => one.codePointAt(0)));
}

// Values are in the order of the model's features.
export function write(desk) {
  const at = (key) => desk.documents.findIndex((one) => one.key === key);
  const said = JSON.stringify({ model: desk.model.name, objective: desk.objective, k: desk.k,
    missing: desk.allowsMissing, chosen: at(desk.chosen), beside: at(desk.beside),
    documents: desk.documents.map((one) => [one.id, one.label, ...one.values]) });
  const bytes = new TextEncoder().encode(said);
  return bytes.length > MOST ? "" : `#${encode(bytes)}`;
}

// What `write` wrote, or null where the address says nothing that is known.
export function read(hash, models) {
  let said;
  try {
    said = JSON.parse(decode(hash.slice(1)));
  } catch {
    return null;
  }
  const model = models.find(({ name }) => name === said?.model);
  const isWhole = Array.isArray(said?.documents) && said.documents.every((one) =>
    Array.isArray(one) && one.length === 2 + (model?.features.length ?? 0) &&
    one.every((text) => typeof text === "string"));
  if (!model || !isWhole) return null;
  const documents = said.documents.map(([id, label, ...values]) => makeDocument(id, label, values));
  return { model, documents, objective: String(said.objective), k: String(said.k),
    allowsMissing: said.missing === true, chosen: documents[said.chosen]?.key ?? null,
    beside: documents[said.beside]?.key ?? null };
}
