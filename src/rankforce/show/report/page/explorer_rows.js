// The list of the explorer: a row for each document, with the force on it as an arrow, and heads of
// the columns. Functions of the explorer, whose state they show.
const { html } = rankforce.dom;
const { short, signed, aligned, label } = rankforce.scales;

const REACH = 1.7; // length of the longest arrow, in rows
const LANES = 4; // arrows of neighbours stand side by side

function renderHead(explorer) {
  const columns = explorer.found.map(({ objective, largest }) =>
    html("span", { class: "ex-force" }, html("b", { title: objective.name }, objective.name),
      html("small", null, `longest ${short(largest)}`)));
  explorer.head.replaceChildren(html("span", { class: "ex-rank" }, "Rank"), html("span"),
    html("span", { class: "ex-doc" }, "Grade, document, score"),
    html("span", { class: "ex-forces" }, columns));
}

function make(explorer, document) {
  const name = explorer.query.documents[document];
  const button = (by, text, where) => html("button", { type: "button", tabindex: -1,
    "aria-label": `Move ${name} ${where}`,
    onclick: () => explorer.move(document, explorer.order.indexOf(document) + by) }, text);
  const parts = {
    rank: html("span", { class: "ex-rank" }),
    up: button(-1, "\u25b2", "up"),
    down: button(1, "\u25bc", "down"),
    score: html("small"),
    forces: html("span", { class: "ex-forces" }),
  };
  const y = explorer.query.labels[document];
  const grade = y > 0 ? Math.min(4, Math.max(1, Math.round((4 * y) / explorer.top))) : 0;
  const row = html("li", { class: "ex-row ex-item", "data-document": document, tabindex: -1,
    "aria-keyshortcuts": "Alt+ArrowUp Alt+ArrowDown",
    onfocus: () => explorer.activate(document) },
    parts.rank, html("span", { class: "ex-steps" }, parts.up, parts.down),
    html("span", { class: `ex-doc ex-grade-${grade}` },
      html("b", { class: "ex-grade" }, label(y)),
      html("span", { class: "ex-name", title: name }, html("span", null, name), parts.score)),
    parts.forces);
  return { row, ...parts };
}

function renderRows(explorer) {
  const shown = explorer.order.slice(0, explorer.size);
  if (!shown.includes(explorer.active)) explorer.active = shown[0];
  const focused = document.activeElement;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const tops = new Map([...explorer.list.children].map((row) => [row, row.offsetTop]));
  shown.forEach((one, r) => renderRow(explorer, one, r));
  const rows = shown.map((one) => explorer.rows[one].row);
  arrange(explorer.list, rows, explorer.rows[explorer.active].row);
  if (explorer.list.contains(focused)) focused.focus({ preventScroll: true });
  for (const row of rows) {
    const by = (tops.get(row) ?? row.offsetTop) - row.offsetTop;
    if (!by || isCalm) continue;
    const frames = [{ transform: `translateY(${by}px)` }, { transform: "none" }];
    row.animate(frames, { duration: 180, easing: "ease-out" });
  }
}

// Puts rows in order around the one that somebody moves: an element that leaves the page, if
// only for a moment, loses focus and finger.
function arrange(list, rows, still) {
  const kept = new Set(rows);
  for (const row of [...list.children]) if (!kept.has(row)) row.remove();
  if (rows.every((row, i) => list.children[i] === row)) return;
  if (still.parentNode !== list) list.append(still);
  const at = rows.indexOf(still);
  rows.slice(0, at).forEach((row) => list.insertBefore(row, still));
  list.append(...rows.slice(at + 1));
}

function renderRow(explorer, one, r) {
  const { row, rank, up, down, score, forces } = explorer.rows[one];
  const by = explorer.before[one] - r;
  const moved = by ? html("small", { title: `was at rank ${explorer.before[one] + 1}` },
    `${by > 0 ? "\u2191" : "\u2193"}${Math.abs(by)}`) : null;
  rank.replaceChildren(html("b", null, String(r + 1)), ...(moved ? [moved] : []));
  const sources = Object.entries(explorer.query.sources ?? {});
  const others = sources.map(([name, y]) => `, ${name} ${label(y[one])}`);
  score.textContent = short(explorer.scores[one], 4) + others.join("");
  up.setAttribute("aria-disabled", String(r === 0));
  down.setAttribute("aria-disabled", String(r === explorer.size - 1));
  while (forces.children.length > explorer.found.length) forces.lastChild.remove();
  explorer.found.forEach((found, i) => renderForce(forces, i, found, one, r));
  row.classList.toggle("ex-cut", r + 1 === explorer.k && explorer.k < explorer.order.length);
  row.dataset.cut = `top ${explorer.k}`;
  row.dataset.score = String(explorer.scores[one]);
  row.classList.toggle("ex-moved", by !== 0 && explorer.touched.has(one));
  row.setAttribute("aria-current", String(one === explorer.selected));
  row.setAttribute("aria-label", rowText(explorer, one, r, by));
  for (const [node, is] of [[row, one === explorer.active], [up, one === explorer.active],
    [down, one === explorer.active]]) node.tabIndex = is ? 0 : -1;
}

function rowText(explorer, one, r, by) {
  const forces = explorer.found.flatMap(({ objective, forces: { lambda }, role }) =>
    [`force ${signed(lambda[one])} by ${objective.name}`, role.get(one)].filter(Boolean));
  const moved = by ? [`was at rank ${explorer.before[one] + 1}`] : [];
  const { documents, labels } = explorer.query;
  return [`Rank ${r + 1}`, documents[one], `grade ${label(labels[one])}`,
    `score ${short(explorer.scores[one], 4)}`, ...moved, ...forces].join(", ");
}

function renderForce(forces, i, { forces: { lambda }, largest, role }, one, r) {
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
  value.lastChild.title = role.has(one) ? "Incoherent: a document that the top misses is " +
    "pushed less than one that does not belong there" : "";
}

rankforce.explorerRows = { make, renderHead, renderRows };
