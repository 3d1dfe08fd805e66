// Light or dark, before the first paint: what the person chose in this browser, or else what the system prefers.
const chosen = localStorage.getItem("al-theme");
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("al-theme");
  const show = () => {
    const isDark = document.documentElement.dataset.theme === "dark";
    button?.setAttribute("aria-label", isDark ? "Light theme" : "Dark theme");
    button?.setAttribute("aria-pressed", String(isDark));
  };
  show();
  button?.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("al-theme", next);
    show();
  });
}, { once: true });  // a library of the pages sends this event again
