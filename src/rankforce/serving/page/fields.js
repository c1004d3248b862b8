// Fields with a name above and, where something is wrong with them, a sentence below.
const { html } = window.rankforce.dom;

let made = 0;

export function field(name, input, attributes = {}) {
  return html("label", { class: "field", ...attributes }, html("span", null, name), input);
}

// Says what is wrong with an input, right below it.
export function complain(input, sentence) {
  const id = `mistake-${++made}`;
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", id);
  input.after(html("small", { class: "mistake", id }, sentence));
}

export function forgive(node) {
  for (const input of node.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
  for (const sentence of node.querySelectorAll(".mistake")) sentence.remove();
}
