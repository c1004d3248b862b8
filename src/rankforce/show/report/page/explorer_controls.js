// The elements of the explorer: the controls above its list, and the places for what it shows.
// They tell the explorer what somebody chose, and know nothing of forces.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { html } = rankforce.dom;

  const NORMS = [
    ["none", "none (the mathematics)"],
    ["lightgbm", "LightGBM's"],
    ["std", "standard deviation 1"],
  ];

  const field = (text, ...inputs) =>
    html("label", { class: "ex-field" }, html("span", null, text), inputs);

  function choose(text, choices, onChoose) {
    const list = html("select", { onchange: () => onChoose(list.value) },
      choices.map(([value, name]) => html("option", { value }, name)));
    return field(text, list);
  }

  // The controls that the explorer reads or changes.
  function inputs(explorer) {
    const search = html("input", {
      type: "search", class: "ex-search", placeholder: "find", "aria-label": "Find a query",
      oninput: () => explorer.filter(),
    });
    const queries = html("select", { "aria-label": "Query",
      onchange: () => explorer.show(Number(queries.value)) });
    const cutoff = html("input", { type: "number", min: 1, value: explorer.k,
      oninput: () => explorer.setCutoff(cutoff.valueAsNumber) });
    const reset = html("button", { type: "button", class: "ex-reset",
      onclick: () => explorer.putBack() }, "Reset");
    const more = html("button", { type: "button", class: "ex-more",
      onclick: () => explorer.toggleAll() });
    return { search, queries, cutoff, reset, more };
  }

  function bar(explorer, { search, queries, cutoff, reset }) {
    const names = explorer.data.objectives.list.map((objective, i) => [i, objective.name]);
    const runs = explorer.runs.map((name) => [name, name]);
    return html("div", { class: "ex-controls" },
      html("div", { class: "ex-field ex-query" }, html("span", null, "Query"),
        html("div", { class: "ex-both" }, search, queries)),
      choose("Scores of", runs, (name) => explorer.setRun(name)),
      choose("Objective", names, (i) => explorer.setObjective(0, i)),
      choose("Beside it", [["", "nothing"], ...names], (i) => explorer.setObjective(1, i)),
      choose("Norm", NORMS, (name) => explorer.setNorm(name)),
      field("Cutoff k", cutoff), reset);
  }

  const help = () => html("p", { class: "ex-help" },
    "Move a document: drag it, press its buttons, or focus it ",
    "and press ", html("kbd", null, "Alt"), " with ", html("kbd", null, "\u2191"), " or ",
    html("kbd", null, "\u2193"), ". Plain arrows go from document to document, ",
    html("kbd", null, "Enter"), " shows the pairs that push it.");

  // All elements by name; `frame` holds the others.
  function build(explorer) {
    const controls = inputs(explorer);
    const places = {
      summary: html("div", { class: "ex-summary" }),
      head: html("div", { class: "ex-row ex-head", "aria-hidden": "true" }),
      list: html("ol", { class: "ex-list", "aria-label": "Documents by rank" }),
      detail: html("div", { class: "ex-detail", role: "region",
        "aria-label": "Pairs of a document" }),
      live: html("p", { class: "ex-live", role: "status", "aria-live": "polite" }),
    };
    const { summary, head, list, detail, live } = places;
    const frame = html("div", { class: "ex-frame" }, bar(explorer, controls), summary,
      html("div", { class: "ex-body" },
        html("div", { class: "ex-main" }, head, list, controls.more), detail),
      help(), live);
    return { ...controls, ...places, frame };
  }

  function fillQueries(explorer, places) {
    explorer.queries.replaceChildren(...places.map((i) => {
      const query = explorer.data.queries[i];
      return html("option", { value: i }, query.why ? `${query.id} (${query.why})` : query.id);
    }));
  }

  rankforce.explorerControls = { build, fillQueries };
})();
