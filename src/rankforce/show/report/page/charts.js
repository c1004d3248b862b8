// Charts over the number of steps, which are trees or epochs: lines, bands and stacked areas, with
// a crosshair and a table.
const { html, svg, slider, onWidth, walk } = rankforce.dom;
const { FORMATS, isNumber, ticks, logTicks, scale, tickText, lastUpTo } = rankforce.scales;

function path(x, y, toX, toY) {
  let text = "", isDown = false;
  x.forEach((value, i) => {
    if (!isNumber(y[i])) { isDown = false; return; }
    text += `${isDown ? "L" : "M"}${toX(value).toFixed(2)} ${toY(y[i]).toFixed(2)}`;
    isDown = true;
  });
  return text;
}

function bandPath(one, toX, toY) {
  const isKnown = (i) => isNumber(one.high[i]) && isNumber(one.low[i]);
  const known = one.x.map((_, i) => i).filter(isKnown);
  if (!known.length) return "";
  const point = (i, values) => `${toX(one.x[i]).toFixed(2)} ${toY(values[i]).toFixed(2)}`;
  const there = known.map((i) => point(i, one.high)), back = known.map((i) => point(i, one.low));
  return `M${there.join("L")}L${back.reverse().join("L")}Z`;
}

// What a series looks like, for the legend.
function sample(one) {
  const box = { x: 4, y: 0, width: 14, height: 12, rx: 2, fill: one.color };
  return svg("svg", { class: "sample", width: 22, height: 12, "aria-hidden": "true" },
    one.isArea || one.low ? svg("rect", { ...box, class: one.isArea ? "solid" : "band" }) : null,
    one.isArea ? null : svg("line", { x1: 0, x2: 22, y1: 6, y2: 6, stroke: one.color, class: "line",
        "stroke-dasharray": one.dash || null }));
}

const COLUMN = 44; // pixels across, where there is one step
const PAD = { top: 12, right: 14, bottom: 38, left: 58 };

// One axis of steps for all charts.
const axis = { isLog: false, charts: new Set() };
function setLog(isLog) {
  axis.isLog = isLog;
  for (const chart of axis.charts) chart.draw();
}

// A figure with title, one sentence, its source, the plot, a legend that reads out, a table.
//   options: title, about, source, format, kind ("lines" or "stack"), zero, top,
//     series: [{name, color, dash, x, y, low and high (edges of a band around y), mark,
//       step (what one is called), used (number of steps that the run ended with; it may have
//       made more)}]
class Chart {
  constructor(options) {
    this.options = options;
    this.hidden = new Set();
    const all = options.series.flatMap((one) => one.x);
    this.steps = [...new Set(all)].sort((a, b) => a - b);
    this.step = stepOf(options.series);
    this.ends = new Set(options.series.map((one) => one.used));
    this.last = Math.max(0, lastUpTo(this.steps, Math.max(...this.ends)));
    this.at = this.last;
    this.isActive = false;
    this.plot = slider(this, `${options.label || options.title}, by number of ${this.step}s`,
      this.steps[0], this.steps[this.steps.length - 1], { class: "plot" });
    this.place = html("span", { class: "at" });
    this.legend = this.makeLegend();
    this.node = html("figure", { class: "chart" },
      html("figcaption", null, html(options.level || "h3", null, options.title),
        options.about ? html("p", { class: "about" }, options.about, " ",
          options.source ? html("cite", null, options.source) : null) : null),
      this.plot, this.legend, this.makeTable());
    axis.charts.add(this);
    onWidth(this.plot, (width) => { this.width = width; this.draw(); });
  }

  makeLegend() {
    const buttons = this.options.series.map((one) => {
      one.output = html("span", { class: "value" });
      return html("button", {
        type: "button", "aria-pressed": "true",
        onclick: (event) => this.toggle(one, event.currentTarget),
      }, sample(one), html("span", null, one.name), one.output);
    });
    return html("div", { class: "legend" }, this.place, buttons);
  }

  makeTable() {
    const table = html("details", { class: "as-table" }, html("summary", null, "Data as table"));
    table.addEventListener("toggle", () => {
      if (!table.open || table.childElementCount > 1) return;
      const { series, format } = this.options;
      const parts = series.flatMap((one) => [[one, one.name, one.y],
        ...(one.low ? [[one, `${one.name}, low`, one.low], [one, `${one.name}, high`, one.high]]
          : [])]);
      const columns = [{ name: `${this.step}s`, kind: "whole" },
        ...parts.map(([, name]) => ({ name, kind: format }))];
      const rows = this.steps.map((step) => [step,
        ...parts.map(([one, , values]) => values[placeOf(one, step)])]);
      table.append(rankforce.tables.make({ columns, rows, label: this.options.label || this.options.title }));
    });
    return table;
  }

