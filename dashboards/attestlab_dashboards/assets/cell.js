// A page in a cell of a notebook: it lives in a shadow root, and its state is in the kernel. Address, title and keys of
// the window belong to the notebook.
const WAITING_MS = 1_000;
const SIGHT_MARGIN = "200px";
// Notebook 7 shows what is higher than some 1,800 px through a slot of 24 lines. A view is as high as it is, as in
// JupyterLab, unless a person drags the edge of the slot.
const WHOLE_OUTPUT = "body[data-notebook] .jp-mod-outputsScrolled .jp-Cell-outputArea:not([style*=height]):has([data-al-live])";
const UNCUT = `${WHOLE_OUTPUT}{max-height:none}${WHOLE_OUTPUT}::after{content:none}`;
const THEMES = ["data-jp-theme-light", "data-vscode-theme-kind", "data-theme", "theme", "class"];

function render({ model, el }) {
  const shadow = el.shadowRoot ?? el.attachShadow({ mode: "open" });
  el.dataset.lmSuppressShortcuts = "true";  // JupyterLab leaves to the view the keys that are pressed in it
  const style = document.createElement("style");
  const cell = Object.assign(document.createElement("div"), { className: "al-cell" });
  const notices = Object.assign(document.createElement("div"), { id: "al-notices" });
  notices.setAttribute("aria-live", "polite");
  shadow.replaceChildren(style, cell);
  const root = makeRoot(cell);
  root.dataset.cell = "1";
  cell.append(notices);
  const wait = makeWaiting(cell);
  let folder = "";

  const host = {
    name: `attestlab:cell:${crypto.randomUUID?.() ?? Math.random()}`,  // no view finds what another one kept
    keys: root,
    tips: cell,
    notices,
    noteDrawn: () => { el.dataset.drawn = "1"; el.dispatchEvent(new Event("attestlab-drawn")); },
    noteReady: (number) => { el.dataset.ready = number; },
    showAddress: () => {},
    openAddress: (link) => page.send({ address: new URL(link.href).search }),
    restart: () => page.send({ hello: true }),
    receivers: {
      cell: (message) => { style.textContent = message.style; folder = message.folder; },
      heard: (message) => wait.heard(message.n),
      remember: () => {},
      ended: () => page.notify({ tone: "bad", html: "The session of this lab has ended. Open the lab again, and run the cell." }),
    },
  };
  const page = converse({ root, host, send: (message) => { wait.sent(message.n); (model.send_msg ?? model.send).call(model, message); } });
  const receive = (message) => page.receive(message);
  model.on("msg:custom", receive);
  root.addEventListener("click", (event) => followLink(event, folder, page.send));
  const stops = [watchSight(el, page.send), watchTheme(el), keepDialogsInSight(root)];
  return () => { model.off?.("msg:custom", receive); stops.forEach((stop) => stop()); wait.stop(); };
}

// A link to another page opens it at the service; without one the kernel says how to open it in a cell.
function followLink(event, folder, send) {
  const link = event.target.closest("a[href]");
  const address = link?.getAttribute("href") ?? "";
  if (!link || event.defaultPrevented || address.startsWith("#") || address.startsWith("data:")) return;
  event.preventDefault();
  if (/^https?:/.test(address)) window.open(address, "_blank", "noopener");
  else if (folder && !address.startsWith("?")) window.open(new URL(address, folder), "_blank", "noopener");
  else send({ follow: address });
}

// While a cell runs, some kernels answer no message; the view says so.
function makeWaiting(cell) {
  const words = Object.assign(document.createElement("div"), { className: "al-waiting", hidden: true, textContent: "Waiting for another cell to finish" });
  words.setAttribute("role", "status");
  cell.append(words);
  let last = 0;
  let timer = 0;
  return {
    sent(number) { last = number; timer ||= setTimeout(() => { words.hidden = false; }, WAITING_MS); },
    heard(number) { if (number >= last) this.stop(); },
    stop() { clearTimeout(timer); timer = 0; words.hidden = true; },
  };
}

