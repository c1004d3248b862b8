// One list with the force on each document as an arrow, under one or two objectives. Documents can
// be moved; ranks, forces and the metric follow.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { html } = rankforce.dom;
  const { compute, incoherent, ndcg, rankDocuments } = rankforce.forces;

  const FIRST = 20; // rows before "show all"; as far as the best document, up to FAR
  const FAR = 60;
  const MOST_PAIRS = 8; // of one document
  const REACH = 1.7; // length of the longest arrow, in rows
  const LANES = 4; // arrows of neighbours stand side by side
  const USUAL_K = 10;
  const NORMS = [
    ["none", "none (the mathematics)"],
    ["lightgbm", "LightGBM's"],
    ["std", "standard deviation 1"],
  ];

  const short = (value, digits = 3) =>
    String(Number(value.toPrecision(digits))).replace("-", "\u2212");
  const signed = (value) => (value > 0 ? "+" : "") + short(value);
  // As many decimals as show three digits of the largest, so that a column lines up.
  function aligned(value, largest) {
    const decimals = 2 - Math.floor(Math.log10(largest));
    if (value === 0) return "0";
    if (!(decimals >= 0 && decimals <= 6)) return signed(value);
    return (value > 0 ? "+" : "\u2212") + Math.abs(value).toFixed(decimals);
  }
  const label = (y) => (y === null ? "?" : short(y, 4));

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

  class Explorer {
    constructor(element, data) {
      this.data = data;
      this.element = element;
      this.runs = Object.keys(data.queries[0].scores);
      this.top = Math.max(4, ...data.queries.flatMap((query) => query.labels));
      this.run = this.runs[0];
      this.chosen = [data.objectives.list[0]];
      this.norm = "none";
      this.k = this.chosen[0].k ?? USUAL_K;
      this.ownK = false; // whether somebody chose k
      this.build();
      this.show(0);
    }

    // ---- controls ------------------------------------------------------------------------------

    build() {
      const { list } = this.data.objectives;
      const names = list.map((objective, i) => [i, objective.name]);
      this.search = html("input", {
        type: "search", class: "ex-search", placeholder: "find", "aria-label": "Find a query",
        oninput: () => this.filter(),
      });
      this.queries = html("select", { "aria-label": "Query",
        onchange: () => this.show(Number(this.queries.value)) });
      const run = this.choose("Scores of", this.runs.map((name) => [name, name]), (name) => {
        this.run = name;
        this.restart();
        this.render();
        this.say(`Scores of ${name}.`);
      });
      const first = this.choose("Objective", names, (i) => this.setObjective(0, i));
      const second = this.choose("Beside it", [["", "nothing"], ...names],
        (i) => this.setObjective(1, i));
      const norm = this.choose("Norm", NORMS, (name) => {
        this.norm = name;
        this.render();
      });
      this.cutoff = html("input", { type: "number", min: 1, value: this.k,
        oninput: () => this.setCutoff(this.cutoff.valueAsNumber) });
      this.reset = html("button", { type: "button", class: "ex-reset", onclick: () => {
        this.restart();
        this.render();
        this.say("All documents are back at their places.");
      } }, "Reset");
      this.more = html("button", { type: "button", class: "ex-more", onclick: () => {
        this.all = !this.all;
        this.render();
      } });
      this.summary = html("div", { class: "ex-summary" });
      this.head = html("div", { class: "ex-row ex-head", "aria-hidden": "true" });
      this.list = html("ol", { class: "ex-list", "aria-label": "Documents by rank" });
      this.list.addEventListener("keydown", (event) => this.onKey(event));
      this.list.addEventListener("pointerdown", (event) => this.onPress(event));
      this.detail = html("div", { class: "ex-detail", role: "region",
        "aria-label": "Pairs of a document" });
      this.live = html("p", { class: "ex-live", role: "status", "aria-live": "polite" });
      const field = (text, ...inputs) =>
        html("label", { class: "ex-field" }, html("span", null, text), inputs);
      this.frame = html("div", { class: "ex-frame" },
        html("div", { class: "ex-controls" },
          html("div", { class: "ex-field ex-query" }, html("span", null, "Query"),
            html("div", { class: "ex-both" }, this.search, this.queries)),
          run, first, second, norm, field("Cutoff k", this.cutoff), this.reset),
        this.summary,
        html("div", { class: "ex-body" },
          html("div", { class: "ex-main" }, this.head, this.list, this.more), this.detail),
        html("p", { class: "ex-help" }, "Move a document: drag it, press its buttons, or focus it ",
          "and press ", html("kbd", null, "Alt"), " with ", html("kbd", null, "\u2191"), " or ",
          html("kbd", null, "\u2193"), ". Plain arrows go from document to document, ",
          html("kbd", null, "Enter"), " shows the pairs that push it."),
        this.live);
      this.element.replaceChildren(html("div", { class: "explorer" }, this.frame));
      this.fillQueries(this.data.queries.map((_, i) => i));
    }

    choose(text, choices, onChoose) {
      const list = html("select", { onchange: () => onChoose(list.value) },
        choices.map(([value, name]) => html("option", { value }, name)));
      return html("label", { class: "ex-field" }, html("span", null, text), list);
    }

    fillQueries(places) {
      this.queries.replaceChildren(...places.map((i) => {
        const query = this.data.queries[i];
        return html("option", { value: i }, query.why ? `${query.id} (${query.why})` : query.id);
      }));
    }

    filter() {
      const text = this.search.value.trim().toLowerCase();
      const has = (query) => `${query.id} ${query.why ?? ""}`.toLowerCase().includes(text);
      const found = this.data.queries.flatMap((query, i) => (has(query) ? [i] : []));
      this.fillQueries(found.length ? found : [this.place]);
      this.search.classList.toggle("ex-nothing", !found.length);
      this.search.setAttribute("aria-invalid", String(!found.length));
      if (!found.length) this.say("No query matches.");
      else if (!found.includes(this.place)) this.show(found[0]);
      this.queries.value = String(this.place);
    }

    setObjective(which, i) {
      if (i === "") this.chosen.length = 1;
      else this.chosen[which] = this.data.objectives.list[Number(i)];
      if (!this.ownK) this.k = this.chosen[0].k ?? USUAL_K;
      this.cutoff.value = this.k;
      this.render();
      this.say(this.chosen.map((one) => one.name).join(" beside ") + ".");
    }

    setCutoff(k) {
      if (!Number.isInteger(k) || k < 1) return;
      this.k = k;
      this.ownK = true;
      this.render();
    }

    // ---- state ---------------------------------------------------------------------------------

    show(place) {
      this.place = place;
      this.query = this.data.queries[place];
      if (![...this.queries.options].some((option) => option.value === String(place))) {
        this.search.value = "";
        this.fillQueries(this.data.queries.map((_, i) => i));
      }
      this.queries.value = String(place);
      this.all = false;
      this.selected = null;
      this.restart();
      this.rows = this.query.documents.map((_, document) => this.makeRow(document));
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
      this.say(`${name} is at rank ${target + 1}. ${this.metricText()}`);
    }

    say(text) {
      this.live.textContent = text;
    }

    // ---- what is shown -------------------------------------------------------------------------

    render() {
      const { tables } = this.data.objectives;
      const options = { scores: this.scores, norm: this.norm };
      this.order = rankDocuments(this.scores).order;
      this.found = this.chosen.map((objective) => {
        const forces = compute(objective, tables, this.query, options);
        const largest = forces.lambda.reduce((most, force) => Math.max(most, Math.abs(force)), 0);
        const wrong = incoherent(objective, this.query, this.scores, forces.lambda, this.k);
        const role = new Map(wrong.flatMap(([a, b]) => [[a, "too strong"], [b, "too weak"]]));
        return { objective, forces, largest, wrong, role };
      });
      this.frame.classList.toggle("ex-two", this.chosen.length > 1);
      this.renderSummary();
      this.renderHead();
      this.renderRows();
      this.renderDetail();
      this.reset.setAttribute("aria-disabled", String(!this.isMoved));
      const hidden = this.order.length - this.first;
      this.more.hidden = hidden <= 0;
      this.more.textContent = this.all ? `Show the first ${this.first}` : `Show all ${this.order.length}`;
    }

    metricText() {
      const values = [this.given, this.scores].map((s) => ndcg(this.query.labels, s, this.k));
      if (Number.isNaN(values[0])) return `NDCG@${this.k} has no value here.`;
      const [was, is] = values.map((value) => value.toFixed(3));
      if (!this.isMoved) return `NDCG@${this.k} ${is}`;
      return `NDCG@${this.k} ${is}, before ${was} (${signed(values[1] - values[0])})`;
    }

    nameOf(document) {
      return `${this.query.documents[document]} (rank ${this.order.indexOf(document) + 1}, ` +
        `grade ${label(this.query.labels[document])})`;
    }

    renderSummary() {
      const n = this.order.length;
      const possible = (n * (n - 1)) / 2;
      const blocks = this.found.map(({ objective, forces, wrong }) => {
        const pairs = `${forces.count} of ${possible} pairs push`;
        const said = wrong.length
          ? html("span", { class: "ex-warning" }, `Incoherent: ${this.nameOf(wrong[0][0])} is ` +
            `pushed harder than ${this.nameOf(wrong[0][1])}, which the top ${this.k} misses` +
            (wrong.length > 1 ? `; ${wrong.length - 1} more such.` : "."))
          : html("span", null, `No incoherent pair at the top ${this.k}.`);
        return html("div", { class: "ex-block" },
          html("strong", null, objective.name), html("code", null, objective.formula),
          html("span", { class: "ex-pairs" }, pairs), said);
      });
      const [was, is] = [this.given, this.scores].map((s) => ndcg(this.query.labels, s, this.k));
      const change = Number.isNaN(is) ? "nothing is relevant here" : this.isMoved
        ? `before ${was.toFixed(3)} (${signed(is - was)})` : "as the run ranks";
      const metric = html("div", { class: "ex-block ex-metric" },
        html("strong", null, `NDCG@${this.k}`),
        html("b", { class: "ex-big" }, Number.isNaN(is) ? "\u2013" : is.toFixed(3)),
        html("span", null, change));
      this.summary.replaceChildren(metric, ...blocks);
    }

    renderHead() {
      const columns = this.found.map(({ objective, largest }) =>
        html("span", { class: "ex-force" }, html("b", { title: objective.name }, objective.name),
          html("small", null, `longest ${short(largest)}`)));
      this.head.replaceChildren(html("span", { class: "ex-rank" }, "Rank"), html("span"),
        html("span", { class: "ex-doc" }, "Grade, document, score"),
        html("span", { class: "ex-forces" }, columns));
    }

    makeRow(document) {
      const name = this.query.documents[document];
      const button = (by, text, where) => html("button", { type: "button", tabindex: -1,
        "aria-label": `Move ${name} ${where}`,
        onclick: () => this.move(document, this.order.indexOf(document) + by) }, text);
      const parts = {
        rank: html("span", { class: "ex-rank" }),
        up: button(-1, "\u25b2", "up"),
        down: button(1, "\u25bc", "down"),
        score: html("small"),
        forces: html("span", { class: "ex-forces" }),
      };
      const y = this.query.labels[document];
      const grade = y > 0 ? Math.min(4, Math.max(1, Math.round((4 * y) / this.top))) : 0;
      const row = html("li", { class: "ex-row ex-item", "data-document": document, tabindex: -1,
        "aria-keyshortcuts": "Alt+ArrowUp Alt+ArrowDown", onfocus: () => this.activate(document) },
        parts.rank, html("span", { class: "ex-steps" }, parts.up, parts.down),
        html("span", { class: `ex-doc ex-grade-${grade}` },
          html("b", { class: "ex-grade" }, label(y)),
          html("span", { class: "ex-name", title: name }, html("span", null, name), parts.score)),
        parts.forces);
      return { row, ...parts };
    }

    renderRows() {
      const shown = this.order.slice(0, this.size);
      if (!shown.includes(this.active)) this.active = shown[0];
      const focused = document.activeElement;
      const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const tops = new Map([...this.list.children].map((row) => [row, row.offsetTop]));
      shown.forEach((one, r) => this.renderRow(one, r));
      const rows = shown.map((one) => this.rows[one].row);
      this.arrange(rows, this.rows[this.active].row);
      if (this.list.contains(focused)) focused.focus({ preventScroll: true });
      for (const row of rows) {
        const by = (tops.get(row) ?? row.offsetTop) - row.offsetTop;
        if (!by || isCalm) continue;
        const frames = [{ transform: `translateY(${by}px)` }, { transform: "none" }];
        row.animate(frames, { duration: 180, easing: "ease-out" });
      }
    }

    // Puts rows in order around the one that somebody moves: an element that leaves the page, if
    // only for a moment, loses focus and finger.
    arrange(rows, still) {
      const { list } = this;
      const kept = new Set(rows);
      for (const row of [...list.children]) if (!kept.has(row)) row.remove();
      if (rows.every((row, i) => list.children[i] === row)) return;
      if (still.parentNode !== list) list.append(still);
      const at = rows.indexOf(still);
      rows.slice(0, at).forEach((row) => list.insertBefore(row, still));
      list.append(...rows.slice(at + 1));
    }

    renderRow(one, r) {
      const { row, rank, up, down, score, forces } = this.rows[one];
      const by = this.before[one] - r;
      const moved = by ? html("small", { title: `was at rank ${this.before[one] + 1}` },
        `${by > 0 ? "\u2191" : "\u2193"}${Math.abs(by)}`) : null;
      rank.replaceChildren(html("b", null, String(r + 1)), ...(moved ? [moved] : []));
      const sources = Object.entries(this.query.sources ?? {});
      const others = sources.map(([name, y]) => `, ${name} ${label(y[one])}`);
      score.textContent = short(this.scores[one], 4) + others.join("");
      up.setAttribute("aria-disabled", String(r === 0));
      down.setAttribute("aria-disabled", String(r === this.size - 1));
      while (forces.children.length > this.found.length) forces.lastChild.remove();
      this.found.forEach((found, i) => this.renderForce(forces, i, found, one, r));
      row.classList.toggle("ex-cut", r + 1 === this.k && this.k < this.order.length);
      row.dataset.cut = `top ${this.k}`;
      row.dataset.score = String(this.scores[one]);
      row.classList.toggle("ex-moved", by !== 0 && this.touched.has(one));
      row.setAttribute("aria-current", String(one === this.selected));
      row.setAttribute("aria-label", this.rowText(one, r, by));
      for (const [node, is] of [[row, one === this.active], [up, one === this.active],
        [down, one === this.active]]) node.tabIndex = is ? 0 : -1;
    }

    rowText(one, r, by) {
      const forces = this.found.map(({ objective, forces: { lambda }, role }) =>
        [`force ${signed(lambda[one])} by ${objective.name}`, role.get(one)].filter(Boolean).join(", "));
      const moved = by ? [`was at rank ${this.before[one] + 1}`] : [];
      return [`Rank ${r + 1}`, this.query.documents[one], `grade ${label(this.query.labels[one])}`,
        `score ${short(this.scores[one], 4)}`, ...moved, ...forces].join(", ");
    }

    renderForce(forces, i, { forces: { lambda }, largest, role }, one, r) {
      if (!forces.children[i]) {
        forces.append(html("span", { class: "ex-force" }, html("i", { class: "ex-arrow" }),
          html("span", { class: "ex-value" }, html("span"), html("small"))));
      }
      const [arrow, value] = forces.children[i].children;
      const force = lambda[one];
      const length = largest > 0 ? (REACH * Math.abs(force)) / largest : 0; // in rows
      arrow.className = `ex-arrow ${force > 0 ? "ex-up" : force < 0 ? "ex-down" : "ex-none"}`;
      arrow.style.setProperty("--length", length.toFixed(4));
      arrow.style.setProperty("--lane", r % LANES);
      forces.children[i].dataset.force = String(force);
      value.firstChild.textContent = aligned(force, largest);
      value.lastChild.textContent = role.get(one) ?? "";
      value.lastChild.title = role.has(one) ? "Incoherent: a document that the top misses is pushed less " +
        "than one that does not belong there" : "";
    }

    renderDetail() {
      const one = this.selected;
      this.detail.classList.toggle("ex-empty", one === null);
      if (one === null) {
        this.detail.replaceChildren(html("p", { class: "ex-soft" },
          "Click a document, or press Enter on it, to see the pairs that push it most."));
        return;
      }
      const close = html("button", { type: "button", class: "ex-close", "aria-label": "Close",
        onclick: () => {
          this.select(one);
          this.rows[one].row.focus({ preventScroll: true });
        } }, "\u00d7");
      this.detail.replaceChildren(html("h4", null, this.nameOf(one), close),
        ...this.found.flatMap((found) => this.pairTable(one, found)));
    }

    pairTable(one, { objective, forces: { lambda } }) {
      const { tables } = this.data.objectives;
      const options = { scores: this.scores, norm: this.norm, pairs: true, of: one };
      const { pairs } = compute(objective, tables, this.query, options);
      const title = html("p", null, html("strong", null, objective.name),
        pairs.length ? ` pushes it by ${signed(lambda[one])} with ${pairs.length} ` +
          `pair${pairs.length > 1 ? "s" : ""}.` : " has no pair with it.");
      if (!pairs.length) return [title];
      pairs.sort((a, b) => b.force - a.force);
      const rows = pairs.slice(0, MOST_PAIRS).map((pair) => {
        const isHi = pair.hi === one;
        const other = isHi ? pair.lo : pair.hi;
        return html("tr", { "data-other": other },
          html("td", { class: "ex-other" }, this.query.documents[other], html("small", null,
            `rank ${this.order.indexOf(other) + 1}, grade ${label(this.query.labels[other])}`)),
          html("td", { class: "ex-number" }, short(pair.weight)),
          html("td", { class: `ex-number ${isHi ? "ex-up" : "ex-down"}` },
            `${isHi ? "\u25b2" : "\u25bc"}\u00a0${signed(isHi ? pair.force : -pair.force)}`));
      });
      const head = ["Pair with", "Weight", "Force"].map((text, i) =>
        html("th", { scope: "col", class: i ? "ex-number" : null }, text));
      const rest = pairs.length - rows.length;
      return [title, html("table", null, html("thead", null, html("tr", null, head)),
        html("tbody", null, rows)),
      rest > 0 ? html("p", { class: "ex-soft" }, `And ${rest} weaker.`) : ""];
    }

    // ---- what people do ------------------------------------------------------------------------

    activate(one) {
      const last = this.rows[this.active];
      for (const node of [last.row, last.up, last.down]) node.tabIndex = -1;
      this.active = one;
      const { row, up, down } = this.rows[one];
      for (const node of [row, up, down]) node.tabIndex = 0;
    }

    select(one) {
      this.selected = this.selected === one ? null : one;
      for (const { row } of this.rows) row.setAttribute("aria-current", "false");
      this.rows[one].row.setAttribute("aria-current", String(this.selected === one));
      this.renderDetail();
      if (this.selected === one) this.say(`Pairs of ${this.query.documents[one]}.`);
    }

    onKey(event) {
      const row = event.target.closest(".ex-item");
      if (!row) return;
      const one = Number(row.dataset.document);
      const r = this.order.indexOf(one);
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (by && event.altKey) {
        this.move(one, r + by);
        this.rows[one].row.focus();
      } else if (by || event.key === "Home" || event.key === "End") {
        const last = this.list.children.length - 1;
        const to = by ? r + by : event.key === "Home" ? 0 : last;
        this.list.children[Math.max(0, Math.min(to, last))].focus();
      } else if ((event.key === "Enter" || event.key === " ") && event.target === row) {
        this.select(one);
      } else if (event.key === "Escape" && this.selected !== null) {
        this.select(this.selected);
      } else return;
      event.preventDefault();
    }

    // A finger scrolls the page, except on the rank; a mouse drags the row anywhere.
    onPress(event) {
      const row = event.target.closest(".ex-item");
      if (!row || event.button !== 0 || event.target.closest("button")) return;
      const one = Number(row.dataset.document);
      const isHandle = event.pointerType === "mouse" || event.target.closest(".ex-rank");
      const scores = this.scores;
      const middles = [...this.list.children].map((each) => each.offsetTop + each.offsetHeight / 2);
      const from = event.clientY;
      let isDragged = false;
      let rank = this.order.indexOf(one);
      const onMove = (now) => {
        if (!isHandle || (!isDragged && Math.abs(now.clientY - from) < 5)) return;
        isDragged = true;
        row.classList.add("ex-dragged");
        const y = now.clientY - this.list.getBoundingClientRect().top;
        const far = middles.map((middle) => Math.abs(middle - y));
        const to = far.indexOf(Math.min(...far));
        // Always from where it stood, so that its score is one between its neighbours.
        if (to !== rank) this.move(one, (rank = to), scores);
      };
      const stop = new AbortController();
      const onEnd = (last) => {
        stop.abort();
        row.classList.remove("ex-dragged");
        if (last.type === "pointerup" && !isDragged && row.contains(last.target)) this.select(one);
        if (last.type === "pointerup") row.focus({ preventScroll: true });
      };
      const onEscape = (key) => {
        if (key.key !== "Escape" || !isDragged) return;
        this.scores = scores;
        this.render();
        onEnd(key);
      };
      window.addEventListener("pointermove", onMove, { signal: stop.signal });
      window.addEventListener("pointerup", onEnd, { signal: stop.signal });
      window.addEventListener("pointercancel", onEnd, { signal: stop.signal });
      window.addEventListener("keydown", onEscape, { signal: stop.signal });
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
})();
