// Tables of text and numbers; a wide one scrolls inside its box.
const { html } = rankforce.dom;
const { FORMATS } = rankforce.scales;

function cell(value, column, isHead) {
  const node = html(isHead ? "th" : "td",
    { class: column.kind === "text" ? null : "number", scope: isHead ? "row" : null });
  if (value instanceof Node) node.append(value);
  else if (value === null || value === undefined) node.append(column.kind === "text" ? "" : "–");
  else node.append(String(FORMATS[column.kind || "text"](value)));
  return node;
}

// columns: [{name, kind, about}]; rows: lists of values or nodes; the first column names the row.
function make({ columns, rows, label, rowClass }) {
  const head = columns.map((column) => html("th",
    { scope: "col", class: column.kind === "text" ? null : "number", title: column.about },
    column.name));
  const body = rows.map((row, number) => html("tr", { class: rowClass ? rowClass(number) : null },
    columns.map((column, i) => cell(row[i], column, i === 0))));
  return html("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
    html("table", null, html("thead", null, html("tr", null, head)), html("tbody", null, body)));
}

rankforce.tables = { make };
