// The outlines of lines and bands, and how they look in a legend.
(() => {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});
  const { svg } = rankforce.dom;
  const { isNumber } = rankforce.scales;

  function path(x, y, toX, toY) {
    let text = "", isDown = false;
    x.forEach((value, i) => {
      if (!isNumber(y[i])) { isDown = false; return; }
      text += `${isDown ? "L" : "M"}${toX(value).toFixed(2)} ${toY(y[i]).toFixed(2)}`;
      isDown = true;
    });
    return text;
  }

  function bandPath(one, toX, toY) {
    const isKnown = (i) => isNumber(one.high[i]) && isNumber(one.low[i]);
    const known = one.x.map((_, i) => i).filter(isKnown);
    if (!known.length) return "";
    const point = (i, values) => `${toX(one.x[i]).toFixed(2)} ${toY(values[i]).toFixed(2)}`;
    const there = known.map((i) => point(i, one.high)), back = known.map((i) => point(i, one.low));
    return `M${there.join("L")}L${back.reverse().join("L")}Z`;
  }

  // What a series looks like, for the legend.
  function sample(one) {
    const box = { x: 4, y: 0, width: 14, height: 12, rx: 2, fill: one.color };
    return svg("svg", { class: "sample", width: 22, height: 12, "aria-hidden": "true" },
      one.isArea || one.low ? svg("rect", { ...box, class: one.isArea ? "solid" : "band" }) : null,
      one.isArea ? null : svg("line", { x1: 0, x2: 22, y1: 6, y2: 6, stroke: one.color, class: "line",
          "stroke-dasharray": one.dash || null }));
  }

  rankforce.shapes = { path, bandPath, sample };
})();