  toggle(one, button) {
    if (this.hidden.has(one)) this.hidden.delete(one);
    else this.hidden.add(one);
    button.setAttribute("aria-pressed", String(!this.hidden.has(one)));
    this.draw();
  }

  key(event) {
    const to = walk(event, this.at, this.steps.length - 1, 1);
    if (to === undefined) return;
    this.at = to;
    this.isActive = true;
    this.readOut();
  }

  point(event) {
    if (!this.toX) return;
    const x = event.clientX - this.plot.getBoundingClientRect().left;
    let best = 0;
    this.steps.forEach((step, i) => {
      if (Math.abs(this.toX(step) - x) < Math.abs(this.toX(this.steps[best]) - x)) best = i;
    });
    this.at = best;
    this.isActive = true;
    this.readOut();
  }

  activate(isActive) {
    this.isActive = isActive;
    if (!isActive) this.at = this.last;
    this.readOut();
  }

  // What is drawn: of a stack, the areas that stand upon each other.
  shapes() {
    const shown = this.options.series.filter((one) => !this.hidden.has(one));
    if (this.options.kind !== "stack") return shown;
    const floor = new Map();
    return shown.map((one) => {
      const low = one.x.map((step) => floor.get(step) || 0);
      const y = one.y.map((value, i) => low[i] + (isNumber(value) ? value : 0));
      one.x.forEach((step, i) => floor.set(step, y[i]));
      return { ...one, low, y, high: y };
    });
  }

