// The sections of the report; each is a list of nodes, empty where there is nothing to show.
const { html, choice, select } = rankforce.dom;
const { FORMATS, isNumber } = rankforce.scales;
const { tables, bars, charts } = rankforce;

const list = (texts, name) => html("ul", { class: name }, texts.map((t) => html("li", null, t)));
const small = (texts) => (texts && texts.length
  ? html("details", { class: "fine" }, html("summary", null, "How to read the numbers"), list(texts))
  : null);

function tile(name, value, more) {
  return html("div", { class: "tile" }, html("dt", null, name), html("dd", null, value),
    more ? html("dd", { class: "more" }, more) : null);
}

function tiles(data) {
  const found = data.comparison;
  if (!found) return [];
  const row = (name) => found.rows.find((one) => one[0] === name);
  const best = found.best[0], others = found.rows.length > 1;
  const whose = found.best.length > 1 ? `${found.best.length} runs share it` : best;
  const shown = [tile(`${others ? "best " : ""}${found.metric}`, FORMATS.metric(row(best)[1]),
    others ? whose : null)];
  const told = found.best.includes(found.baseline) ? null : row(best);
  if (told) {
    shown.push(tile(`difference from ${found.baseline}`, FORMATS.signed(told[2]),
      `${found.columns[3]} ${FORMATS.interval(told[3])}`));
    shown.push(tile("p", FORMATS.probability(told[4]),
      told[4] < 0.05 ? "more than chance" : "can be chance"));
  }
  shown.push(tile("queries", FORMATS.whole(data.data.queries),
    `${FORMATS.whole(data.data.rows)} documents`));
  return [html("dl", { class: "tiles" }, shown)];
}

function summary(data) {
  const [first, ...rest] = data.summary;
  return [...tiles(data), html("p", { class: "lead" }, first),
    ...data.cautions.map((text) => html("p", { class: "caution" },
      html("strong", null, "Mind: "), text)), list(rest, "plain")];
}

const KINDS = ["text", "metric", "signed", "interval", "probability", "effect",
  "whole", "whole", "whole"];

function comparison(data) {
  const parts = [];
  const found = data.comparison;
  if (found && found.rows.length > 1) {
    const columns = found.columns.map((name, i) => ({ name, kind: KINDS[i] }));
    const rows = found.rows.map((row) => row.map((value, i) => {
      if (i === 0) return name(value, found);
      if (i === 2 && value === null) return html("span", { class: "faint" }, "baseline");
      return value;
    }));
    parts.push(tables.make({ columns, rows, label: "Comparison of the runs",
      rowClass: (i) => (found.best.includes(found.rows[i][0]) ? "best" : null) }),
    small(found.notes));
  }
  if (data.metrics) {
    if (parts.length) parts.push(html("h3", null, "By other metrics"));
    parts.push(metrics(data.metrics));
  }
  return parts;
}

function name(value, found) {
  const marks = found.best.includes(value) && found.rows.length > 1 ? "best" : null;
  return html("span", null, value, marks ? html("span", { class: "tag" }, marks) : null);
}

function metrics(found) {
  const count = found.rows.length - found.references;
  const columns = found.columns.map((one, i) => ({ name: one, kind: i ? "metric" : "text" }));
  const best = columns.map((_, i) => {
    const values = found.rows.slice(0, count).map((row) => row[i]).filter(isNumber);
    return i && count > 1 ? (found.higher_is_better[i - 1] ? Math.max : Math.min)(...values) : null;
  });
  const rows = found.rows.map((row, number) => row.map((value, i) => (number < count && i &&
    value === best[i] ? html("strong", null, FORMATS.metric(value)) : value)));
  return html("div", null, tables.make({ columns, rows, label: "Means by several metrics",
    rowClass: (i) => (i >= count ? "reference" : null) }), small(found.notes));
}

// Query by query: against the baseline, or of one run alone.
function byQuery(data, open, canOpen) {
  if (!data.scores || !data.comparison) return [];
  const { per_query: values, query_ids: ids, metric, higher_is_better: isUp } = data.scores;
  const base = data.comparison.baseline;
  const others = Object.keys(values).filter((one) => one !== base);
  const box = html("div");
  const draw = (run) => {
    const isAlone = run === base;
    const shown = ids.map((id, query) => {
      const own = values[run][query], before = values[base][query];
      if (!isNumber(own) || !isNumber(before)) return null;
      const value = isAlone ? own : own - before;
      const text = isAlone ? `Query ${id}: ${metric} ${FORMATS.metric(own)}.`
        : `Query ${id}: ${run} ${FORMATS.metric(own)}, ${base} ${FORMATS.metric(before)}, ` +
          `difference ${FORMATS.signed(value)}.`;
      return { value: Math.abs(value) < 1e-9 ? 0 : value, text, query };
    }).filter(Boolean).sort((a, b) => b.value - a.value || a.query - b.query);
    if (!shown.length) return;
    const count = (test) => shown.filter((bar) => test(bar.value)).length;
    const [more, less] = [count((v) => v > 0), count((v) => v < 0)];
    const [better, worse] = isUp ? [more, less] : [less, more];
    const said = isAlone ? `${metric} of each query, the largest first.`
      : `${metric} of ${run} minus that of ${base}, query by query, the largest first: ` +
        `${run} is better on ${better}, worse on ${worse}, the same on ` +
        `${shown.length - more - less}.`;
    box.replaceChildren(html("p", { class: "about" }, said), bars.queries({ bars: shown, open,
      canOpen, isDifference: !isAlone, label: isAlone ? `${metric} by query`
        : `Difference in ${metric} by query, ${run} minus ${base}` }));
  };
  draw(others.length ? others[0] : base);
  return [others.length > 1 ? select("run", others, draw) : null, box];
}

