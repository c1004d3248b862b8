// The elements of the explorer: the controls above its list, and the places for what it shows; and
// keys and pointers on the list. They tell the explorer what somebody did, and know nothing of forces.
const { html } = rankforce.dom;

const NORMS = [
  ["none", "none (the mathematics)"],
  ["lightgbm", "LightGBM's"],
  ["std", "standard deviation 1"],
];

const field = (text, ...inputs) =>
  html("label", { class: "ex-field" }, html("span", null, text), inputs);

function choose(text, choices, onChoose) {
  const list = html("select", { onchange: () => onChoose(list.value) },
    choices.map(([value, name]) => html("option", { value }, name)));
  return field(text, list);
}

// The controls that the explorer reads or changes.
function inputs(explorer) {
  const search = html("input", {
    type: "search", class: "ex-search", placeholder: "find", "aria-label": "Find a query",
    oninput: () => explorer.filter(),
  });
  const queries = html("select", { "aria-label": "Query",
    onchange: () => explorer.show(Number(queries.value)) });
  const cutoff = html("input", { type: "number", min: 1, value: explorer.k,
    oninput: () => explorer.setCutoff(cutoff.valueAsNumber) });
  const reset = html("button", { type: "button", class: "ex-reset",
    onclick: () => explorer.putBack() }, "Reset");
  const more = html("button", { type: "button", class: "ex-more",
    onclick: () => explorer.toggleAll() });
  return { search, queries, cutoff, reset, more };
}

function bar(explorer, { search, queries, cutoff, reset }) {
  const names = explorer.data.objectives.list.map((objective, i) => [i, objective.name]);
  const runs = explorer.runs.map((name) => [name, name]);
  return html("div", { class: "ex-controls" },
    html("div", { class: "ex-field ex-query" }, html("span", null, "Query"),
      html("div", { class: "ex-both" }, search, queries)),
    choose("Scores of", runs, (name) => explorer.setRun(name)),
    choose("Objective", names, (i) => explorer.setObjective(0, i)),
    choose("Beside it", [["", "nothing"], ...names], (i) => explorer.setObjective(1, i)),
    choose("Norm", NORMS, (name) => explorer.setNorm(name)),
    field("Cutoff k", cutoff), reset);
}

const help = () => html("p", { class: "ex-help" },
  "Move a document: drag it, press its buttons, or focus it ",
  "and press ", html("kbd", null, "Alt"), " with ", html("kbd", null, "\u2191"), " or ",
  html("kbd", null, "\u2193"), ". Plain arrows go from document to document, ",
  html("kbd", null, "Enter"), " shows the pairs that push it.");

// All elements by name; `frame` holds the others.
function build(explorer) {
  const controls = inputs(explorer);
  const places = {
    summary: html("div", { class: "ex-summary" }),
    head: html("div", { class: "ex-row ex-head", "aria-hidden": "true" }),
    list: html("ol", { class: "ex-list", "aria-label": "Documents by rank" }),
    detail: html("div", { class: "ex-detail", role: "region",
      "aria-label": "Pairs of a document" }),
    live: html("p", { class: "ex-live", role: "status", "aria-live": "polite" }),
  };
  const { summary, head, list, detail, live } = places;
  const frame = html("div", { class: "ex-frame" }, bar(explorer, controls), summary,
    html("div", { class: "ex-body" },
      html("div", { class: "ex-main" }, head, list, controls.more), detail),
    help(), live);
  return { ...controls, ...places, frame };
}

function fillQueries(explorer, places) {
  explorer.queries.replaceChildren(...places.map((i) => {
    const query = explorer.data.queries[i];
    return html("option", { value: i }, query.why ? `${query.id} (${query.why})` : query.id);
  }));
}

function onKey(explorer, event) {
  const row = event.target.closest(".ex-item");
  if (!row) return;
  const one = Number(row.dataset.document);
  const r = explorer.order.indexOf(one);
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (by && event.altKey) {
    explorer.move(one, r + by);
    explorer.rows[one].row.focus();
  } else if (by || event.key === "Home" || event.key === "End") {
    const last = explorer.list.children.length - 1;
    const to = by ? r + by : event.key === "Home" ? 0 : last;
    explorer.list.children[Math.max(0, Math.min(to, last))].focus();
  } else if ((event.key === "Enter" || event.key === " ") && event.target === row) {
    explorer.select(one);
  } else if (event.key === "Escape" && explorer.selected !== null) {
    explorer.select(explorer.selected);
  } else return;
  event.preventDefault();
}

// A finger scrolls the page, except on the rank; a mouse drags the row anywhere.
function onPress(explorer, event) {
  const row = event.target.closest(".ex-item");
  if (!row || event.button !== 0 || event.target.closest("button")) return;
  const one = Number(row.dataset.document);
  const isHandle = event.pointerType === "mouse" || event.target.closest(".ex-rank");
  const { list, scores } = explorer;
  const middles = [...list.children].map((each) => each.offsetTop + each.offsetHeight / 2);
  const from = event.clientY;
  let isDragged = false;
  let rank = explorer.order.indexOf(one);
  const onMove = (now) => {
    if (!isHandle || (!isDragged && Math.abs(now.clientY - from) < 5)) return;
    isDragged = true;
    row.classList.add("ex-dragged");
    const y = now.clientY - list.getBoundingClientRect().top;
    const far = middles.map((middle) => Math.abs(middle - y));
    const to = far.indexOf(Math.min(...far));
    // Always from where it stood, so that its score is one between its neighbours.
    if (to !== rank) explorer.move(one, (rank = to), scores);
  };
  const stop = new AbortController();
  const onEnd = (last) => {
    stop.abort();
    row.classList.remove("ex-dragged");
    if (last.type !== "pointerup") return;
    if (!isDragged && row.contains(last.target)) explorer.select(one);
    row.focus({ preventScroll: true });
  };
  const onEscape = (key) => {
    if (key.key !== "Escape" || !isDragged) return;
    explorer.scores = scores;
    explorer.render();
    onEnd(key);
  };
  window.addEventListener("pointermove", onMove, { signal: stop.signal });
  window.addEventListener("pointerup", onEnd, { signal: stop.signal });
  window.addEventListener("pointercancel", onEnd, { signal: stop.signal });
  window.addEventListener("keydown", onEscape, { signal: stop.signal });
}

function listen(explorer) {
  explorer.list.addEventListener("keydown", (event) => onKey(explorer, event));
  explorer.list.addEventListener("pointerdown", (event) => onPress(explorer, event));
}

rankforce.explorerControls = { build, fillQueries, listen };
