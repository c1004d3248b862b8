// Scores that put a document at another rank.
// Pure functions of numbers; nothing here knows of the page.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { rankDocuments } = rankforce.forces;

  // The scores after the document at rank `from` went to rank `to`: it gets one strictly between
  // its new neighbours, or beyond the end. Where no number lies between them, because they tie, the
  // scores by rank stay and documents change places instead; ties that would still order them by
  // number are then broken by a hair.
  function moveDocument(scores, from, to) {
    const { order } = rankDocuments(scores);
    const [moved] = order.splice(from, 1);
    order.splice(to, 0, moved);
    const next = Float64Array.from(scores);
    const sorted = Float64Array.from(scores).sort().reverse();
    const spread = sorted[0] - sorted.at(-1);
    const step = spread > 0 ? spread / Math.max(scores.length - 1, 1) : 1;
    const above = to > 0 ? scores[order[to - 1]] : null;
    const below = to + 1 < order.length ? scores[order[to + 1]] : null;
    if (above === null) next[moved] = below + step;
    else if (below === null) next[moved] = above - step;
    else next[moved] = below + (above - below) / 2;
    const isBetween =
      (above === null || above > next[moved]) && (below === null || next[moved] > below);
    if (isBetween) return next;
    const hair = 1e-6 * Math.max(spread, Math.abs(sorted[0]), 1);
    order.forEach((document, r) => {
      next[document] = sorted[r];
      if (r === 0) return;
      const last = next[order[r - 1]];
      const isBehind = last > sorted[r] || (last === sorted[r] && order[r - 1] < document);
      if (!isBehind) next[document] = last - hair;
    });
    return next;
  }

  rankforce.moves = { moveDocument };
})();