function logChoice(runs) {
  const group = choice(`${charts.stepOf(runs)}s`, [[false, "linear"], [true, "logarithmic"]], charts.axis.isLog,
    (isLog) => charts.setLog(isLog));
  // There are two of these: both show what holds.
  charts.axis.charts.add({ draw: () => group.querySelectorAll("button").forEach((button, i) =>
    button.setAttribute("aria-pressed", String(Boolean(i) === charts.axis.isLog))) });
  return group;
}

function curves(data) {
  const byMetric = new Map();
  const add = (metric, one) => {
    const key = metric.toLowerCase();
    // Names of sources keep their case.
    const title = metric.replace(/^[^(]+/, (text) => text.toUpperCase());
    if (!byMetric.has(key)) byMetric.set(key, { title, series: [] });
    byMetric.get(key).series.push(one);
  };
  for (const run of data.runs) {
    Object.entries(run.history).forEach(([set, own], number) => {
      for (const [metric, y] of Object.entries(own)) {
        if (!y.length) continue;
        add(metric, { name: `${run.name}, ${set}`, y, x: y.map((_, i) => i + 1), used: run.used,
          step: run.step,
          color: charts.color(run.number), dash: [null, "7 3", "2 3", "7 3 2 3"][number % 4],
          mark: number === 0 ? run.best : null });
      }
    });
    const told = run.diagnostics && run.diagnostics.series.metrics;
    for (const [metric, y] of Object.entries(told || {})) {
      const on = ((run.diagnostics.about || {}).data || "diagnostics").split(", ")[0];
      add(metric, { name: `${run.name}, ${on}`, y, x: run.diagnostics.trees, used: run.used,
        step: run.step, color: charts.color(run.number), dash: "2 3" });
    }
  }
  if (!byMetric.size) return [];
  const drawn = [...byMetric.values()].map(({ title, series }) => charts.make({ title, series,
    format: "metric",
    about: "Mean over the queries of each set. A ring marks the number of " +
      `${charts.stepOf(series)}s that was best on the first validation set.` }));
  return [logChoice(data.runs), html("div", { class: drawn.length > 1 ? "grid-of-charts" : null }, drawn)];
}

function diagnostics(data) {
  const parts = rankforce.diagnostics.build(data.runs);
  return parts.length ? [logChoice(data.runs), ...parts] : [];
}

function queries(data, open) {
  if (!data.queries.length) return [];
  const runs = data.runs.map((run) => run.name);
  const columns = [{ name: "query", kind: "text" }, { name: "why", kind: "text" },
    ...runs.map((run) => ({ name: run, kind: "metric" })), { name: "documents", kind: "whole" }];
  const rows = data.queries.map((query, i) => [
    html("button", { type: "button", class: "link", onclick: () => open(i),
      "aria-label": `Open query ${query.id}` }, query.id),
    query.why, ...runs.map((run) => query.values[run]), query.documents.length]);
  const table = tables.make({ columns, rows, label: "Worst and best queries",
    rowClass: () => "opens" });
  table.querySelectorAll("tbody tr").forEach((row, i) => row.addEventListener("click", (event) => {
    if (!event.target.closest("button")) open(i);
  }));
  return [html("p", { class: "about" }, `Queries worth a look, by ${data.scores.metric}. ` +
    "Choose one to see its documents and the forces on them."), table];
}

// What numbers of features say, by the first of their kinds.
const FEATURES = {
  gain: "How much the splits on each feature lowered the cost (gain), and how many there are, in " +
    "the trees that make the scores.",
  influence: "How far the score of a training document moves with each feature of the network, " +
    "for one standard deviation; with a category, how far it is from that of an unknown one.",
};

function features(data) {
  const runs = data.runs.filter((run) => run.importance.length);
  if (!runs.length) return [];
  const box = html("div");
  const whose = runs.length > 1 ? select("run", runs.map((run) => run.name), draw) : null;
  function draw(wanted) {
    const { importance } = runs.find((run) => run.name === wanted);
    const kinds = Object.keys(importance[0]).filter((key) => key !== "feature");
    box.replaceChildren(html("p", { class: "about" }, FEATURES[kinds[0]]),
      bars.features(importance, kinds, `Features of ${wanted}`, whose));
  }
  draw(runs[0].name);
  return [box];
}

function settings(data) {
  const facts = data.runs.map((run) => ({ ...{ objective: "", [`${run.step}s made`]: run.steps,
    [`${run.step}s used`]: run.used }, ...run.settings, objective: run.objective }));
  const names = [...new Set(facts.flatMap((own) => Object.keys(own)))];
  const text = (own, key) => (own[key] === null || own[key] === undefined ? "–" : String(own[key]));
  const differs = (key) => new Set(facts.map((own) => text(own, key))).size > 1;
  const order = [...names.filter(differs), ...names.filter((key) => !differs(key))];
  const columns = [{ name: "setting", kind: "text" },
    ...data.runs.map((run) => ({ name: run.name, kind: "text" }))];
  const rows = order.map((key) => [
    html("span", null, key, differs(key) ? html("span", { class: "tag" }, "differs") : null),
    ...facts.map((own) => text(own, key))]);
  const table = tables.make({ columns, rows, label: "Settings of the runs",
    rowClass: (i) => (differs(order[i]) ? "differs" : null) });
  table.classList.add("settings");
  return [table, ...data.runs.filter((run) => run.log.length).map((run) => html("details",
    { class: "fine" }, html("summary", null, `Log of ${run.name}`),
    html("pre", null, run.log.join("\n"))))];
}

const notes = (data) => (data.notes.length ? [list(data.notes, "plain")] : []);

rankforce.sections = { summary, comparison, byQuery, curves, diagnostics, queries, features,
  settings, notes };
