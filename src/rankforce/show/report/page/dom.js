// Elements of the page. Text reaches them as text nodes only, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const html = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Buttons of which one is pressed; `choices` are pairs of a value and its text.
function choice(label, choices, chosen, onChoose) {
  const buttons = choices.map(([value, text]) =>
    html("button", {
      type: "button",
      "aria-pressed": String(value === chosen),
      onclick: () => {
        buttons.forEach((one, i) =>
          one.setAttribute("aria-pressed", String(choices[i][0] === value)));
        onChoose(value);
      },
    }, text));
  return html("div", { class: "choice", role: "group", "aria-label": label },
    html("span", { class: "choice-label", "aria-hidden": "true" }, label), buttons);
}

// One of several by a list; used where buttons would not fit.
function select(label, names, onChoose) {
  const list = html("select", { onchange: () => onChoose(names[list.selectedIndex]) },
    names.map((name) => html("option", null, name)));
  return html("label", { class: "select" }, html("span", null, label), list);
}

// Calls `draw(width)` now and whenever the width of `node` changes.
function onWidth(node, draw) {
  let last = 0;
  const look = () => {
    const width = Math.floor(node.clientWidth);
    if (width > 0 && width !== last) draw((last = width));
  };
  new ResizeObserver(() => requestAnimationFrame(look)).observe(node);
  look();
}

// A drawing that keys and pointers walk on, from `least` to `most`; its owner has key(event),
// point(event) and activate(isActive).
function slider(owner, label, least, most, attributes) {
  const point = (event) => owner.point(event);
  const node = html("div", { tabindex: "0", role: "slider", "aria-label": label,
    "aria-valuemin": least, "aria-valuemax": most, onkeydown: (event) => owner.key(event),
    onfocus: () => owner.activate(true), onblur: () => owner.activate(false), onpointermove: point,
    onpointerdown: point, onpointerleave: () => owner.activate(document.activeElement === node),
    ...attributes });
  return node;
}

// Where a key leads from `at` among the places 0..last; undefined if it does not. `up` is the
// direction of the keys that point up.
function walk(event, at, last, up) {
  const step = event.shiftKey || event.key.startsWith("Page") ? Math.max(1, last >> 3) : 1;
  const moves = { ArrowLeft: -step, ArrowRight: step, ArrowUp: up * step, ArrowDown: -up * step,
    PageUp: up * step, PageDown: -up * step, Home: -last, End: last };
  if (!(event.key in moves)) return undefined;
  event.preventDefault();
  return Math.min(last, Math.max(0, at + moves[event.key]));
}

rankforce.dom = { html, walk, svg, slider, choice, select, onWidth };
