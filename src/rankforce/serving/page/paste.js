// Documents that somebody pastes as text, or asks for as an example; and which model ranks them.
import { complain, field, forgive } from "./fields.js";
import { readDocuments } from "./read.js";
const { html } = window.rankforce.dom;

const SHAPES = `{"documents": [{"id": "a", "features": {"bm25": 1.5, ...}}]}
id,label,bm25,...      (CSV or TSV, with names in the first line)
2 qid:1 1:0.5 2:1.5 # a      (LETOR)`;

export class Paste {
  // `use(found, seed)` takes documents as `readDocuments` gives them.
  constructor(desk, { use, showExample, choose }) {
    this.desk = desk;
    this.use = use;
    this.models = html("select", { onchange: () => choose(this.models.value) });
    this.text = html("textarea", { rows: 6, spellcheck: "false", placeholder: SHAPES,
      "aria-label": "Documents as text", oninput: () => forgive(this.node) });
    // What was pasted is read at once; what was typed, when one says so.
    this.text.addEventListener("paste", () => setTimeout(() => this.read()));
    this.notes = html("p", { class: "notes", role: "status" });
    this.door = html("summary", null, "Paste documents");
    this.drawer = html("details", { class: "paste" }, this.door,
      html("p", { class: "about" }, "JSON as for /rank, a table with a header (CSV, TSV), " +
        "or LETOR lines."),
      this.text, html("div", { class: "buttons" },
        html("button", { type: "button", onclick: () => this.read() }, "Use these documents")));
    this.node = html("div", { class: "fields" }, field("Model", this.models),
      html("button", { type: "button", onclick: showExample,
        title: "Values within the ranges of the features" }, "Make an example"),
      this.drawer, this.notes);
  }

  offer(models) {
    this.models.replaceChildren(...models.map(({ name }) => html("option", null, name)));
  }

  say(notes) {
    this.notes.textContent = notes.join(" ");
  }

  read() {
    forgive(this.node);
    try {
      const found = readDocuments(this.text.value, this.desk.features);
      const { length } = found.documents;
      const count = `${length} document${length > 1 ? "s" : ""}`;
      this.say([`${count} read as ${found.form}.`, ...found.notes]);
      this.use(found);
      this.drawer.open = false;
      this.door.focus();
    } catch (error) {
      complain(this.text, error.message);
      this.say([]);
    }
  }
}
