// Elements. Text from anywhere becomes text nodes, never markup.

export const $ = (id) => document.getElementById(id);

// el("p", {class: "note"}, "text", child, ...): attributes by name, on… as listeners; null and false attributes and children are left out.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : value);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined && c !== false) e.append(c);
  return e;
}

// number is an element that says a value to people and, exactly, to programs.
export function number(value, text) {
  return value === null || value === undefined ? document.createTextNode("–") : el("data", { value: String(value) }, text);
}

// setText writes only what has changed, so that a screen reader isn't told the same again.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// width gives a bar its share, through the object model: the policy forbids styles in markup.
export function width(e, share) {
  e.style.width = `${Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0)) * 100}%`;
  return e;
}

// fillSelect renews a choice's options and keeps what is chosen where it is still there.
export function fillSelect(select, options) {
  const now = [...select.options].map((o) => `${o.value}\u0000${o.text}`).join("\u0001");
  const next = options.map(([value, text]) => `${value}\u0000${text}`).join("\u0001");
  if (now === next) return;
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => el("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}
