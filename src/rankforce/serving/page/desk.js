// What lies on the desk: documents, what is asked about them, and the newest answer.
import { explainBody, rankBody } from "./documents.js";
import * as server from "./server.js";

const WAIT = 150; // ms after the last key
const AGAIN = 1000; // ms after an answer that the server has no time
const TRIES = 60;

export class Desk {
  // `show` is told of news: asking(), ranked(), explained(), renewed(), mistake(error); the model
  // was renewed where the server has another version by now.
  constructor(show) {
    this.show = show;
    this.model = null;
    this.documents = [];
    this.allowsMissing = false;
    this.objective = ""; // the model's own
    this.k = "";
    this.chosen = null; // keys of documents
    this.beside = null;
    this.ranking = []; // {key, rank, score}, best first
    this.explained = new Map(); // by key: contributions, rest, force, kind
    this.told = {}; // objective and k of the forces, metrics of the list
    this.before = new Map(); // ranks by key, as they were before the last edit
    this.edit = null;
    this.isRanked = false; // whether the ranking is that of the documents as they are
    this.number = 0;
  }

  get features() {
    return this.model.features;
  }

  document(key) {
    return this.documents.find((one) => one.key === key);
  }

  // Changes something. Keys typed one after the other into one field are one edit.
  change(edit, act) {
    if (edit !== this.edit) this.before = new Map(this.ranking.map(({ key, rank }) => [key, rank]));
    this.edit = edit;
    act();
    this.ranking = this.ranking.filter(({ key }) => this.document(key));
    this.ask();
  }

  // Other documents: nothing that was known of the old ones holds.
  replace(documents) {
    this.documents = documents;
    this.ranking = [];
    this.explained = new Map();
    this.told = {};
    this.before = new Map();
    this.edit = null;
    this.chosen = this.beside = null;
    this.ask();
  }

  ask() {
    this.number++;
    this.tries = 0;
    this.isRanked = false;
    this.stop?.abort();
    this.show.asking();
    this.sendAfter(WAIT);
  }

  sendAfter(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(this.number), wait);
  }

  fail(error) {
    this.show.mistake(error);
    if (error.status === 503 && ++this.tries < TRIES) this.sendAfter(AGAIN);
  }

  // The ranking first: what explains it takes longer, and not every model has it.
  async send(number) {
    const isNewest = () => number === this.number;
    const keys = this.documents.map((one) => one.key);
    this.stop = new AbortController();
    if (!keys.length) {
      this.accept(keys, []);
      return this.learn(keys, { ranking: [] });
    }
    try {
      await this.rank(keys, isNewest);
      if (isNewest()) await this.explain(keys, isNewest);
    } catch (error) {
      if (isNewest() && error.name !== "AbortError") this.fail(error);
    }
  }

  async rank(keys, isNewest) {
    const { ranking, version } = await server.rank(rankBody(this), this.stop.signal);
    if (!isNewest()) return;
    this.accept(keys, ranking);
    if (version !== this.model.version) this.show.renewed();
  }

  // Contributions need no labels: a mistake in those is told, and takes nothing else away.
  async explain(keys, isNewest) {
    const [whole, plain] = [explainBody(this), rankBody(this)];
    let told = null, mistake = null;
    for (const body of whole.labels ? [whole, plain] : [plain]) {
      told ??= await server.explain(body, this.stop.signal).catch((error) => {
        mistake ??= error;
        return null;
      });
    }
    if (!isNewest()) return;
    this.learn(keys, told ?? { ranking: [] });
    if (mistake) this.fail(mistake);
  }

  accept(keys, ranking) {
    this.ranking = ranking.map(({ row, rank, score }) => ({ key: keys[row], rank, score }));
    const isThere = (key) => keys.includes(key);
    if (!isThere(this.chosen)) this.chosen = this.ranking[0]?.key ?? null;
    if (!isThere(this.beside)) this.beside = null;
    this.isRanked = true;
    this.show.ranked();
  }

  learn(keys, { ranking, objective, k, metrics }) {
    this.explained = new Map(ranking.map((one) => [keys[one.row], one]));
    this.told = { objective, k, metrics };
    this.show.explained();
  }

  // The document that the chosen one is compared with: the next one, unless one was named.
  get other() {
    if (this.beside !== null && this.beside !== this.chosen) return this.beside;
    const at = this.ranking.findIndex(({ key }) => key === this.chosen);
    return (this.ranking[at + 1] ?? this.ranking[at - 1])?.key ?? null;
  }
}
