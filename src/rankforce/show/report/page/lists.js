// Forces of whole lists, where no pair pushes: the cross entropy of NDCG (Bruch et al. 2021).
// Pure functions of numbers.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { labelColumn, drawer } = rankforce.pairSets;

  const isList = (objective) => objective.parts.some((part) => part.kind === "list");
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  // Softmax of all scores, of all but the best (`quota`), and 1 - rho of the best: where that one
  // is next to 1, quotas keep the digits that 1 - rho loses.
  function softmax(scores) {
    const best = scores.reduce((top, score, i) => (score > scores[top] ? i : top), 0);
    const second = Math.max(...scores.filter((_, i) => i !== best));
    const e = scores.map((score, i) => (i === best ? 0 : Math.exp(score - second)));
    const total = sum(e);
    const odds = total * Math.exp(second - scores[best]);
    const rest = odds / (1 + odds);
    const quota = e.map((value) => value / total);
    const rho = quota.map((value, i) => (i === best ? 1 / (1 + odds) : value * rest));
    return { best, rest, quota, rho };
  }

  // The terms of the next order: rho_i * sum over j != i of term_j / (1 - rho_j).
  function nextOrder(terms, { best, quota, rho }) {
    const shared = terms.map((term, i) => (i === best ? 0 : term / (1 - rho[i])));
    const others = sum(shared);
    return terms.map((_, i) =>
      i === best ? rho[i] * others : rho[i] * (others - shared[i]) + quota[i] * terms[best]);
  }

  // Forces and hessians of a part before any norm.
  function listForces(part, tables, query, scores, iteration) {
    const none = scores.map(() => 0);
    if (scores.length < 2) return { lambda: none, hess: none };
    const gainOf = new Map(tables[part.labels].map((y, i) => [y, tables[part.gains][i]]));
    const draw = drawer(part.seed, iteration, query.key);
    const worth = Array.from(labelColumn(query, part.source),
      (y, i) => gainOf.get(y) + (1 - draw(i)));
    const total = sum(worth);
    const soft = softmax(scores);
    const { best, rest, rho } = soft;
    const first = worth.map((value, i) => value / total - rho[i]);
    const second = nextOrder(first, soft);
    const third = nextOrder(second, soft);
    return {
      lambda: first.map((term, i) => term + second[i] + third[i]),
      hess: rho.map((value, i) => value * (i === best ? rest : 1 - value)),
    };
  }

  rankforce.lists = { isList, listForces };
})();
