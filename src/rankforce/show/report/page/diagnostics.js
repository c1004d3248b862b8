// What the forces did while learning: which charts there are, and what each of them says.
const { html } = rankforce.dom;
const { color, make } = rankforce.charts;
const DASH = "5 4";

// Each line is [kind, series, what it is called beside another, dash].
const GROUPS = [
  { title: "Do the forces go the right way?", charts: [
    { title: "Incoherent queries", format: "share",
      about: "Share of queries where a document that stands wrongly among the first k is pushed " +
        "up more than one that is missing there (restricted), or any document more than a " +
        "better one below it (unrestricted).",
      source: "Marcuzzi et al. 2023, Figure 3",
      lines: [["incoherence", "restricted", "restricted"],
        ["incoherence", "unrestricted", "unrestricted", DASH]] },
    { title: "Violations per query", format: "number",
      about: "Mean number of such pairs of documents in a query.",
      source: "after Marcuzzi et al. 2023",
      lines: [["incoherence", "violations", "restricted"],
        ["incoherence", "violations_unrestricted", "unrestricted", DASH]] },
    { title: "Size of the violations", format: "number",
      about: "By how much the wrong document is pushed more, in units of the query's largest " +
        "force.",
      source: "after Marcuzzi et al. 2023",
      lines: [["incoherence", "size", "restricted"],
        ["incoherence", "size_unrestricted", "unrestricted", DASH]] },
    { title: "Agreement with the other objective", format: "share",
      about: "Share of documents that both objectives push the same way.",
      source: "Svore et al. 2011, Figure 2", lines: [["agreement", "share"]] },
  ] },
  { title: "How many pairs push?", charts: [
    { title: "Effective pairs", format: "number",
      about: "Mean number of pairs in a query that have a weight.",
      source: "Adalia et al. 2025, Figure A1", lines: [["pairs", "absolute"]] },
    { title: "Effective pairs, relative", format: "share",
      about: "The same as a share of all n(n−1)/2 pairs of the query's documents.",
      source: "Adalia et al. 2025, Figure 5", lines: [["pairs", "relative"]] },
    { title: "Queries without force", format: "share",
      about: "Share of queries that no pair pushes: they teach the next step nothing.",
      source: "after Adalia et al. 2025", lines: [["pairs", "without_force"]] },
    { title: "Norm factors", format: "number", kind: "band",
      about: "What the norm multiplies a query's forces by: the median, and the range that " +
        "eight of ten queries lie in.",
      source: "LightGBM's norm of lambdas" },
  ] },
  { title: "Where does the force come from, and what moves?", charts: [
    { title: "Who pushes highly relevant documents", kind: "labels", of: "contributions",
      about: "Share of the force on highly relevant documents, before any norm, by the label of " +
        "the document that they are paired with; below 0 where it pushes them down.",
      source: "Svore et al. 2011, Figure 3a; Tunys 2015" },
    { title: "Who pushes highly relevant documents, by size", kind: "stack",
      of: "contributions_by_size",
      about: "The same by the magnitudes of the forces under the norm: the mean over documents.",
      source: "after Svore et al. 2011" },
    { title: "Labels at the top", kind: "stack", of: "label_mix",
      about: "Share of each label among the documents at the top of the ranking.",
      source: "Svore et al. 2011, Figure 3b; Tunys 2015" },
    { title: "Rank changes", format: "share",
      about: "Share of positions that one more step gives to another document.",
      source: "Svore et al. 2011, Figure 4",
      lines: [["rank_changes", "top", "at the top"], ["rank_changes", "overall", "overall", DASH]] },
  ] },
];

function lines(spec, runs) {
  const isAlone = runs.length === 1;
  return runs.flatMap((run, number) => spec.lines.map(([kind, key, called, dash]) => {
    const y = (run.diagnostics.series[kind] || {})[key];
    const name = called ? (isAlone ? called : `${run.name}, ${called}`) : run.name;
    return y && { name, y, x: run.diagnostics.trees, used: run.used, step: run.step,
      dash, color: color(run.number) };
  })).filter(Boolean);
}

function bands(runs) {
  return runs.flatMap((run) => {
    const own = run.diagnostics.series.norm_factors;
    if (!own) return [];
    return [{ name: run.name, x: run.diagnostics.trees, color: color(run.number), y: own.median,
      low: own.low, high: own.high, used: run.used, step: run.step }];
  });
}

// One chart per run with a series for each label: stacks cannot lie upon each other.
function labels(spec, runs) {
  const isArea = spec.kind === "stack";
  const drawn = runs.filter((run) => run.diagnostics.series[spec.of]).map((run) => {
    const own = Object.entries(run.diagnostics.series[spec.of]);
    const series = own.map(([label, y], i) => ({
      name: `label ${label}`, y, x: run.diagnostics.trees, used: run.used, step: run.step, isArea,
      color: !isArea ? color(i)
        : `var(--grade-${own.length > 1 ? Math.round((4 * i) / (own.length - 1)) : 0})`,
    }));
    const isAlone = runs.length === 1;
    const said = isAlone ? spec : { kind: spec.kind, title: run.name, about: "" };
    return make({ ...said, format: "share", series, zero: true, top: isArea ? 1 : undefined,
      level: isAlone ? "h4" : "h5", label: `${spec.title}, ${run.name}` });
  });
  if (runs.length === 1 || !drawn.length) return drawn;
  return [html("div", { class: "stacks" }, html("h4", null, spec.title),
    html("p", { class: "about" }, spec.about, " ", html("cite", null, spec.source)),
    html("div", { class: "grid-of-charts small" }, drawn))];
}

function charts(spec, runs) {
  if (spec.of) return labels(spec, runs);
  const series = spec.kind === "band" ? bands(runs) : lines(spec, runs);
  if (!series.length) return [];
  return [make({ ...spec, kind: "lines", series, zero: true, level: "h4" })];
}

// Where the curves are from; runs may differ in it.
function origin(run) {
  const { data, objective, k, top, high, against } = run.diagnostics.about || {};
  const said = [data && `on ${data}`, objective && `forces of ${objective}`, k && `k = ${k}`,
    top && `the top is ${top} ${top === "1" ? "position" : "positions"}`,
    high && `highly relevant from label ${high}`,
    against && `the other objective is ${against}`].filter(Boolean);
  return html("li", null, html("strong", null, run.name),
    said.length ? `: ${said.join("; ")}.` : "");
}

function build(runs) {
  const known = runs.filter((run) => run.diagnostics && run.diagnostics.trees.length);
  if (!known.length) return [];
  const parts = [html("ul", { class: "origins" }, known.map(origin))];
  for (const group of GROUPS) {
    const drawn = group.charts.flatMap((spec) => charts(spec, known));
    if (drawn.length) {
      parts.push(html("h3", null, group.title), html("div", { class: "grid-of-charts" }, drawn));
    }
  }
  return parts;
}

rankforce.diagnostics = { build };
