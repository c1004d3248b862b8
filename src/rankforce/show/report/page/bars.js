// Bars: queries in order of their values, and features in order of their weight.
const { html, svg, slider, choice, onWidth, walk } = rankforce.dom;
const { FORMATS, ticks, scale, tickText } = rankforce.scales;
const { levels } = rankforce.charts;
const PAD = { top: 14, right: 14, bottom: 20, left: 58 };
const FIRST = 20; // features that are shown before one asks for all

// One bar per query, best first; the readout names the query under the crosshair.
//   options: label, bars: [{value, text, query}], isDifference, open(query), canOpen(query)
class QueryBars {
  constructor(options) {
    this.options = options;
    this.at = 0;
    this.isActive = false;
    this.plot = slider(this, options.label, 1, options.bars.length,
      { class: "plot", onclick: () => this.open() });
    this.readout = html("p", { class: "readout" });
    this.node = html("div", { class: "query-bars" }, this.plot, this.readout);
    onWidth(this.plot, (width) => { this.width = width; this.draw(); });
  }

  key(event) {
    if (event.key === "Enter") this.open();
    const to = walk(event, this.at, this.options.bars.length - 1, -1);
    if (to === undefined) return;
    this.at = to;
    this.isActive = true;
    this.readOut();
  }

  point(event) {
    const x = event.clientX - this.plot.getBoundingClientRect().left - PAD.left;
    const wide = (this.width - PAD.left - PAD.right) / this.options.bars.length;
    this.at = Math.min(this.options.bars.length - 1, Math.max(0, Math.floor(x / wide)));
    this.isActive = true;
    this.readOut();
  }

  activate(isActive) {
    this.isActive = isActive;
    this.readOut();
  }

  open() {
    const bar = this.options.bars[this.at];
    if (bar && this.options.canOpen(bar.query)) this.options.open(bar.query);
  }

  draw() {
    const { bars, isDifference } = this.options;
    if (!bars.length) return;
    const height = this.width < 420 ? 200 : 260;
    const values = bars.map((bar) => bar.value);
    const low = values.reduce((a, b) => Math.min(a, b), 0);
    const high = values.reduce((a, b) => Math.max(a, b), isDifference ? 0 : 1e-9);
    const right = this.width - PAD.right, bottom = height - PAD.bottom;
    this.toY = scale(low, high > low ? high : low + 1, bottom, PAD.top);
    this.toX = (place) => PAD.left + ((right - PAD.left) * place) / bars.length;
    this.bottom = bottom;
    const steps = ticks(low, high, 5);
    const texts = tickText(steps, "number");
    const axes = svg("g", { class: "axes" },
      levels(steps, texts, this.toY, [PAD.left, right], (value) => value === 0));
    this.cross = svg("g", { class: "cross" });
    const up = isDifference ? "var(--up)" : "var(--accent)";
    this.plot.replaceChildren(svg("svg", { width: this.width, height,
      viewBox: `0 0 ${this.width} ${height}`, "aria-hidden": "true" },
      axes, svg("path", { d: this.outline((value) => value > 0), fill: up }),
      svg("path", { d: this.outline((value) => value < 0), fill: "var(--down)" }), this.cross));
    this.readOut();
  }

  outline(isWanted) {
    const zero = this.toY(0).toFixed(2);
    const gap = this.toX(1) - this.toX(0) > 4 ? 1 : 0;
    return this.options.bars.map((bar, i) => !isWanted(bar.value) ? "" :
      `M${this.toX(i).toFixed(2)} ${zero}V${this.toY(bar.value).toFixed(2)}` +
      `H${(this.toX(i + 1) - gap).toFixed(2)}V${zero}Z`).join("");
  }

  readOut() {
    const bar = this.options.bars[this.at];
    const can = this.options.canOpen(bar.query);
    const hint = "Point at a bar, or use the arrow keys, to see which query it is.";
    this.readout.textContent = this.isActive
      ? bar.text + (can ? " Click or press Enter to open it." : "") : hint;
    this.plot.setAttribute("aria-valuenow", this.at + 1);
    this.plot.setAttribute("aria-valuetext", bar.text);
    this.plot.classList.toggle("can-open", this.isActive && can);
    if (!this.cross) return;
    this.cross.replaceChildren();
    if (!this.isActive) return;
    this.cross.append(svg("rect", { class: "picked", x: this.toX(this.at), y: PAD.top,
      width: Math.max(1.5, this.toX(this.at + 1) - this.toX(this.at)),
      height: this.bottom - PAD.top }));
  }
}

// Features as a table with bars, by the first of some kinds of numbers that says anything.
function features(list, kinds, label, beside) {
  let by = kinds.find((kind) => list.some((one) => one[kind] > 0)) || kinds[0];
  let isAll = false;
  const box = html("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" });
  const more = html("button", { type: "button", class: "more",
    onclick: () => { isAll = !isAll; draw(); } });

  function draw() {
    const sorted = [...list].sort((a, b) => b[by] - a[by]);
    const shown = isAll ? sorted : sorted.slice(0, FIRST);
    const total = list.reduce((sum, one) => sum + one[by], 0) || 1;
    const most = sorted.length ? sorted[0][by] || 1 : 1;
    box.replaceChildren(html("table", { class: "features" },
      html("thead", null, html("tr", null, html("th", { scope: "col" }, "feature"),
        html("th", { scope: "col", class: "bar-cell" }, `share of all ${by}`),
        html("th", { scope: "col", class: "number" }, by))),
      html("tbody", null, shown.map((one) => {
        const bar = html("span", { class: "bar" });
        bar.style.width = `${(100 * Math.max(one[by], 0)) / most}%`;
        return html("tr", null, html("th", { scope: "row" }, one.feature),
          html("td", { class: "bar-cell" }, html("span", { class: "track" }, bar),
            html("span", { class: "value" }, FORMATS.share(one[by] / total))),
          html("td", { class: "number" }, FORMATS.number(one[by])));
      }))));
    more.hidden = list.length <= FIRST;
    more.textContent = isAll ? `Show the first ${FIRST}` : `Show all ${list.length} features`;
    more.setAttribute("aria-expanded", String(isAll));
  }

  draw();
  const switched = kinds.length < 2 ? null : choice("by", kinds.map((kind) => [kind, kind]), by,
    (chosen) => { by = chosen; draw(); });
  return html("div", null, html("div", { class: "controls" }, beside, switched), box, more);
}

const queries = (options) => new QueryBars(options).node;

rankforce.bars = { queries, features };
