// The theme: the system's, or the one that the reader chose.
import { $ } from "./dom.js";

const order = ["auto", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");

// startTheme wires the button; changed hears when colours are others.
export function startTheme(changed) {
  const button = $("theme-button"), root = document.documentElement;
  const show = () => {
    const theme = root.dataset.theme ?? "auto";
    button.textContent = `Theme: ${theme}`;
    return theme;
  };
  show();
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(show()) + 1) % order.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === "auto") localStorage.removeItem("paddock-theme");
      else localStorage.setItem("paddock-theme", next);
    } catch { /* storage is off: it holds for this page */ }
    show();
    changed();
  });
  system.addEventListener("change", changed);
}
