// The table in which documents are edited: a row for each, and as many features as fit.
import { complain, field, forgive } from "./fields.js";
import { makeDocument, newName } from "./documents.js";
const { html, onWidth, svg } = window.rankforce.dom;
const { short } = window.rankforce.scales;

const FIRST = 25; // rows that are shown before one asks for all
const BESIDE = 262, WIDE = 80; // pixels: all but the features, and one of those

// Two sheets, one behind the other.
const copyIcon = () => svg("svg", { class: "icon", viewBox: "0 0 14 14", "aria-hidden": "true" },
  svg("path", { d: "M4.5 4.5h8v8h-8zM9.5 4.5v-3h-8v8h3" }));

export class Editor {
  constructor(desk) {
    this.desk = desk;
    this.start = 0; // the first feature shown, among those found
    this.fits = 4;
    this.isAll = false;
    this.find = html("input", { type: "search", placeholder: "name of a feature",
      autocomplete: "off", oninput: () => { this.start = 0; this.draw(); } });
    this.where = html("span", { class: "where", role: "status" });
    this.back = html("button", { type: "button", "aria-label": "Features before these",
      onclick: () => this.turn(-1) }, "‹");
    this.on = html("button", { type: "button", "aria-label": "Features after these",
      onclick: () => this.turn(1) }, "›");
    this.box = html("div", { class: "scroll", role: "region", tabindex: "0",
      "aria-label": "Documents and their features" });
    this.more = html("button", { type: "button", class: "more",
      onclick: () => { this.isAll = !this.isAll; this.draw(); } });
    const missing = html("input", { type: "checkbox", onchange: () =>
      desk.change("missing", () => { desk.allowsMissing = missing.checked; }) });
    this.missing = missing;
    this.node = html("div", { class: "editor" },
      html("div", { class: "fields" }, field("Find features", this.find),
        html("div", { class: "turn", role: "group", "aria-label": "Features shown" },
          this.back, this.where, this.on),
        html("label", { class: "check" }, missing, "Empty cells are missing values")),
      this.box, html("div", { class: "buttons" }, this.more,
        html("button", { type: "button", onclick: () => this.add() }, "Add a document")));
    onWidth(this.box, (width) => {
      this.fits = Math.max(2, Math.floor((width - BESIDE) / WIDE));
      if (desk.model) this.draw();
    });
  }

  // Numbers of the features that the search finds; all its words must occur in a name.
  get found() {
    const words = this.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    return this.desk.features.map((feature, i) => [feature.name.toLowerCase(), i])
      .filter(([name]) => words.every((word) => name.includes(word))).map(([, i]) => i);
  }

  turn(by) {
    this.start += by * this.fits;
    this.draw();
  }

  // Brings a feature into sight.
  reveal(feature) {
    if (!this.found.includes(feature)) this.find.value = "";
    const at = this.found.indexOf(feature);
    if (at < this.start || at >= this.start + this.fits) this.start = at - (at % this.fits);
    this.draw();
  }

  draw() {
    const { desk } = this;
    const { found } = this;
    this.start = Math.max(0, Math.min(this.start, found.length - this.fits));
    const shown = found.slice(this.start, this.start + this.fits);
    const rows = this.isAll ? desk.documents : desk.documents.slice(0, FIRST);
    this.where.textContent = !found.length ? "No feature has that name" : found.length <= this.fits
      ? `${found.length} of ${desk.features.length} features`
      : `${this.start + 1}–${this.start + shown.length} of ${found.length} features`;
    this.back.disabled = this.start === 0;
    this.on.disabled = this.start + this.fits >= found.length;
    this.missing.checked = desk.allowsMissing;
    this.box.replaceChildren(html("table", { class: "documents-table" }, this.head(shown),
      html("tbody", null, rows.map((one) => this.row(one, shown)))));
    this.more.hidden = desk.documents.length <= FIRST;
    this.more.textContent = this.isAll ? `Show the first ${FIRST}`
      : `Show all ${desk.documents.length} documents`;
    this.drawRanks();
  }

