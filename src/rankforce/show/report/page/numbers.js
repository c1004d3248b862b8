// Scores, forces and grades as the explorer writes them: few digits, and a sign where it says which
// way a force goes.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});

  const short = (value, digits = 3) =>
    String(Number(value.toPrecision(digits))).replace("-", "\u2212");
  const signed = (value) => (value > 0 ? "+" : "") + short(value);
  // As many decimals as show three digits of the largest, so that a column lines up.
  function aligned(value, largest) {
    const decimals = 2 - Math.floor(Math.log10(largest));
    if (value === 0) return "0";
    if (!(decimals >= 0 && decimals <= 6)) return signed(value);
    return (value > 0 ? "+" : "\u2212") + Math.abs(value).toFixed(decimals);
  }
  const label = (y) => (y === null ? "?" : short(y, 4));

  rankforce.numbers = { short, signed, aligned, label };
})();
