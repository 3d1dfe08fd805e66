"""Scripts that tests run in a page: they look into shadow roots, where a page's markup is."""

from __future__ import annotations

from typing import Final

# Defines `findAll(selector)`: the elements of the whole page, in the order of their roots.
FIND_ALL: Final = """
const findAll = (selector, root = document) => [...root.querySelectorAll("*")].flatMap((one) => [
  ...(one.matches(selector) ? [one] : []), ...(one.shadowRoot ? findAll(selector, one.shadowRoot) : [])]);
"""
# Notes, frame by frame, each time at which a part of the page is blank: no skeleton and no content.
WATCH_BLANKS: Final = f"""
window.blanks = [];
(() => {{
  {FIND_ALL}
  const isSeen = (one) => one.checkVisibility() && one.getClientRects().length > 0;
  const isBlank = (card) => !card.querySelector(".sk") && card.children.length < 2;
  const look = () => {{
    const skeleton = document.querySelector("#al-skeleton");
    const cards = findAll("#al-main section[data-pane]");
    if (skeleton && !cards.length && !isSeen(skeleton)) window.blanks.push("the page");
    for (const card of cards.filter(isBlank)) window.blanks.push(card.dataset.pane);
    requestAnimationFrame(look);
  }};
  look();
}})();
"""
# Notes what Tab reaches, and where the focus cannot be seen. Returns how many places a mouse can use.
WATCH_FOCUS: Final = f"""
() => {{
  {FIND_ALL}
  const USABLE = "a[href], button, input, select, textarea, summary, [tabindex='0'], [data-ev], [data-copy]";
  const isUsable = (one) => !one.disabled && one.type !== "hidden" && one.tagName !== "FORM" && one.checkVisibility({{
    visibilityProperty: true, contentVisibilityAuto: true }}) && one.getClientRects().length > 0;
  const describe = (one) => one.outerHTML.slice(0, 120);
  const MARKS = ["backgroundColor", "outlineStyle", "outlineColor", "boxShadow", "stroke", "fill", "left"];
  const read = (one) => MARKS.map((name) => getComputedStyle(one)[name]).join();
  const look = (one) => {{
    const around = [one.parentElement, one.parentElement?.parentElement].filter(Boolean);
    return [one, ...[...one.querySelectorAll("*")].slice(0, 4), ...around].map(read).join(" ");
  }};
  const usable = findAll(USABLE).filter(isUsable);
  const before = new Map(usable.map((one) => [one, look(one)]));
  const met = new Set(), unseen = new Set();
  const note = (event) => {{
    const one = event.composedPath()[0];
    met.add(one);
    if (before.get(one) === look(one)) unseen.add(describe(one));
  }};
  const roots = [document, ...findAll("*").map((one) => one.shadowRoot).filter(Boolean)];
  for (const root of roots) root.addEventListener("focusin", note);  // a move inside of a root stays in it
  window.walk = () => ({{ missed: usable.filter((one) => !met.has(one)).map(describe), unseen: [...unseen] }});
  return usable.length;
}}
"""
