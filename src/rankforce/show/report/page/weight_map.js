// What an objective's weight makes of two ranks, as a map of all pairs of ranks in a list.
const { html, svg, slider, onWidth } = rankforce.dom;
const { FORMATS, short } = rankforce.scales;
const { rankWeights, candidatePairs } = rankforce.weights;

const [LEAST, USUAL, MOST] = [2, 10, 40]; // documents of the list
const LARGEST = 46; // pixels of a cell
const PAD = { top: 40, left: 42 };
const BETWEEN = 24; // pixels between two ranks that are written
const WORD = 46; // pixels that the name of an axis takes
const HINT = "Point at a cell, or focus the map and use the arrow keys.";
let maps = 0;

// How many pairs a map shows, and what it leaves out; or why there is none.
function sentence(part, weights) {
  if (part.kind === "list") {
    return "No map: it pushes a list as a whole, and no pair of ranks has a weight.";
  }
  if (part.kind !== "labels") {
    return "No map: explicit preferences bring their own weights, whatever the ranks.";
  }
  if (!weights) {
    return "No map: its weight is no function of the two ranks alone. What a swap changes " +
      "depends on the labels of other documents of the list, too.";
  }
  const { cutoff, extended } = part.pairs;
  const all = (weights.length * (weights.length - 1)) / 2;
  return [`${candidatePairs(weights)} of ${all} ${all === 1 ? "pair" : "pairs"} of ranks in a ` +
    `list of ${weights.length} documents can have a weight.`,
  extended && cutoff && `Labels decide which documents below rank ${cutoff} have more pairs: ` +
    `map and number are those of the top ${cutoff} only.`,
  part.position_of_hi_only && "Only the rank of the document with the higher label counts: the " +
    "map is for lists in which it stands above the other."].filter(Boolean).join(" ");
}

class WeightMap {
  constructor(part, weights) {
    Object.assign(this, { part, weights, n: weights.length, row: 0, column: 1, isActive: false });
    this.largest = Math.max(...weights.flat());
    this.none = `no-weight-${maps++}`;
    this.plot = slider(this, `Weights of rank pairs, ${part.name}`, 1, this.n ** 2,
      { class: "weight-map" });
    this.readout = html("p", { class: "readout" });
    this.node = html("div", { class: "weight-body" }, this.plot,
      html("div", { class: "weight-aside" }, this.legend(), this.readout));
    onWidth(this.plot, (width) => this.draw(width));
  }

  legend() {
    const shown = this.largest > 0 ? [html("span", null, "0"),
      html("span", { class: "weight-scale" }), html("span", null, FORMATS.number(this.largest))]
      : [];
    return html("p", { class: "weight-legend" }, shown,
      svg("svg", { width: 18, height: 14, class: "sample", "aria-hidden": "true" },
        svg("rect", { width: 18, height: 14, fill: `url(#${this.none})` })),
      html("span", null, "no weight"));
  }

