// Puts the page together: models, documents, ranking, and what explains it.
import { Aims } from "./aims.js";
import { Desk } from "./desk.js";
import { example } from "./documents.js";
import { Editor } from "./editor.js";
import { field } from "./fields.js";
import * as link from "./link.js";
import { Paste } from "./paste.js";
import { placeOf } from "./places.js";
import { RankingList } from "./ranking.js";
import * as server from "./server.js";
import { PairPanel, ScorePanel } from "./why.js";
const { html } = window.rankforce.dom;
const { FORMATS } = window.rankforce.scales;

const at = (id) => document.getElementById(id);
const root = document.documentElement;
const busy = (is) => at("desk").setAttribute("aria-busy", String(is));
const asking = () => busy(true);
const stale = (is) => at("desk").classList.toggle("is-stale", is);
const say = (text, isMistake = false) => {
  at("said").textContent = text;
  at("said").classList.toggle("is-mistake", isMistake);
};

let models = [];
let seed = 0;
let written = null; // the last part of the address behind # that is our own

const desk = new Desk({ asking, ranked, explained, renewed, mistake });
const editor = new Editor(desk);
const aims = new Aims(desk);
const paste = new Paste(desk, { use, showExample, choose: chooseModel });
const ranking = new RankingList(desk, { choose, compare });
const score = new ScorePanel(desk, reveal);
const pair = new PairPanel(desk, { reveal, choose, compare });

function forgive() {
  editor.forgive();
  aims.forgive();
}

function ranked() {
  stale(false);
  forgive();
  ranking.draw();
  editor.drawRanks();
  remember();
}

function explained() {
  busy(false);
  ranking.draw();
  score.draw();
  pair.draw();
  const count = desk.documents.length;
  if (!count) return say("There is no document: add one, paste some, or make an example.");
  const metrics = Object.entries(desk.told.metrics ?? {}).filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${FORMATS.metric(value)}`);
  const forces = desk.told.objective ? [`forces of ${desk.told.objective}`] : [];
  say([`${count} document${count > 1 ? "s" : ""}`, ...metrics, ...forces].join(" · "));
}

async function renewed() {
  models = await server.models();
  const model = models.find(({ name }) => name === desk.model.name);
  const namesOf = ({ features }) => JSON.stringify(features.map(({ name }) => name));
  if (!model || namesOf(model) !== namesOf(desk.model)) return start();
  desk.model = model;
  describe();
}

// At its field, if it names one; in words beside the ranking in any case.
function mistake(error) {
  busy(false);
  stale(!desk.isRanked);
  forgive();
  if (error.status === 401) askForToken();
  say(error.message, true);
  const place = placeOf(error.message, desk.features);
  if (place?.field === "objective" || place?.field === "k") aims.mark(place);
  else if (place && place.field !== "model") editor.mark(place);
}

function remember() {
  written = link.write(desk);
  history.replaceState(null, "", written || location.pathname);
}

function chosen() {
  ranking.draw();
  editor.drawRanks();
  score.draw();
  pair.draw();
  remember();
}

function choose(key) {
  if (desk.other === key) desk.beside = desk.chosen;
  desk.chosen = key;
  chosen();
}

function compare(key) {
  if (key === desk.chosen) desk.chosen = desk.other;
  desk.beside = key;
  chosen();
}

// Shows a feature of the chosen document in the table, ready to be changed.
function reveal(feature) {
  editor.reveal(feature);
  const input = editor.input(desk.chosen, `value ${feature}`);
  input?.focus();
  input?.select();
}

function show(documents) {
  desk.replace(documents);
  editor.isAll = false;
  editor.draw();
  aims.draw();
  ranking.draw();
  describe();
}

function describe() {
  const { name, version, trees, epochs, features } = desk.model;
  const counts = Object.entries({ trees, epochs, features: features.length })
    .filter(([, count]) => count).map(([what, count]) => `${FORMATS.whole(count)} ${what}`);
  at("facts").textContent = [name, `version ${version}`, ...counts].join(" · ");
  paste.models.value = name;
}

function chooseModel(name) {
  const before = desk.model;
  desk.model = models.find((one) => one.name === name);
  const names = desk.features.map((feature) => feature.name);
  const places = names.map((one) => before.features.findIndex((feature) => feature.name === one));
  // The same features keep their values; a model of others starts anew.
  if (places.some((place) => place < 0)) return showExample();
  for (const one of desk.documents) one.values = places.map((place) => one.values[place]);
  show(desk.documents);
}

function showExample() {
  paste.say(["An example: values within the ranges of the model's features."]);
  show(example(desk.features, ++seed));
}

function use({ documents, asked }) {
  const model = models.find(({ name }) => name === asked.model);
  if (model && model.features.length === desk.features.length) desk.model = model;
  if (asked.missing === "allow") desk.allowsMissing = true;
  if (typeof asked.objective === "string") desk.objective = asked.objective;
  if (asked.k) desk.k = String(asked.k);
  show(documents);
}

// What the address says; false where it says nothing.
function follow() {
  const said = link.read(location.hash, models);
  if (!said) return false;
  const { documents, chosen: one, beside, ...rest } = said;
  Object.assign(desk, rest);
  show(documents);
  desk.chosen = one;
  desk.beside = beside;
  return true;
}

function askForToken() {
  if (at("token")) return;
  const input = html("input", { id: "token", type: "password", autocomplete: "off" });
  at("head-right").prepend(html("form", { onsubmit: (event) => {
    event.preventDefault();
    server.keepToken(input.value);
    event.target.remove();
    if (desk.model) desk.ask();
    else start();
  } }, field("Token", input), html("button", null, "Use it")));
  input.focus();
}

function themeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const name = () => (isDark() ? "Light theme" : "Dark theme");
  const button = html("button", { type: "button", class: "theme", onclick: () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    button.textContent = name();
  } }, name());
  dark.addEventListener("change", () => { button.textContent = name(); });
  return button;
}

async function start() {
  try {
    const [found, objectives] = await Promise.all([server.models(), server.objectives()]);
    models = found;
    aims.offer(objectives);
    paste.offer(models);
    [desk.model] = models;
    if (!follow()) showExample();
  } catch (error) {
    busy(false);
    if (error.status === 401) askForToken();
    at("facts").textContent = error.message;
  }
}

at("head-right").append(themeButton());
at("aims").replaceWith(aims.node);
const parts = { paste, editor, ranking, score, pair };
for (const [id, part] of Object.entries(parts)) at(id).append(part.node);
addEventListener("hashchange", () => { if (location.hash !== written) follow(); });
start();
