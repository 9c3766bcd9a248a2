// Runs before the page is drawn, so that a chosen theme doesn't flash in.
"use strict";
{
  let theme = null;
  try { theme = localStorage.getItem("paddock-theme"); } catch { /* storage is off */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
