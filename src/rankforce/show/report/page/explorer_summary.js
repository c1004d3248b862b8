// What the explorer says above its list: the metric, and for each objective its pairs and whether
// its forces go the right way.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { html } = rankforce.dom;
  const { ndcg } = rankforce.forces;
  const { isList } = rankforce.lists;
  const { NONE } = rankforce.scales;
  const { signed, label } = rankforce.numbers;

  // Before anything was moved, and now.
  const metricValues = ({ query, given, scores, k }) =>
    [given, scores].map((each) => ndcg(query.labels, each, k));

  function metricText(explorer) {
    const values = metricValues(explorer);
    if (Number.isNaN(values[0])) return `NDCG@${explorer.k} has no value here.`;
    const [was, is] = values.map((value) => value.toFixed(3));
    if (!explorer.isMoved) return `NDCG@${explorer.k} ${is}`;
    return `NDCG@${explorer.k} ${is}, before ${was} (${signed(values[1] - values[0])})`;
  }

  function nameOf(explorer, document) {
    return `${explorer.query.documents[document]} (rank ${explorer.order.indexOf(document) + 1}, ` +
      `grade ${label(explorer.query.labels[document])})`;
  }

  function render(explorer) {
    const { k } = explorer;
    const n = explorer.order.length;
    const possible = (n * (n - 1)) / 2;
    const blocks = explorer.found.map(({ objective, forces, wrong }) => {
      const pairs = `${forces.count} of ${possible} pairs push` +
        (isList(objective) ? ", and the list as a whole" : "");
      const said = wrong.length
        ? html("span", { class: "ex-warning" }, `Incoherent: ${nameOf(explorer, wrong[0][0])} ` +
          `is pushed harder than ${nameOf(explorer, wrong[0][1])}, which the top ${k} misses` +
          (wrong.length > 1 ? `; ${wrong.length - 1} more such.` : "."))
        : html("span", null, `No incoherent pair at the top ${k}.`);
      return html("div", { class: "ex-block" },
        html("strong", null, objective.name), html("code", null, objective.formula),
        html("span", { class: "ex-pairs" }, pairs), said);
    });
    const [was, is] = metricValues(explorer);
    const change = Number.isNaN(is) ? "nothing is relevant here" : explorer.isMoved
      ? `before ${was.toFixed(3)} (${signed(is - was)})` : "as the run ranks";
    const metric = html("div", { class: "ex-block ex-metric" },
      html("strong", null, `NDCG@${k}`),
      html("b", { class: "ex-big" }, Number.isNaN(is) ? NONE : is.toFixed(3)),
      html("span", null, change));
    explorer.summary.replaceChildren(metric, ...blocks);
  }

  rankforce.explorerSummary = { metricText, nameOf, render };
})();
