// Under which objective, and with which cutoff, forces are shown.
import { complain, field, forgive } from "./fields.js";
const { html } = window.rankforce.dom;

export class Aims {
  constructor(desk) {
    this.desk = desk;
    this.objective = html("select", { onchange: () =>
      desk.change("objective", () => { desk.objective = this.objective.value; }) });
    this.k = html("input", { type: "number", min: 1, step: 1, placeholder: "own", oninput: () =>
      desk.change("k", () => { desk.k = this.k.value; }) });
    this.node = html("div", { class: "fields" }, field("Forces of the objective", this.objective),
      field("Cutoff k", this.k, { class: "field narrow" }));
  }

  offer(objectives) {
    const named = objectives.map(({ name, formula }) =>
      html("option", { value: name, title: formula }, name));
    this.objective.replaceChildren(html("option", { value: "" }, "the model's own"), ...named);
  }

  draw() {
    this.objective.value = this.desk.objective;
    this.k.value = this.desk.k;
  }

  mark(place) {
    complain(place.field === "k" ? this.k : this.objective, place.message);
  }

  forgive() {
    forgive(this.node);
  }
}