  draw() {
    if (!this.width || !this.steps.length) return;
    const width = this.width;
    const height = width < 420 ? 210 : Math.min(300, Math.round(width * 0.5));
    const shapes = this.shapes();
    const [low, high, steps] = this.range(shapes, height);
    const first = this.steps[0], last = this.steps[this.steps.length - 1];
    const isLog = axis.isLog && first > 0;
    const right = width - PAD.right, bottom = height - PAD.bottom;
    // Where there is one step only, it stands in the middle.
    this.toX = first === last ? () => (PAD.left + right) / 2
      : scale(first, last, PAD.left, right, isLog);
    this.toY = scale(low, high, bottom, PAD.top);
    const count = Math.max(2, Math.floor(width / 62));
    const marks = isLog ? logTicks(first, last, count + 3)
      : ticks(first, last, count).filter(Number.isInteger);
    this.cross = svg("g", { class: "cross" });
    this.plot.replaceChildren(svg("svg", { width, height,
      viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      this.grid(steps, marks, width, bottom), svg("g", null, shapes.map((one) => this.shape(one))),
      svg("g", null, shapes.map((one) => this.best(one))), this.cross));
    this.edges = [PAD.top, bottom];
    this.readOut();
  }

  range(shapes, height) {
    const values = shapes.flatMap((one) => [...one.y, ...(one.low || []), ...(one.high || [])]).filter(isNumber);
    let [low, high] = values.reduce(
      ([least, most], one) => [Math.min(least, one), Math.max(most, one)], [Infinity, -Infinity]);
    if (!values.length) [low, high] = [0, 1];
    if (this.options.zero) low = Math.min(low, 0);
    if (this.options.top !== undefined) high = Math.max(high, this.options.top);
    if (high - low < 1e-12 * Math.max(1, Math.abs(high))) {
      const room = Math.abs(high) * 0.1 || 1;
      [low, high] = this.options.zero ? [low, high + room] : [low - room, high + room];
    }
    const steps = ticks(low, high, Math.max(3, Math.round(height / 48)));
    const step = steps.length > 1 ? steps[1] - steps[0] : high - low;
    // Shares that were rounded may add up to a little more than 1.
    const floor = Math.floor(low / step + 1e-4) * step;
    const roof = Math.ceil(high / step - 1e-4) * step;
    return [floor, roof, ticks(floor, roof, Math.round((roof - floor) / step))];
  }

  grid(steps, marks, width, bottom) {
    const texts = tickText(steps, this.options.format);
    const right = width - PAD.right;
    return svg("g", { class: "axes" },
      levels(steps, texts, this.toY, [PAD.left, right], (_, i) => i === 0),
      marks.map((step) => [
        svg("line", { x1: this.toX(step), x2: this.toX(step), y1: bottom, y2: bottom + 4 }),
        svg("text", { x: this.toX(step), y: bottom + 17, "text-anchor": "middle" },
          step.toLocaleString("en"))]).flat(),
      svg("text", { x: right, y: bottom + 33, "text-anchor": "end", class: "unit" },
        `number of ${this.step}s`));
  }

  shape(one) {
    if (one.isArea && one.x.length === 1) return this.column(one);
    const line = path(one.x, one.y, this.toX, this.toY);
    const parts = [];
    if (one.low) {
      const area = bandPath(one, this.toX, this.toY);
      parts.push(svg("path", { d: area, class: one.isArea ? "solid" : "band", fill: one.color }));
    }
    if (!one.isArea) {
      parts.push(svg("path", { d: line, class: "line", stroke: one.color,
        "stroke-dasharray": one.dash || null }));
    }
    return svg("g", null, parts, one.x.length === 1 ? dot(this, one, 0) : null);
  }

  // An area over one step only.
  column(one) {
    const [top, bottom] = [this.toY(one.high[0]), this.toY(one.low[0])];
    return svg("rect", { class: "solid", x: this.toX(one.x[0]) - COLUMN / 2, y: top, width: COLUMN,
      height: Math.max(0, bottom - top), fill: one.color });
  }

  best(one) {
    const at = one.mark ? placeOf(one, one.mark) : -1;
    if (at < 0 || !isNumber(one.y[at])) return null;
    return svg("circle", { class: "best", cx: this.toX(one.mark), cy: this.toY(one.y[at]), r: 5,
      stroke: one.color });
  }

  readOut() {
    const step = this.steps[this.at];
    const told = [];
    for (const one of this.options.series) {
      const at = lastUpTo(one.x, this.isActive ? step : Math.min(step, one.used));
      let text = at < 0 ? "–" : FORMATS[this.options.format](one.y[at]);
      if (one.low && at >= 0) {
        const [low, high] = [one.low[at], one.high[at]].map(FORMATS[this.options.format]);
        text = `${text} (${low} to ${high})`;
      }
      one.output.textContent = text;
      if (!this.hidden.has(one)) told.push(`${one.name} ${text}`);
    }
    const steps = `${step.toLocaleString("en")} ${this.step}${step === 1 ? "" : "s"}`;
    const end = this.ends.size > 1 ? "at the end of each run" : `at the end, ${steps}`;
    this.place.textContent = this.isActive ? `with ${steps}` : end;
    this.plot.setAttribute("aria-valuenow", step);
    this.plot.setAttribute("aria-valuetext", `${steps}: ${told.join(", ")}`);
    if (this.cross) this.drawCross(step);
  }

  drawCross(step) {
    this.cross.replaceChildren();
    if (!this.isActive) return;
    const x = this.toX(step);
    this.cross.append(svg("line", { x1: x, x2: x, y1: this.edges[0], y2: this.edges[1] }));
    for (const one of this.shapes()) {
      const at = placeOf(one, step);
      if (at >= 0 && isNumber(one.y[at])) this.cross.append(dot(this, one, at));
    }
  }
}

// Lines across at some values, with their texts on the left; one of them is the base.
function levels(values, texts, toY, [left, right], isBase) {
  return values.flatMap((value, i) => [
    svg("line", { x1: left, x2: right, y1: toY(value), y2: toY(value),
      class: isBase(value, i) ? "base" : "grid" }),
    svg("text", { x: left - 8, y: toY(value), dy: "0.32em", "text-anchor": "end" }, texts[i])]);
}

function placeOf(one, step) {
  const at = lastUpTo(one.x, step);
  return one.x[at] === step ? at : -1;
}

const dot = (chart, one, at) => svg("circle", { class: "dot", cx: chart.toX(one.x[at]),
  cy: chart.toY(one.y[at]), r: 3.5, fill: one.color });

// What a step of several series or runs is called; those of trees and of networks share a word.
function stepOf(several) {
  const known = new Set(several.map((one) => one.step));
  return known.size === 1 ? [...known][0] : "step";
}

const color = (number) => `var(--series-${(number % 8) + 1})`;

rankforce.charts = { axis, setLog, stepOf, color, levels,
  make: (options) => new Chart(options).node };
