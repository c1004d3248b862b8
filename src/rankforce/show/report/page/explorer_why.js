// Why one document stands above another: what each feature adds to the score of the one, less what
// it adds to that of the other, as bars. A document is chosen in the list, the other one here.
const { html } = rankforce.dom;
const { NONE, isNumber, short, aligned } = rankforce.scales;

const FIRST = 12; // features that are shown one by one

const contributionsOf = ({ query, run }) => query.contributions?.[run];
const has = (explorer) => Boolean(contributionsOf(explorer));

// Features in order of what they do for `one` against `other`, and what all else does.
function gaps({ documents, features, parts, values, rest }, one, other) {
  const [a, b] = [one, other].map((document) => documents.indexOf(document));
  const found = features.map((feature, i) => ({ feature, values: [values[a][i], values[b][i]],
    difference: parts[a][i] - parts[b][i] }));
  found.sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference));
  const shown = found.filter(({ difference }) => difference !== 0).slice(0, FIRST);
  const told = new Set(shown);
  const others = found.reduce((sum, gap) => sum + (told.has(gap) ? 0 : gap.difference), 0);
  return { shown, rest: others + rest[a] - rest[b] };
}

const written = (value) =>
  value === null ? "missing" : isNumber(value) ? short(value, 4) : value || NONE;

function line({ feature, values, difference }, largest, isSum) {
  const share = largest > 0 ? Math.min(1, Math.abs(difference) / largest) : 0;
  const bar = html("i", { class: difference > 0 ? "ex-up" : "ex-down" });
  bar.style.setProperty("--share", share.toFixed(4));
  const told = values ? html("small", null, ` ${values.map(written).join(" against ")}`) : null;
  return html("li", { class: isSum ? "ex-sum" : null, "data-difference": String(difference) },
    html("span", null, html("span", { class: "ex-feature" }, feature), told),
    html("b", null, aligned(difference, largest)),
    html("span", { class: "ex-bar", "aria-hidden": "true" }, difference ? bar : null));
}

function bars(explorer, one, other) {
  const { shown, rest } = gaps(contributionsOf(explorer), one, other);
  const total = explorer.given[one] - explorer.given[other];
  const sizes = [...shown.map(({ difference }) => difference), rest, total].map(Math.abs);
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const sums = [{ feature: "All else", difference: rest },
    { feature: "Difference of the scores", difference: total }];
  return [...shown.map((gap) => line(gap, largest, false)),
    ...sums.map((gap) => line(gap, largest, true))];
}

// The neighbour that a document is compared with at first: the one above, of the best the next.
function neighbour(explorer, one, documents) {
  const r = explorer.order.indexOf(one);
  const near = [...explorer.order.slice(0, r).reverse(), ...explorer.order.slice(r + 1)];
  return near.find((document) => documents.includes(document));
}

function section(explorer, one) {
  const known = contributionsOf(explorer);
  if (!known || known.documents.length < 2) return [];
  const { documents } = known;
  const title = html("h4", null, "Feature by feature");
  if (!documents.includes(one)) {
    return [html("div", { class: "ex-why" }, title, html("p", { class: "ex-soft" },
      `What features add is here for the first ${documents.length} documents of the run.`))];
  }
  const names = explorer.order.flatMap((document, r) => (document !== one &&
    documents.includes(document) ? [[document, `${r + 1}: ${explorer.query.documents[document]}`]]
    : []));
  if (!documents.includes(explorer.other) || explorer.other === one) {
    explorer.other = neighbour(explorer, one, documents);
  }
  const list = html("ol", { "aria-label": "Features by what they do" });
  const choose = html("select", { "aria-label": "Compared with", onchange: () => {
    explorer.other = Number(choose.value);
    list.replaceChildren(...bars(explorer, one, explorer.other));
    explorer.say(`Compared with ${explorer.query.documents[explorer.other]}.`);
  } }, names.map(([value, text]) => html("option", { value }, text)));
  choose.value = String(explorer.other);
  list.append(...bars(explorer, one, explorer.other));
  return [html("div", { class: "ex-why" }, title,
    html("label", { class: "ex-field" }, html("span", null, "Compared with the document at rank"),
      choose), list)];
}

rankforce.explorerWhy = { has, section };
