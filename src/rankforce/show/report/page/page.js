// Puts the report together: head, contents, sections, and what connects them.
const { html } = rankforce.dom;
const { sections } = rankforce;
const root = document.documentElement;

const data = JSON.parse(document.getElementById("data").textContent);
data.runs.forEach((run, number) => { run.number = number; });
const main = document.getElementById("main");
let explorer = null;

const places = new Map(data.queries.map((query, i) => [query.number, i]));
const canOpen = (number) => places.has(number);

// Shows a query of the list in the explorer, and goes there.
function open(place) {
  explorer.show(place);
  const section = document.getElementById("forces");
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  section.scrollIntoView({ behavior: isCalm ? "auto" : "smooth" });
  section.querySelector("h2").focus({ preventScroll: true });
}

function mountExplorer() {
  if (!data.queries.length || !data.objectives.list.length) return [];
  const box = html("div", { class: "explorer-box" });
  explorer = rankforce.explorer.mount(box, data);
  return [html("p", { class: "about" }, "One list, and the force on each document under any " +
    "objective: up for a positive lambda, down for a negative one. Move a document, and see " +
    "what that changes. ", html("cite", null, "after Marcuzzi et al. 2023, Figure 1")),
  box];
}

const PARTS = [
  ["summary", "Summary", () => sections.summary(data)],
  ["comparison", data.runs.length > 1 ? "Comparison" : "Metrics", () => sections.comparison(data)],
  ["by-query", "Query by query", () => sections.byQuery(data, (n) => open(places.get(n)), canOpen)],
  ["curves", "Metric curves", () => sections.curves(data)],
  ["diagnostics", "Diagnostics", () => sections.diagnostics(data)],
  ["queries", "Worst and best queries", () => sections.queries(data, open)],
  ["forces", "Forces in a list", mountExplorer],
  ["weights", "Weights of rank pairs", () => rankforce.weightMap.build(data)],
  ["features", "Features", () => sections.features(data)],
  ["settings", "Settings", () => sections.settings(data)],
  ["notes", "Notes", () => sections.notes(data)],
];

function head() {
  const isDark = () => (root.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => (isDark() ? "Light theme" : "Dark theme");
  const theme = html("button", { type: "button", class: "theme", onclick: () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    theme.textContent = name();
  } }, name());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    theme.textContent = name();
  });
  const facts = [`${data.runs.length} ${data.runs.length === 1 ? "run" : "runs"}`];
  if (data.data) {
    const { name: file, queries, features } = data.data;
    facts.push(`${file}: ${queries.toLocaleString("en")} queries, ${features} features`);
  }
  facts.push(`rankforce ${data.version}`);
  document.getElementById("head").append(html("div", null, html("h1", null, data.title),
    html("p", null, facts.join(" · "))), theme);
}

function body() {
  const links = new Map();
  for (const [id, title, build] of PARTS) {
    const nodes = build().filter(Boolean);
    if (!nodes.length) continue;
    main.append(html("section", { id, "aria-labelledby": `${id}-title` },
      html("h2", { id: `${id}-title`, tabindex: "-1" }, title), nodes));
    links.set(id, html("a", { href: `#${id}` }, title));
  }
  document.getElementById("contents").append(html("ul", null,
    [...links.values()].map((link) => html("li", null, link))));
  return links;
}

// Marks the section that one reads.
function follow(links) {
  const seen = new Set();
  const bar = document.querySelector("#contents ul");
  const look = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) seen.add(entry.target.id);
      else seen.delete(entry.target.id);
    }
    const first = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) {
      if (id === first) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    // On narrow pages the contents are one line, which scrolls along.
    if (first) bar.scrollLeft = links.get(first).offsetLeft - bar.clientWidth / 3;
  }, { rootMargin: "-15% 0px -60% 0px" });
  for (const id of links.keys()) look.observe(document.getElementById(id));
}

head();
follow(body());
