// Bars: of shares from 0 to 1, and of numbers with a sign, from the middle to either side.
const { html } = window.rankforce.dom;
const { aligned } = window.rankforce.scales;

// `share` is -1 to 1 where `kind` is "both", else 0 to 1.
export function bar(share, kind) {
  const isSigned = kind === "both";
  const side = !isSigned ? "" : share < 0 ? "is-down" : "is-up";
  const inside = html("span", { class: `bar ${side}` });
  inside.style.width = `${Math.min(1, Math.abs(share)) * (isSigned ? 50 : 100)}%`;
  return html("span", { class: `track ${kind}`, "aria-hidden": "true" }, inside);
}

// A number with its bar, as two cells of a table.
export function barCells(value, largest) {
  return [html("td", { class: "bar-cell" }, bar(largest > 0 ? value / largest : 0, "both")),
    html("td", { class: "number", "data-value": String(value) },
      value === 0 ? "0" : aligned(value, largest))];
}