  key(event) {
    const { n } = this;
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
      Home: [0, -n], End: [0, n], PageUp: [-n, 0], PageDown: [n, 0] };
    if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [down, right] = moves[event.key];
    this.go(this.row + down, this.column + right);
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    const place = (at, start) => Math.floor((at - start) / this.cell);
    const row = place(event.clientY, box.top + PAD.top);
    const column = place(event.clientX, box.left + PAD.left);
    if (Math.min(row, column) >= 0 && Math.max(row, column) < this.n) this.go(row, column);
  }

  go(row, column) {
    const inside = (place) => Math.min(this.n - 1, Math.max(0, place));
    [this.row, this.column] = [inside(row), inside(column)];
    this.activate(true);
  }

  activate(isActive) {
    this.isActive = isActive;
    this.readOut();
  }

  draw(width) {
    const { n, none } = this;
    const cell = (this.cell = Math.min(LARGEST, (width - PAD.left - 1) / n));
    const size = n * cell;
    const box = (of) => svg("rect", { width: cell, height: cell, ...of });
    this.cursor = svg("g", { class: "cursor" }, box({ class: "halo" }), box());
    this.plot.replaceChildren(svg("svg", { width: PAD.left + size + 1,
      height: PAD.top + size + 1, "aria-hidden": "true" },
    svg("defs", null, svg("pattern", { id: none, width: 5, height: 5,
      patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("line", { x1: 0.5, x2: 0.5, y1: 0, y2: 5, class: "hatch" }))),
    svg("g", { class: "axes" }, this.axes()),
    svg("g", { transform: `translate(${PAD.left} ${PAD.top})` }, this.cells(box), this.cursor)));
    this.readOut();
  }

  cells(box) {
    const { weights, largest, cell, none } = this;
    return weights.flatMap((row, i) => row.map((weight, j) => (i === j ? null
      : box({ x: j * cell, y: i * cell, class: weight === 0 ? "none" : "cell",
        "data-weight": weight, fill: weight === 0 ? `url(#${none})` : null,
        style: weight === 0 ? null : `--share: ${((100 * weight) / largest).toFixed(2)}%` }))));
  }

  axes() {
    const { n, cell } = this;
    const at = (x, y, text, more) => svg("text", { x, y, dy: "0.32em", "text-anchor": "middle",
      ...more }, text);
    const step = [1, 2, 5].find((one) => one * cell >= BETWEEN) ?? 10;
    const ranks = Array.from({ length: n }, (_, i) => i + 1)
      .filter((rank) => rank === 1 || (rank % step === 0 && (rank - 1) * cell >= BETWEEN));
    const middle = (rank) => (rank - 0.5) * cell;
    return [at(PAD.left + WORD / 2, 8, "rank j"),
      at(8, PAD.top + WORD / 2, "rank i", { transform: `rotate(-90 8 ${PAD.top + WORD / 2})` }),
      ...ranks.flatMap((rank) => [at(PAD.left + middle(rank), 28, rank),
        at(PAD.left - 8, PAD.top + middle(rank), rank, { "text-anchor": "end" })])];
  }

  text() {
    const { row, column, part } = this;
    if (row === column) return `Rank ${row + 1} and itself: no pair.`;
    const pair = `Ranks ${row + 1} and ${column + 1}: `;
    const weight = this.weights[row][column];
    if (weight !== 0) return `${pair}${FORMATS.number(weight)}.`;
    const { cutoff, extended } = part.pairs;
    if (Math.min(row, column) < (cutoff ?? Infinity)) return `${pair}0, whatever the labels.`;
    return `${pair}both below rank ${cutoff}, no pair${extended ? " unless labels add it" : ""}.`;
  }

  readOut() {
    if (!this.cursor) return;
    this.cursor.setAttribute("transform",
      `translate(${this.column * this.cell} ${this.row * this.cell})`);
    this.cursor.toggleAttribute("hidden", !this.isActive);
    this.readout.textContent = this.isActive ? this.text() : HINT;
    this.plot.setAttribute("aria-valuenow", this.row * this.n + this.column + 1);
    this.plot.setAttribute("aria-valuetext", this.text());
  }
}

function figure(part, tables, n, isMixed) {
  const weights = rankWeights(part, tables, n);
  const title = isMixed ? `${short(part.weight, 4)} × ${part.name}` : part.name;
  return html("figure", { class: "chart" }, html("h3", null, title),
    html("p", { class: "about" }, sentence(part, weights)),
    weights ? new WeightMap(part, weights).node : null);
}

function build(data) {
  const { list, tables } = data.objectives;
  const longest = Math.max(0, ...data.queries.map((query) => query.documents.length));
  if (!list.length || longest < LEAST) return [];
  const most = Math.min(MOST, longest); // tables of ranks reach as far
  let [chosen, n] = [list[0], Math.min(USUAL, most)];
  const box = html("div", { class: "weight-maps" });
  const show = () => box.replaceChildren(...chosen.parts.map((part) =>
    figure(part, tables, n, chosen.parts.length > 1)));
  const names = html("select", {
    onchange: () => { chosen = list[names.selectedIndex]; show(); },
  }, list.map((one) => html("option", null, one.name)));
  const resize = (wanted) => {
    const before = n;
    n = Math.min(most, Math.max(LEAST, Math.round(wanted)));
    if (n !== before) show();
  };
  const size = html("input", { type: "number", min: LEAST, max: most, value: n,
    "aria-describedby": "weights-most",
    // Whoever types 12 has typed 1 before.
    oninput: () => { if (size.valueAsNumber >= LEAST) resize(size.valueAsNumber); },
    onchange: () => { resize(size.valueAsNumber || n); size.value = n; } });
  show();
  return [html("p", { class: "about" }, "What the weight of a pair makes of the ranks of its " +
    "two documents: gains of labels and the value of the ideal list are left out. ",
  html("cite", null, "after Adalia et al. 2025, Figure 1")),
  html("div", { class: "controls" },
    html("label", { class: "select" }, html("span", null, "objective"), names),
    html("label", { class: "select" }, html("span", null, "documents"), size,
      html("small", { id: "weights-most", class: "faint" }, most < MOST
        ? `up to ${most}: the longest list in this report` : `up to ${most}`))), box];
}

rankforce.weightMap = { build };