// A view begins when it comes into sight, and loads nothing while it is out of it.
function watchSight(el, send) {
  let hasBegun = false;
  const observer = new IntersectionObserver((entries) => {
    const isSeen = entries.at(-1).isIntersecting;
    if (!hasBegun && !isSeen) return;
    send(hasBegun ? { sight: isSeen } : { hello: true });
    hasBegun = true;
  }, { scrollMargin: SIGHT_MARGIN });
  observer.observe(el);
  return () => observer.disconnect();
}

function findTheme() {
  for (const part of [document.body, document.documentElement]) {
    const isLight = part.getAttribute("data-jp-theme-light");
    if (isLight) return isLight === "true" ? "light" : "dark";
    const kind = part.getAttribute("data-vscode-theme-kind") ?? part.getAttribute("data-theme") ?? part.getAttribute("theme") ?? "";
    const named = /light/.exec(kind) ?? /dark|high-contrast/.exec(kind) ?? /\b(light|dark)\b/.exec(part.className);
    if (named) return named[0] === "light" ? "light" : "dark";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function watchTheme(el) {
  const show = () => { el.dataset.theme = findTheme(); };
  const observer = new MutationObserver(show);
  for (const part of [document.body, document.documentElement]) observer.observe(part, { attributes: true, attributeFilter: THEMES });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", show);
  show();
  return () => { observer.disconnect(); system.removeEventListener("change", show); };
}

// Dialogs and drawers stay inside the view, in the part of it that is seen.
function keepDialogsInSight(root) {
  const cell = root.parentNode;
  let frame = 0;
  const measure = () => {
    frame = 0;
    if (!cell.querySelector('[role="dialog"], dialog[open], #al-notices > *')) return;
    new IntersectionObserver(([entry], observer) => {
      observer.disconnect();
      const { intersectionRect: seen, boundingClientRect: whole } = entry;
      cell.style.setProperty("--al-seen-top", `${seen.top - whole.top}px`);
      cell.style.setProperty("--al-seen-height", `${seen.height}px`);
    }).observe(cell);
  };
  const soon = () => { frame ||= requestAnimationFrame(measure); };
  const observer = new MutationObserver(soon);
  observer.observe(cell, { childList: true, subtree: true, attributes: true, attributeFilter: ["open"] });
  addEventListener("scroll", soon, { passive: true, capture: true });
  return () => { observer.disconnect(); removeEventListener("scroll", soon, { capture: true }); };
}

// The markup of a still names its model. Where the model lives, its view takes the place of the still; where it does
// not, as in a closed notebook, the still stays.
globalThis.attestlabPlaces ??= (() => {
  const mounts = new Map();
  const fill = () => {
    for (const place of document.querySelectorAll("[data-al-view]:not([data-al-live])")) {
      const mountIn = mounts.get(place.dataset.alView);
      if (mountIn) { place.dataset.alLive = "1"; mountIn(place); }
    }
  };
  document.head.append(Object.assign(document.createElement("style"), { textContent: UNCUT }));
  let frame = 0;
  new MutationObserver(() => { frame ||= requestAnimationFrame(() => { frame = 0; fill(); }); }).observe(document.body, { childList: true, subtree: true });
  return { set(name, mountIn) { mounts.set(name, mountIn); fill(); }, delete: (name) => mounts.delete(name) };
})();

function mount({ model }) {
  const name = model.get("place");
  const lives = [];
  globalThis.attestlabPlaces.set(name, (place) => {
    const free = lives.find((each) => !each.isConnected);
    const live = free ?? document.createElement("div");
    const showLive = () => { live.removeAttribute("style"); place.replaceChildren(live); };
    if (live.dataset.drawn) return showLive();
    // Until it is drawn it lies unseen over its still, so that it begins when any part of that comes into sight.
    place.style.position = "relative";
    live.style.cssText = "position:absolute;inset:0;overflow:hidden;visibility:hidden";
    place.append(live);
    live.addEventListener("attestlab-drawn", showLive, { once: true });
    if (!free) { lives.push(live); render({ model, el: live }); }
  });
  return () => globalThis.attestlabPlaces.delete(name);
}
