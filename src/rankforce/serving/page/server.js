// The server's answers, and its mistakes as sentences.
const KEPT = "rankforce token"; // for as long as the tab is open

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const token = () => sessionStorage.getItem(KEPT);
export const keepToken = (text) => sessionStorage.setItem(KEPT, text);

async function ask(path, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const answer = await fetch(path, { ...options, headers }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  });
  const told = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `The server answered ${answer.status} without a reason.` };
  });
  if (!answer.ok) throw new Refused(answer.status, told.error);
  return told;
}

const post = (path, body, signal) => ask(path, { method: "POST", signal,
  headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

// Models, with features as {name, least, most, categories}; what is not known of one is null.
export async function models() {
  const told = await ask("models");
  return told.models.map((model) => ({ ...model, features: model.features.map((one) => ({
    name: one.name, least: one.range?.[0] ?? null, most: one.range?.[1] ?? null,
    categories: one.categories ?? null })) }));
}

export const objectives = () => ask("page/objectives.json");
export const rank = (body, signal) => post("rank", body, signal);
export const explain = (body, signal) => post("explain", body, signal);
