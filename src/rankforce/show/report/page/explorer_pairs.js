// The panel of the explorer beside its list: the pairs that push one document most, under each
// objective.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { html } = rankforce.dom;
  const { compute } = rankforce.forces;
  const { isList } = rankforce.lists;
  const { short, signed, label } = rankforce.numbers;
  const { nameOf } = rankforce.explorerSummary;

  const MOST_PAIRS = 8; // of one document

  function pairTable(explorer, one, { objective, forces: { lambda } }) {
    const { data, query, order, scores, norm } = explorer;
    const options = { scores, norm, pairs: true, of: one };
    const { pairs } = compute(objective, data.objectives.tables, query, options);
    const title = html("p", null, html("strong", null, objective.name),
      pairs.length ? ` pushes it by ${signed(lambda[one])} with ${pairs.length} ` +
        `pair${pairs.length > 1 ? "s" : ""}${isList(objective) ? " and the whole list" : ""}.`
        : isList(objective) ? ` pushes it by ${signed(lambda[one])}, the list as a whole.`
          : " has no pair with it.");
    if (!pairs.length) return [title];
    pairs.sort((a, b) => b.force - a.force);
    const rows = pairs.slice(0, MOST_PAIRS).map((pair) => {
      const isHi = pair.hi === one;
      const other = isHi ? pair.lo : pair.hi;
      return html("tr", { "data-other": other },
        html("td", { class: "ex-other" }, query.documents[other], html("small", null,
          `rank ${order.indexOf(other) + 1}, grade ${label(query.labels[other])}`)),
        html("td", { class: "ex-number" }, short(pair.weight)),
        html("td", { class: `ex-number ${isHi ? "ex-up" : "ex-down"}` },
          `${isHi ? "\u25b2" : "\u25bc"}\u00a0${signed(isHi ? pair.force : -pair.force)}`));
    });
    const head = ["Pair with", "Weight", "Force"].map((text, i) =>
      html("th", { scope: "col", class: i ? "ex-number" : null }, text));
    const rest = pairs.length - rows.length;
    return [title, html("table", null, html("thead", null, html("tr", null, head)),
      html("tbody", null, rows)),
    rest > 0 ? html("p", { class: "ex-soft" }, `And ${rest} weaker.`) : ""];
  }

  function render(explorer) {
    const one = explorer.selected;
    explorer.detail.classList.toggle("ex-empty", one === null);
    if (one === null) {
      explorer.detail.replaceChildren(html("p", { class: "ex-soft" },
        "Click a document, or press Enter on it, to see the pairs that push it most."));
      return;
    }
    const close = html("button", { type: "button", class: "ex-close", "aria-label": "Close",
      onclick: () => {
        explorer.select(one);
        explorer.rows[one].row.focus({ preventScroll: true });
      } }, "\u00d7");
    explorer.detail.replaceChildren(html("h4", null, nameOf(explorer, one), close),
      ...explorer.found.flatMap((found) => pairTable(explorer, one, found)));
  }

  rankforce.explorerPairs = { render };
})();