  head(shown) {
    const ranges = shown.map((i) => {
      const { name, least, most } = this.desk.features[i];
      const ends = [least, most].filter((end) => end !== null).map((end) => short(end, 2));
      return html("th", { scope: "col", title: name }, html("span", { class: "name" }, name),
        html("small", null, ends.join(" to ")));
    });
    return html("thead", null, html("tr", null, html("th", { scope: "col" }, "Document"),
      html("th", { scope: "col" }, "Label"), ranges,
      html("th", null, html("span", { class: "unseen" }, "Copy or remove"))));
  }

  row(one, shown) {
    const { desk } = this;
    const input = (field, name, value, type) => html("input", { value, autocomplete: "off",
      "data-field": field, "aria-label": `${name} of ${one.id}`, inputmode: "text",
      onkeydown: (event) => this.key(event), class: field === "id" ? "id" : "number",
      oninput: (event) => desk.change(`${one.key} ${field}`, () => type(event.target.value)) });
    const button = (text, does, act) => html("button", { type: "button", title: does,
      "aria-label": `${does} ${one.id}`, onclick: act }, text);
    return html("tr", { "data-key": one.key },
      html("th", { scope: "row" }, html("span", { class: "id-cell" },
        html("span", { class: "at", "aria-hidden": "true" }),
        input("id", "Name", one.id, (text) => { one.id = text; }))),
      html("td", null, input("label", "Label", one.label, (text) => { one.label = text; })),
      shown.map((i) => html("td", null, input(`value ${i}`, desk.features[i].name, one.values[i],
        (text) => { one.values[i] = text; }))),
      html("td", { class: "row-buttons" }, button(copyIcon(), "Copy", () => this.copy(one)),
        button("×", "Remove", () => this.remove(one))));
  }

  // The rank of each document, beside its name.
  drawRanks() {
    const ranks = new Map(this.desk.ranking.map(({ key, rank }) => [String(key), rank]));
    for (const row of this.box.querySelectorAll("tr[data-key]")) {
      row.querySelector(".at").textContent = ranks.get(row.dataset.key) ?? "";
      row.classList.toggle("is-chosen", row.dataset.key === String(this.desk.chosen));
    }
  }

  // Up, down and Enter go from row to row.
  key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1, Enter: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const row = event.target.closest("tr");
    const next = by < 0 ? row.previousElementSibling : row.nextElementSibling;
    const input = next?.querySelector(`[data-field="${event.target.dataset.field}"]`);
    input?.focus();
    input?.select();
  }

  input(key, field) {
    return this.box.querySelector(`tr[data-key="${key}"] [data-field="${field}"]`);
  }

  // Puts a document behind another, or at the end, and goes there.
  insert(one, at) {
    this.desk.change(`new ${one.key}`, () => this.desk.documents.splice(at, 0, one));
    this.isAll ||= at >= FIRST;
    this.draw();
    this.input(one.key, "id").select();
    this.input(one.key, "id").focus();
  }

  add() {
    const { documents, features } = this.desk;
    const blank = documents.at(-1)?.values ?? features.map(() => "0");
    this.insert(makeDocument(newName(documents), "", [...blank]), documents.length);
  }

  copy(one) {
    const { documents } = this.desk;
    const id = newName(documents, `${one.id} copy`);
    this.insert(makeDocument(id, one.label, [...one.values]), documents.indexOf(one) + 1);
  }

  remove(one) {
    const { desk } = this;
    const at = desk.documents.indexOf(one);
    desk.change(`gone ${one.key}`, () => desk.documents.splice(at, 1));
    this.draw();
    const buttons = this.box.querySelectorAll(".row-buttons button:last-child");
    (buttons[Math.min(at, buttons.length - 1)] ?? this.box).focus();
  }

  // Says what is wrong at the cell that a place names. It comes into sight, unless somebody types.
  mark(place) {
    const one = this.desk.documents[place.row];
    if (!one) return;
    const name = place.field === "value" ? `value ${place.feature}`
      : place.field === "label" ? "label" : "id";
    if (!this.input(one.key, name) && !this.box.contains(document.activeElement)) {
      this.isAll ||= place.row >= FIRST;
      this.reveal(place.feature ?? 0);
    }
    const input = this.input(one.key, name);
    if (input) complain(input, place.message);
  }

  forgive() {
    forgive(this.box);
  }
}
