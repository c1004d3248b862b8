// One list with the force on each document as an arrow, under one or two objectives. Documents can
// be moved; ranks, forces and the metric follow.
const { html } = rankforce.dom;
const { compute, incoherent, moveDocument, rankDocuments } = rankforce.forces;
const { explorerControls, explorerPanels, explorerRows } = rankforce;

const FIRST = 20; // rows before "show all"; as far as the best document, up to FAR
const FAR = 60;
const USUAL_K = 10;

class Explorer {
  constructor(element, data) {
    this.data = data;
    this.runs = Object.keys(data.queries[0].scores);
    this.top = Math.max(4, ...data.queries.flatMap((query) => query.labels));
    this.run = this.runs[0];
    this.chosen = [data.objectives.list[0]];
    this.norm = "none";
    this.k = this.chosen[0].k ?? USUAL_K;
    this.ownK = false; // whether somebody chose k
    Object.assign(this, explorerControls.build(this)); // search, queries, list, detail, ...
    explorerControls.listen(this);
    element.replaceChildren(html("div", { class: "explorer" }, this.frame));
    this.offerAll();
    this.show(0);
  }

  // ---- what the controls choose --------------------------------------------------------------

  offerAll() {
    explorerControls.fillQueries(this, this.data.queries.map((_, i) => i));
  }

  filter() {
    const text = this.search.value.trim().toLowerCase();
    const has = (query) => `${query.id} ${query.why ?? ""}`.toLowerCase().includes(text);
    const found = this.data.queries.flatMap((query, i) => (has(query) ? [i] : []));
    explorerControls.fillQueries(this, found.length ? found : [this.place]);
    this.search.classList.toggle("ex-nothing", !found.length);
    this.search.setAttribute("aria-invalid", String(!found.length));
    if (!found.length) this.say("No query matches.");
    else if (!found.includes(this.place)) this.show(found[0]);
    this.queries.value = String(this.place);
  }

  setRun(name) {
    this.run = name;
    this.restart();
    this.render();
    this.say(`Scores of ${name}.`);
  }

  setObjective(which, i) {
    if (i === "") this.chosen.length = 1;
    else this.chosen[which] = this.data.objectives.list[Number(i)];
    if (!this.ownK) this.k = this.chosen[0].k ?? USUAL_K;
    this.cutoff.value = this.k;
    this.render();
    this.say(this.chosen.map((one) => one.name).join(" beside ") + ".");
  }

  setNorm(name) {
    this.norm = name;
    this.render();
  }

  setCutoff(k) {
    if (!Number.isInteger(k) || k < 1) return;
    this.k = k;
    this.ownK = true;
    this.render();
  }

  putBack() {
    this.restart();
    this.render();
    this.say("All documents are back at their places.");
  }

  toggleAll() {
    this.all = !this.all;
    this.render();
  }

  // ---- state ---------------------------------------------------------------------------------

  show(place) {
    this.place = place;
    this.query = this.data.queries[place];
    if (![...this.queries.options].some((option) => option.value === String(place))) {
      this.search.value = "";
      this.offerAll();
    }
    this.queries.value = String(place);
    this.all = false;
    this.selected = null;
    this.other = null;
    this.restart();
    this.rows = this.query.documents.map((_, document) => explorerRows.make(this, document));
    this.active = rankDocuments(this.scores).order[0];
    this.first = this.reach();
    this.list.replaceChildren();
    this.render();
    this.say(`Query ${this.query.id}, ${this.rows.length} documents.`);
  }

  // As many rows as show where the best document stands, if that is not too far down.
  reach() {
    const best = Math.max(...this.query.labels);
    const at = this.query.labels.map((y, i) => (y === best ? this.before[i] : Infinity));
    const rows = Math.min(...at) + 3;
    return rows > FIRST && rows <= FAR ? rows : FIRST;
  }

  restart() {
    this.given = Float64Array.from(this.query.scores[this.run]);
    this.before = rankDocuments(this.given).rank;
    this.scores = this.given;
    this.touched = new Set();
  }

  get isMoved() {
    return this.scores !== this.given;
  }

  // How many documents the list shows; none is moved out of sight.
  get size() {
    return this.all ? this.rows.length : Math.min(this.first, this.rows.length);
  }

  move(document, to, scores = this.scores) {
    const { rank } = rankDocuments(scores);
    const target = Math.max(0, Math.min(to, this.size - 1));
    this.active = document;
    const isSame = target === rank[document];
    this.scores = isSame ? scores : moveDocument(scores, rank[document], target);
    if (!isSame) this.touched.add(document);
    this.render();
    if (isSame) return;
    const name = this.query.documents[document];
    this.say(`${name} is at rank ${target + 1}. ${explorerPanels.metricText(this)}`);
  }

  // The one row that is in the order of tabs.
  activate(one) {
    const last = this.rows[this.active];
    for (const node of [last.row, last.up, last.down]) node.tabIndex = -1;
    this.active = one;
    const { row, up, down } = this.rows[one];
    for (const node of [row, up, down]) node.tabIndex = 0;
  }

  // Shows the pairs of a document, or hides them again.
  select(one) {
    this.selected = this.selected === one ? null : one;
    this.other = null; // that it is compared with: its neighbour, unless somebody chooses
    for (const { row } of this.rows) row.setAttribute("aria-current", "false");
    this.rows[one].row.setAttribute("aria-current", String(this.selected === one));
    explorerPanels.renderPairs(this);
    if (this.selected === one) this.say(`Pairs of ${this.query.documents[one]}.`);
  }

  say(text) {
    this.live.textContent = text;
  }

  // ---- what is shown -------------------------------------------------------------------------

  render() {
    this.order = rankDocuments(this.scores).order;
    this.found = this.chosen.map((objective) => this.push(objective));
    this.frame.classList.toggle("ex-two", this.chosen.length > 1);
    explorerPanels.renderSummary(this);
    explorerRows.renderHead(this);
    explorerRows.renderRows(this);
    explorerPanels.renderPairs(this);
    this.reset.setAttribute("aria-disabled", String(!this.isMoved));
    const { length } = this.order;
    this.more.hidden = length <= this.first;
    this.more.textContent = this.all ? `Show the first ${this.first}` : `Show all ${length}`;
  }

  // The forces of an objective, the largest of them, and who is pushed too much or too little.
  push(objective) {
    const { tables } = this.data.objectives;
    const options = { scores: this.scores, norm: this.norm };
    const forces = compute(objective, tables, this.query, options);
    const largest = forces.lambda.reduce((most, force) => Math.max(most, Math.abs(force)), 0);
    const wrong = incoherent(objective, this.query, this.scores, forces.lambda, this.k);
    const role = new Map(wrong.flatMap(([a, b]) => [[a, "too strong"], [b, "too weak"]]));
    return { objective, forces, largest, wrong, role };
  }
}

// Builds the widget inside `element`; `show(place)` opens another query of the data.
rankforce.explorer = {
  moveDocument,
  mount(element, data) {
    if (!data.queries.length || !data.objectives.list.length) {
      element.replaceChildren(html("p", null, "There is no list to show."));
      return { show: () => {} };
    }
    const explorer = new Explorer(element, data);
    return { show: (place) => explorer.show(place) };
  },
};
