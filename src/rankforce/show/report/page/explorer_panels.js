// What the explorer says around its list: above it the metric, and for each objective its pairs and
// whether its forces go the right way; beside it the pairs that push one document most, and why
// it stands above another.
const { html } = rankforce.dom;
const { besidePairs, compute, ndcg } = rankforce.forces;
const { NONE, short, signed, label } = rankforce.scales;

// Before anything was moved, and now.
const metricValues = ({ query, given, scores, k }) =>
  [given, scores].map((each) => ndcg(query.labels, each, k));

function metricText(explorer) {
  const values = metricValues(explorer);
  if (Number.isNaN(values[0])) return `NDCG@${explorer.k} has no value here.`;
  const [was, is] = values.map((value) => value.toFixed(3));
  if (!explorer.isMoved) return `NDCG@${explorer.k} ${is}`;
  return `NDCG@${explorer.k} ${is}, before ${was} (${signed(values[1] - values[0])})`;
}

function nameOf(explorer, document) {
  return `${explorer.query.documents[document]} (rank ${explorer.order.indexOf(document) + 1}, ` +
    `grade ${label(explorer.query.labels[document])})`;
}

function renderSummary(explorer) {
  const { k } = explorer;
  const n = explorer.order.length;
  const possible = (n * (n - 1)) / 2;
  const blocks = explorer.found.map(({ objective, forces, wrong }) => {
    const beside = besidePairs(objective);
    const pairs = `${forces.count} of ${possible} pairs push` + (beside ? `, and ${beside}` : "");
    const said = wrong.length
      ? html("span", { class: "ex-warning" }, `Incoherent: ${nameOf(explorer, wrong[0][0])} ` +
        `is pushed harder than ${nameOf(explorer, wrong[0][1])}, which the top ${k} misses` +
        (wrong.length > 1 ? `; ${wrong.length - 1} more such.` : "."))
      : html("span", null, `No incoherent pair at the top ${k}.`);
    return html("div", { class: "ex-block" },
      html("strong", null, objective.name), html("code", null, objective.formula),
      html("span", { class: "ex-pairs" }, pairs), said);
  });
  const [was, is] = metricValues(explorer);
  const change = Number.isNaN(is) ? "nothing is relevant here" : explorer.isMoved
    ? `before ${was.toFixed(3)} (${signed(is - was)})` : "as the run ranks";
  const metric = html("div", { class: "ex-block ex-metric" },
    html("strong", null, `NDCG@${k}`),
    html("b", { class: "ex-big" }, Number.isNaN(is) ? NONE : is.toFixed(3)),
    html("span", null, change));
  explorer.summary.replaceChildren(metric, ...blocks);
}

const MOST_PAIRS = 8; // of one document

function pairTable(explorer, one, { objective, forces: { lambda } }) {
  const { data, query, order, scores, norm } = explorer;
  const options = { scores, norm, pairs: true, of: one };
  const { pairs } = compute(objective, data.objectives.tables, query, options);
  const beside = besidePairs(objective);
  const title = html("p", null, html("strong", null, objective.name),
    pairs.length ? ` pushes it by ${signed(lambda[one])} with ${pairs.length} ` +
      `pair${pairs.length > 1 ? "s" : ""}${beside ? ` and ${beside}` : ""}.`
      : beside ? ` pushes it by ${signed(lambda[one])}, ${beside}.`
        : " has no pair with it.");
  if (!pairs.length) return [title];
  pairs.sort((a, b) => b.force - a.force);
  const rows = pairs.slice(0, MOST_PAIRS).map((pair) => {
    const isHi = pair.hi === one;
    const other = isHi ? pair.lo : pair.hi;
    return html("tr", { "data-other": other },
      html("td", { class: "ex-other" }, query.documents[other], html("small", null,
        `rank ${order.indexOf(other) + 1}, grade ${label(query.labels[other])}`)),
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

function renderPairs(explorer) {
  const one = explorer.selected;
  explorer.detail.classList.toggle("ex-empty", one === null);
  if (one === null) {
    explorer.detail.replaceChildren(html("p", { class: "ex-soft" },
      "Click a document, or press Enter on it, to see the pairs that push it most" +
      (rankforce.explorerWhy.has(explorer) ? ", and what features do for it." : ".")));
    return;
  }
  const close = html("button", { type: "button", class: "ex-close", "aria-label": "Close",
    onclick: () => {
      explorer.select(one);
      explorer.rows[one].row.focus({ preventScroll: true });
    } }, "\u00d7");
  explorer.detail.replaceChildren(html("h4", null, nameOf(explorer, one), close),
    ...explorer.found.flatMap((found) => pairTable(explorer, one, found)),
    ...rankforce.explorerWhy.section(explorer, one));
}

rankforce.explorerPanels = { metricText, renderSummary, renderPairs };
