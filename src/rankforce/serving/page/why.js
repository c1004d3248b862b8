// Features that make a score, and features that put one document above another.
import { barCells } from "./bars.js";
const { html } = window.rankforce.dom;
const { aligned, short } = window.rankforce.scales;

const FIRST = 10; // features that are shown before one asks for all
const valueOf = (one) => one.value;
const sum = (values) => values.reduce((total, value) => total + value, 0);

// What the features add, largest first: [{feature, value}].
const inOrder = (values) => values.map((value, feature) => ({ feature, value }))
  .filter(({ value }) => value !== 0)
  .sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.feature - b.feature);

// A table whose lines add up to its foot.
//   options: label, columns (names), values(feature) -> texts, parts, rest, total: [name, value]
class Sum {
  constructor(desk, reveal) {
    this.reveal = reveal;
    this.nameOf = (feature) => desk.features[feature].name;
    this.isAll = false;
    this.node = html("div", { class: "sum" });
  }

  draw(options) {
    const { parts, columns, label } = options;
    const lines = this.lines(options);
    const total = Math.abs(options.total[1]);
    const largest = Math.max(...lines.map(({ value }) => Math.abs(value)), total);
    let soFar = 0;
    const rows = lines.map((line) =>
      this.row(line, columns.length, largest, (soFar += line.value)));
    const head = ["Feature", ...columns, label, "", "So far"].map((name, i) => html("th",
      { scope: "col", class: i && i !== columns.length + 1 ? "number" : null, title: name }, name));
    const foot = html("tr", null,
      html("th", { scope: "row", colspan: 1 + columns.length }, options.total[0]),
      barCells(options.total[1], largest), html("td", { class: "number so-far" }));
    const more = html("button", { type: "button", class: "more",
      "aria-expanded": String(this.isAll), hidden: parts.length <= FIRST,
      onclick: () => { this.isAll = !this.isAll; this.draw(options); },
    }, this.isAll ? `Show the first ${FIRST}` : `Show all ${parts.length}`);
    this.node.replaceChildren(
      html("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label },
        html("table", { class: "features" }, html("thead", null, html("tr", null, head)),
          html("tbody", null, rows), html("tfoot", null, foot))), more);
  }

  lines({ parts, values, rest }) {
    const shown = this.isAll ? parts : parts.slice(0, FIRST);
    const others = parts.slice(shown.length);
    const lines = shown.map((part) => ({ ...part, cells: values(part.feature) }));
    if (others.length) {
      lines.push({ text: `${others.length} other features`, value: sum(others.map(valueOf)) });
    }
    if (rest) lines.push({ text: rest[0], value: rest[1] });
    return lines;
  }

  row({ feature, text, value, cells }, columns, largest, soFar) {
    const isFeature = feature !== undefined;
    const name = !isFeature ? text : html("button", { type: "button", class: "link",
      title: "Show it in the table of documents", onclick: () => this.reveal(feature),
    }, this.nameOf(feature));
    return html("tr", isFeature ? { "data-feature": feature } : { class: "others" },
      html("th", { scope: "row", colspan: cells ? null : 1 + columns }, name),
      (cells ?? []).map((cell) => html("td", { class: "number" }, cell)),
      barCells(value, largest),
      html("td", { class: "number so-far" }, aligned(soFar, largest)));
  }
}

const written = (text) => {
  const value = Number(text);
  return text.trim() === "" ? "missing" : Number.isFinite(value) ? short(value, 4) : text;
};

export class ScorePanel {
  constructor(desk, reveal) {
    this.desk = desk;
    this.sum = new Sum(desk, reveal);
    this.about = html("p", { class: "about" });
    this.node = html("div", null, this.about, this.sum.node);
  }

  draw() {
    const { desk } = this;
    const one = desk.document(desk.chosen);
    const why = desk.explained.get(desk.chosen);
    if (!one || !why) {
      this.about.textContent = "Nothing is known of a document of the ranking.";
      return this.sum.node.replaceChildren();
    }
    this.about.replaceChildren(html("b", null, one.id), ": what its features add to the score, " +
      "beside what is expected of any document.");
    this.sum.draw({ label: "Adds", columns: ["Value"], parts: inOrder(why.contributions),
      values: (feature) => [written(one.values[feature])],
      rest: ["any document", why.rest],
      total: ["Score", sum(why.contributions) + why.rest] });
  }
}

export class PairPanel {
  constructor(desk, { reveal, choose, compare }) {
    this.desk = desk;
    this.sum = new Sum(desk, reveal);
    const list = (name, act) => html("select", { "aria-label": name,
      onchange: (event) => act(Number(event.target.value)) });
    this.one = list("Document", choose);
    this.two = list("Compared with", compare);
    this.about = html("p", { class: "about" });
    this.node = html("div", null, html("div", { class: "fields" }, this.one,
      html("span", { class: "against" }, "against"), this.two), this.about, this.sum.node);
  }

  fill(list, chosen) {
    list.replaceChildren(...this.desk.ranking.map(({ key, rank }) => html("option",
      { value: key, selected: key === chosen }, `${rank}. ${this.desk.document(key).id}`)));
  }

  draw() {
    const { desk } = this;
    this.fill(this.one, desk.chosen);
    this.fill(this.two, desk.other);
    const pair = [desk.chosen, desk.other]
      .map((key) => desk.ranking.find((one) => one.key === key))
      .sort((a, b) => (a?.rank ?? 0) - (b?.rank ?? 0));
    const [hi, lo] = pair.map((one) => one && desk.explained.get(one.key));
    this.node.classList.toggle("is-empty", !hi || !lo);
    if (!hi || !lo) {
      this.about.textContent = "It takes two documents of which something is known.";
      return this.sum.node.replaceChildren();
    }
    const [above, below] = pair.map(({ key }) => desk.document(key));
    const parts = hi.contributions.map((value, i) => value - lo.contributions[i]);
    const isTie = pair[0].score === pair[1].score;
    this.about.replaceChildren(html("b", null, above.id),
      isTie ? " has the same score as " : " is above ", html("b", null, below.id),
      isTie ? ", and comes first because it was given first."
        : ": what speaks for it, and what against.");
    this.sum.draw({ label: "Difference", columns: [above.id, below.id], parts: inOrder(parts),
      values: (feature) => [above, below].map((one) => written(one.values[feature])),
      rest: hi.rest === lo.rest ? null : ["what is no feature", hi.rest - lo.rest],
      total: ["Difference of scores", sum(parts) + hi.rest - lo.rest] });
  }
}
