// What on a page breaks in its window, one line for each fault. It looks into the shadow roots, so it measures bar and
// navigation with the content, and pages that have no shadow root as well.
const findAll = (selector, root = document) => [...root.querySelectorAll("*")].flatMap((one) => [
  ...(one.matches(selector) ? [one] : []), ...(one.shadowRoot ? findAll(selector, one.shadowRoot) : [])]);
const isSeen = (one) =>
  one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && one.getClientRects().length > 0;
const round = (number) => Math.round(number * 10) / 10;
const ownWords = (one) =>
  [...one.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data.trim()).join(" ");

function describe(one, fault) {
  const name = `${one.tagName.toLowerCase()}.${one.classList.value.replaceAll(" ", ".")}`;
  const place = one.closest("[data-pane]")?.dataset.pane ?? one.closest("[id]")?.id ?? "the page";
  return `${name} in ${place} ${fault}: ${(one.innerText ?? "").slice(0, 40)}`;
}

// Layers over the page may be higher than a window, and what only screen readers read has no size.
const LAYERS = '[role="dialog"], .al-drawer, .al-dialog > div, .al-tools > div, .al-me > div, select, .al-hidden';
const isRoot = (one) => one === document.documentElement || one === document.body;

function isClipped(one) {
  for (let up = one; up && !isRoot(up); up = up.parentElement) {
    if (getComputedStyle(up).overflowX !== "visible") return true;
  }
  return false;
}

function* findScrolling(width) {
  const content = Math.max(document.documentElement.scrollWidth, window.innerWidth);
  if (content !== width) yield `the page is ${content} px wide in ${width}`;
  for (const one of findAll("*").filter((one) => isSeen(one) && !isRoot(one))) {
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    const isTooWide = /auto|scroll/.test(style.overflowX) && one.scrollWidth > one.clientWidth + 1;
    const isTooHigh = /auto|scroll/.test(style.overflowY) && one.scrollHeight > one.clientHeight + 1;
    if (isTooWide || (isTooHigh && !one.matches(LAYERS))) {
      yield describe(one, `scrolls ${one.scrollWidth}x${one.scrollHeight} in ${one.clientWidth}x${one.clientHeight}`);
    }
    const isOutside = box.width > 1 && (box.right > width + 1 || box.left < -1);
    if (isOutside && !one.closest(".al-skip, .skip, .al-hidden, .al-bar, .al-nav") && !isClipped(one)) {
      yield describe(one, `reaches from ${round(box.left)} to ${round(box.right)} in ${width}`);
    }
  }
}

// Parts of a chart stand where their numbers put them, and what stands in a sentence may be as high as its line.
function* findSmallTargets(targetPx) {
  const targets = findAll("a[href], button, summary, select, input:not([type=hidden]), textarea");
  for (const one of targets.filter((one) => isSeen(one) && !one.closest("svg, p, dd, .al-hidden, .al-skip, .skip, .is-plot"))) {
    const { width, height } = one.getBoundingClientRect();
    if (Math.min(width, height) < targetPx - 0.5) yield describe(one, `is ${round(width)}x${round(height)} px small`);
  }
}

function* findWordsOfPointers() {
  const WORDS = /\bhover|double.click|right.click|point at|\bmouse\b/i;
  for (const one of findAll("*").filter((one) => isSeen(one) && !one.matches("script, style, textarea"))) {
    if (WORDS.test(`${ownWords(one)} ${one.placeholder ?? ""}`)) yield describe(one, "speaks of a pointer");
  }
}

function* findSqueezedWords() {
  for (const one of findAll("*").filter((one) => isSeen(one) && !one.closest("svg, option"))) {
    const size = parseFloat(getComputedStyle(one).fontSize);
    const { width, height } = one.getBoundingClientRect();
    const isColumn = width > 1 && width < 2.5 * size && height > 4 * size;
    if (isColumn && ownWords(one).length > 8) yield describe(one, `is squeezed to ${round(width)} px`);
  }
}

// A pill says a state, so it is never cut; words are, and a tip shows them whole.
function* findCutPills() {
  for (const pill of findAll(".pill").filter(isSeen)) {
    const { right, bottom } = pill.getBoundingClientRect();
    for (let up = pill.parentElement; up && !isRoot(up); up = up.parentElement) {
      const box = up.getBoundingClientRect();
      const isCut = getComputedStyle(up).overflowX !== "visible" && (right > box.right + 1 || bottom > box.bottom + 1);
      if (isCut && !up.matches(".al-hidden, .scroll, .al-drawer")) yield describe(pill, `is cut at ${round(box.right)}`);
    }
  }
}

function* findEmptyHalves() {
  for (const card of findAll(".al-grid > section").filter(isSeen)) {
    const { bottom, height } = card.getBoundingClientRect();
    const blank = bottom - Math.max(...[...card.children].map((part) => part.getBoundingClientRect().bottom));
    if (blank > 120 && blank > 0.4 * height) yield `half-empty: ${card.id} ends ${round(blank)} of ${round(height)} px early`;
  }
  for (const grid of findAll(".al-grid")) yield* findEmptyEnds(grid);
}

function* findEmptyEnds(grid) {
  const cards = [...grid.children].filter(isSeen).map((card) => ({ id: card.id, box: card.getBoundingClientRect() }));
  for (const { id, box } of cards) {
    const level = cards.filter((other) => other.box.top < box.bottom - 1 && other.box.bottom > box.top + 1);
    const wide = level.reduce((sum, other) => sum + other.box.width, 0);
    if (wide < 0.9 * grid.clientWidth) yield `half-empty: beside ${id} are ${round(grid.clientWidth - wide)} px`;
  }
}

function measure({ width, targetPx, isTouched }) {
  const ofTouch = isTouched ? [...findSmallTargets(targetPx), ...findWordsOfPointers()] : [];
  return [...new Set([...findScrolling(width), ...findSqueezedWords(), ...findCutPills(), ...findEmptyHalves(), ...ofTouch])];
}

// Focuses each text that is cut; returns those whose whole words no tip shows then.
function listUnread() {
  const STOPS = "a[href], button, summary, input, select, textarea";
  const bare = (words) => words.replace(/\s+/g, "");
  return findAll("[data-cut]").filter(isSeen).flatMap((one) => {
    const stop = one.closest(STOPS) ?? one.querySelector(STOPS) ?? one;
    stop.focus({ preventScroll: true });
    const tip = document.querySelector(".al-bubble:not([hidden])");
    const isRead = tip !== null && bare(tip.innerText).includes(bare(one.innerText));
    stop.blur();
    return isRead ? [] : [describe(one, "is cut, and no tip shows it on focus")];
  });
}

const settle = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
