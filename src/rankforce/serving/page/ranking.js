// The ranking: where each document stands, where it stood before the last edit, its score, and the
// force on it.
import { bar } from "./bars.js";
const { html } = window.rankforce.dom;
const { aligned, short, signed } = window.rankforce.scales;

const KINDS = { false: "does not belong into the top", missed: "the top misses it" };

function grade(text, top) {
  const y = Number(text);
  return y > 0 ? Math.min(4, Math.max(1, Math.round((4 * y) / top))) : 0;
}

const FIRST = 50; // documents that are shown before one asks for all

export class RankingList {
  constructor(desk, { choose, compare }) {
    this.desk = desk;
    this.choose = choose;
    this.compare = compare;
    this.head = html("div", { class: "rank-row rank-head", "aria-hidden": "true" });
    this.list = html("ol", { class: "rank-list", onkeydown: (event) => this.key(event) });
    this.rows = new Map(); // by key
    this.isAll = false;
    this.more = html("button", { type: "button", class: "more", onclick: () => {
      this.isAll = !this.isAll;
      this.draw();
    } });
    this.node = html("div", { class: "ranking" }, this.head, this.list, this.more);
  }

  // Up and down go from document to document.
  key(event) {
    const by = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[event.key];
    const row = event.target.closest("li");
    if (!by || !row) return;
    event.preventDefault();
    row[by]?.querySelector(".rank-name").focus();
  }

  make(key) {
    const parts = {
      rank: html("b"), moved: html("small"), grade: html("b", { class: "ex-grade" }),
      text: html("span"), score: html("span", { class: "rank-score" }),
      force: html("span", { class: "rank-force" }),
      versus: html("button", { type: "button", class: "versus",
        onclick: () => this.compare(key) }, "vs"),
    };
    parts.doc = html("span", { class: "rank-doc" }, parts.grade, parts.text);
    parts.name = html("button", { type: "button", class: "rank-name",
      onclick: () => this.choose(key) }, parts.doc);
    parts.row = html("li", { class: "rank-row", "data-key": key },
      html("span", { class: "rank-at" }, parts.rank, parts.moved),
      parts.name, parts.score, parts.force, parts.versus);
    return parts;
  }

  draw() {
    const { desk, list } = this;
    const count = desk.ranking.length;
    const ranking = this.isAll ? desk.ranking : desk.ranking.slice(0, FIRST);
    this.more.hidden = count <= FIRST;
    this.more.textContent = this.isAll ? `Show the first ${FIRST}` : `Show all ${count} documents`;
    const scores = ranking.map(({ score }) => score);
    const forces = ranking.map(({ key }) => desk.explained.get(key)?.force ?? null);
    const scale = { lowest: Math.min(...scores), highest: Math.max(...scores),
      size: Math.max(...scores.map(Math.abs)) / 10, // of which three digits are written
      force: Math.max(0, ...forces.map(Math.abs)), hasForces: forces.some((one) => one !== null),
      label: Math.max(1, ...desk.documents.map((one) => Number(one.label) || 0)) };
    this.node.classList.toggle("has-forces", scale.hasForces);
    const names = ["Rank", "Label, document", "Score", ...(scale.hasForces ? ["Force"] : []), ""];
    this.head.replaceChildren(...names.map((name) => html("span", null, name)));
    const tops = new Map([...list.children].map((row) => [row, row.offsetTop]));
    const focused = document.activeElement;
    const rows = ranking.map((one, i) => this.drawRow(one, forces[i], scale));
    list.replaceChildren(...rows);
    if (list.contains(focused)) focused.focus({ preventScroll: true });
    for (const key of this.rows.keys()) if (!desk.document(key)) this.rows.delete(key);
    this.slide(rows, tops);
  }

  slide(rows, tops) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const row of rows) {
      const by = (tops.get(row) ?? row.offsetTop) - row.offsetTop;
      if (!by) continue;
      row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }],
        { duration: 180, easing: "ease-out" });
    }
  }

  drawRow({ key, rank, score }, force, scale) {
    if (!this.rows.has(key)) this.rows.set(key, this.make(key));
    const parts = this.rows.get(key);
    const { desk } = this;
    const one = desk.document(key);
    this.drawName(parts, one, scale);
    const share = (score - scale.lowest) / (scale.highest - scale.lowest || 1);
    parts.score.replaceChildren(bar(0.03 + 0.97 * share, "score"),
      html("span", null, aligned(score, scale.size).replace("+", "")));
    const largest = scale.force || 1;
    parts.force.replaceChildren(...(force === null ? [] :
      [bar(force / largest, "both"), html("span", null, aligned(force, largest))]));
    const { row } = parts;
    row.dataset.score = String(score);
    row.dataset.force = force === null ? "" : String(force);
    row.classList.toggle("is-cut", rank === desk.told.k && rank < desk.ranking.length);
    row.dataset.cut = `top ${desk.told.k}`;
    row.title = KINDS[desk.explained.get(key)?.kind] ?? "";
    const moved = this.drawRank(parts, key, rank);
    const said = [`Rank ${rank}`, one.id, moved, one.label.trim() && `label ${one.label}`,
      `score ${short(score, 4)}`, force !== null && `force ${signed(force)}`, row.title];
    parts.name.setAttribute("aria-label", said.filter(Boolean).join(", "));
    return row;
  }

  // The rank, and how far that is from where the document stood; the same in words.
  drawRank({ rank: place, moved }, key, rank) {
    const { before } = this.desk;
    const was = before.get(key) ?? rank;
    const isNew = before.size > 0 && !before.has(key);
    const by = was - rank;
    place.textContent = rank;
    moved.textContent = isNew ? "new" : by ? `${by > 0 ? "↑" : "↓"}${Math.abs(by)}` : "";
    moved.className = by > 0 ? "went-up" : by < 0 ? "went-down" : "";
    return isNew ? "new" : by ? `was at rank ${was}` : "";
  }

  drawName(parts, one, scale) {
    const { desk } = this;
    parts.text.textContent = one.id;
    parts.grade.textContent = one.label;
    parts.grade.hidden = one.label.trim() === "";
    parts.doc.className = `rank-doc ex-grade-${grade(one.label, scale.label)}`;
    parts.name.setAttribute("aria-pressed", String(one.key === desk.chosen));
    parts.versus.setAttribute("aria-pressed", String(one.key === desk.other));
    parts.versus.setAttribute("aria-label", `Compare with ${one.id}`);
    parts.versus.hidden = one.key === desk.chosen;
  }
}
