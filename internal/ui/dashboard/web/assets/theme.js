// The theme is set before anything is painted: a page must not flash.
"use strict";
(() => {
  const key = "den-theme";
  const system = matchMedia("(prefers-color-scheme: light)");
  const chosen = () => { try { return localStorage.getItem(key); } catch { return null; } }; // storage may be off
  const apply = () => { document.documentElement.dataset.theme = chosen() ?? (system.matches ? "light" : "dark"); };
  apply();
  system.addEventListener("change", apply);
  window.switchTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(key, next); } catch { /* it lasts as long as the page */ }
    document.documentElement.dataset.theme = next;
    dispatchEvent(new Event("themechange"));
  };
  system.addEventListener("change", () => dispatchEvent(new Event("themechange")));
})();
