// The bridge between a page's markup and its Python: events go there by delegation, markup of panes comes back.
// Markup is made in Python, where every text is escaped (safe.py); nothing here builds markup from text.
// What is around the page is its `host`: page.js for a window of the browser, cell.js for a cell of a notebook.
const LIVE_PAUSE_MS = 150;
const MAX_TEXT_BYTES = 1_000_000;
const MAX_BASES = 20;
const FILE_NAME = "attestlab:file";
const UNHASHED = "This browser hashes files only over https. Paste the SHA-256 instead.";

function makeRoot(place) {
  const root = Object.assign(document.createElement("div"), { id: "al-main", tabIndex: -1 });
  place.appendChild(root);
  return root;
}

// Lets a page converse in `root`: `send` sends a message to Python, and `receive` of the result takes one from there.
function converse({ root, send: sendMessage, host }) {
  const scope = root.getRootNode();
  let sent = 0;
  let liveTimer = 0;
  let lastOpener = "";
  let readyNumber = 0;
  let lastForm = null;
  let span = "";

  const send = (message) => sendMessage({ ...message, n: ++sent });
  const draftArea = () => root.querySelector("textarea[data-keep]");
  const find = (name, value) => scope.querySelector(`[${name}="${CSS.escape(value)}"]`);

  function paint(box, markup) {
    const active = scope.activeElement;
    const key = box.contains(active) ? active.dataset.key : undefined;
    const typed = key !== undefined && "value" in active && active.dataset.ev ? [active.value, active.selectionStart] : null;
    const open = [...box.querySelectorAll("details[open][id]")].map((part) => part.id);
    box.innerHTML = markup;
    for (const id of open) {
      const part = box.querySelector(`#${CSS.escape(id)}`);
      if (part) part.open = true;
    }
    for (const area of box.querySelectorAll("[data-lines] + textarea")) numberLines(area);
    globalThis.attestlabSyntax?.paintParts(box);
    globalThis.attestlabMarks?.paint(root);
    restoreDraft(box);
    nameFiles(box);
    const again = key === undefined ? null : box.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (again) {
      if (typed && again.type === "text") { again.value = typed[0]; again.setSelectionRange(typed[1], typed[1]); }
      again.focus({ preventScroll: true });
    }
  }

  const drawn = new Map();

  function show(pane) {
    const box = find("data-pane", pane.key);
    if (!box || drawn.get(pane.key) === pane.html) return;
    drawn.set(pane.key, pane.html);
    const hadDrawer = box.querySelector('[role="dialog"]');
    paint(box, pane.html);
    if (pane.key === "queue") queue.painted();
    const drawer = box.querySelector('[role="dialog"]');
    // In a cell, a dialog comes to the part of the view that is seen, so that the notebook need not scroll to it.
    if (drawer && !hadDrawer) (drawer.querySelector("[data-focus]") ?? drawer).focus({ preventScroll: Boolean(root.dataset.cell) });
    if (!drawer && hadDrawer && lastOpener) find("data-key", lastOpener)?.focus();
  }

  const receivers = {
    frame: (message) => { drawn.clear(); span = ""; paint(root, message.html); host.noteDrawn(); },
    panes: (message) => message.panes.forEach(show),
    busy: (message) => {
      if (message.number <= readyNumber) return;  // an answer that was there at once has overtaken it
      host.noteReady("");
      root.dataset.busy = "1";
    },
    ready: (message) => { readyNumber = message.number; host.noteReady(String(message.number)); root.dataset.busy = ""; askForNotes(); },
    address: (message) => host.showAddress(message),
    notice: (message) => {
      const place = message.tone === "bad" ? findRefusalPlace() : host.notices;
      const box = document.createElement("div");
      box.className = message.tone === "bad" ? "al-toast bad" : "al-toast";
      box.setAttribute("role", message.tone === "bad" ? "alert" : "status");
      box.innerHTML = message.html;
      place.replaceChildren(box);
      box.addEventListener("click", (event) => {
        const pressed = event.target.closest("button");
        if (pressed?.dataset.act) { queue.refocus(); send({ act: pressed.dataset.act, fields: { ids: pressed.dataset.ids } }); }
        if (pressed) box.remove();
      });
      const undo = box.querySelector("[data-seconds]");
      if (undo) setTimeout(() => undo.remove(), 1000 * Number(undo.dataset.seconds));
    },
    notes: (message) => { const list = root.querySelector("[data-notes]"); if (list) list.innerHTML = message.html; globalThis.attestlabMarks?.paint(root); },
    remember: (message) => remember(message.text),
    ...host.receivers,
  };
  function askForNotes() {
    const shown = globalThis.attestlabMarks?.findSpan(root) ?? "";
    if (shown && shown !== span) { span = shown; send({ notes: shown }); }
  }

  // A refusal is shown in the dialog whose form was sent, above its buttons, so that it can be corrected there.
  function findRefusalPlace() {
    const isOpen = lastForm?.isConnected && lastForm.closest('[role="dialog"], dialog');
    if (!isOpen) return host.notices;
    return lastForm.querySelector(".al-refusal") ?? lastForm.insertBefore(Object.assign(document.createElement("div"), { className: "al-refusal" }), lastForm.lastElementChild);
  }

  // What a page remembers between visits. A browser that forbids storage remembers nothing.
  function recall() { try { return localStorage.getItem(host.name) ?? ""; } catch { return ""; } }
  function remember(text) { try { localStorage.setItem(host.name, text); } catch { /* storage is forbidden */ } }
  function forget() { try { localStorage.removeItem(host.name); } catch { /* storage is forbidden */ } host.restart(); }

  // The text of a draft that this tab alone has: it survives a reload. `bases` are the texts that it was written over,
  // so that it never covers the draft of another link.
  const draftName = (area) => `${host.name}?draft=${area.dataset.keep}`;
  function readDraft(area) { try { return JSON.parse(sessionStorage.getItem(draftName(area))) ?? { bases: [] }; } catch { return { bases: [] }; } }
  function keepDraft(area, text) {
    try {
      if (!text) return sessionStorage.removeItem(draftName(area));
      const bases = [...new Set([...readDraft(area).bases, area.defaultValue])].filter((base) => base !== text).slice(-MAX_BASES);
      sessionStorage.setItem(draftName(area), JSON.stringify({ text, bases }));
    } catch { /* storage is forbidden or full */ }
  }
  function restoreDraft(box) {
    const area = box.querySelector("textarea[data-keep]");
    const kept = area ? readDraft(area) : { bases: [] };
    if (!kept.bases.includes(area?.defaultValue)) return;
    area.value = kept.text;
    numberLines(area);
    area.form.querySelector("[data-kept]").hidden = false;
  }

  // The name of a file never leaves this tab: what the server draws of a hash is named here.
  function nameFiles(box) {
    for (const slot of box.querySelectorAll("[data-file]")) slot.textContent = recallFile(slot.dataset.file) ?? slot.textContent;
  }

  // The lines behind a text carry its numbers and colours: they wrap as it does. A line keeps its mark until it changes.
  function numberLines(area) {
    const lines = area.parentElement.querySelector(":scope > [data-lines]");
    if (!lines || !globalThis.attestlabSyntax) return;
    const drawn = attestlabSyntax.paintLines(area.value);
    drawn.forEach((line, place) => { if (lines.children[place]?.textContent === line.textContent) line.className = lines.children[place].className; });
    lines.replaceChildren(...drawn);
    lines.dataset.lines = "painted";
  }

  function copy(text) {
    navigator.clipboard?.writeText(text);
    receivers.notice({ html: '<span>Copied.</span><button type="button" aria-label="Close">×</button>' });
  }

  root.addEventListener("click", (event) => {
    const copied = event.target.closest("[data-copy]");
    if (copied) return copy(copied.dataset.copy);
    if (event.target.closest("[data-forget]")) return forget();
    const kept = event.target.closest("[data-kept]");
    if (kept && event.target.closest("button")) { keepDraft(draftArea(), ""); draftArea().value = draftArea().defaultValue; numberLines(draftArea()); kept.hidden = true; return; }
    if (event.target.closest("[data-cancel]")) return send({ cancel: true });
    const view = event.target.closest("a[data-address]");
    if (view && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      view.closest(".al-views").open = false;
      return host.openAddress(view);
    }
    const tile = event.target.closest("[data-rows]");  // a number, whose rows are in a pane
    if (tile) find("data-pane", tile.dataset.rows)?.focus();
    const pressed = event.target.closest("button[data-ev], a[data-ev]");
    if (!pressed || pressed.disabled || pressed.ariaDisabled) return;
    event.preventDefault();
    lastOpener = pressed.closest('[role="dialog"]') ? lastOpener : pressed.dataset.key ?? "";
    if (pressed.dataset.ev === "draft" && draftArea()) keepDraft(draftArea(), pressed.dataset.v);
    send({ ev: pressed.dataset.ev, v: pressed.dataset.v ?? "" });
  });

  root.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.matches("[data-decide]") && !queue.prepare(event.target)) return;
    const fields = Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, String(value)]));
    const { act, ev } = event.target.dataset;
    lastForm = event.target;
    lastForm.querySelector(".al-refusal")?.replaceChildren();
    if (act) send({ act, fields });
    else if (ev) send({ ev, v: fields.v ?? [fields.from, fields.to].filter(Boolean).join("/") });
  });

  root.addEventListener("change", (event) => {
    const changed = event.target;
    if (changed.type === "file") return readFile(changed.dataset, changed.files[0]);
    if (changed.matches("select[data-ev], input[data-ev]:not([data-live])")) send({ ev: changed.dataset.ev, v: changed.type === "checkbox" ? String(changed.checked) : changed.value });
  });

  root.addEventListener("input", (event) => {
    const typing = event.target;
    numberLines(typing);
    if (typing.matches("textarea[data-keep]")) keepDraft(typing, typing.value === typing.defaultValue ? "" : typing.value);
    if (!typing.matches("[data-live]")) return;
    clearTimeout(liveTimer);
    liveTimer = setTimeout(() => send({ ev: typing.dataset.ev, v: typing.value }), LIVE_PAUSE_MS);
  });

  async function readFile(dataset, file) {
    if (!file) return;
    if (dataset.read) {
      if (file.size > MAX_TEXT_BYTES) return receivers.notice({ tone: "bad", html: "The file has more than 1 MB. Choose the JSON file of one bundle." });
      return send({ ev: dataset.read, v: await file.text() });
    }
    const hex = await hashFile(file);
    if (!hex) return receivers.notice({ tone: "bad", html: UNHASHED });
    send({ ev: dataset.hash ?? dataset.drop, v: hex });
  }

  root.addEventListener("dragover", (event) => { if (event.target.closest("[data-drop]")) event.preventDefault(); });
  root.addEventListener("drop", (event) => {
    const target = event.target.closest("[data-drop]");
    if (!target) return;
    event.preventDefault();
    readFile(target.dataset, event.dataTransfer.files[0]);
  });

  // A brush: drag over the plot of an svg[data-brush]; it sends the selection as fractions, y from the bottom.
  root.addEventListener("pointerdown", (event) => {
    const chart = event.target.closest("svg[data-brush]");
    const plot = chart?.querySelector("[data-plot]");
    if (!plot || event.button !== 0) return;
    const area = plot.getBoundingClientRect();
    const at = (moved) => [
      Math.min(1, Math.max(0, (moved.clientX - area.left) / area.width)),
      1 - Math.min(1, Math.max(0, (moved.clientY - area.top) / area.height)),
    ];
    const from = at(event);
    const frame = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    frame.setAttribute("class", "al-brush");
    plot.parentNode.appendChild(frame);
    const box = plot.getBBox();
    const drag = (moved) => {
      const to = at(moved);
      frame.setAttribute("x", box.x + Math.min(from[0], to[0]) * box.width);
      frame.setAttribute("width", Math.abs(from[0] - to[0]) * box.width);
      frame.setAttribute("y", box.y + (1 - Math.max(from[1], to[1])) * box.height);
      frame.setAttribute("height", Math.abs(from[1] - to[1]) * box.height);
    };
    const end = (moved) => {
      document.removeEventListener("pointermove", drag);
      document.removeEventListener("pointerup", end);
      const to = at(moved);
      if (Math.abs(to[0] - from[0]) < 0.005) return frame.remove();
      const parts = [Math.min(from[0], to[0]), Math.max(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[1], to[1])];
      const bounds = chart.dataset.x0 === undefined ? [] : [chart.dataset.x0, chart.dataset.x1];
      send({ ev: chart.dataset.brush, v: [...parts.map((part) => part.toFixed(4)), ...bounds].join(",") });
    };
    document.addEventListener("pointermove", drag);
    document.addEventListener("pointerup", end);
    event.preventDefault();
  });
  root.addEventListener("dblclick", (event) => {
    const chart = event.target.closest("svg[data-brush]");
    if (chart) send({ ev: chart.dataset.brush, v: "" });
  });

  // The queue: a person decides its rows by keys. A row that is gone hands the focus to the one that took its place.
  const queue = makeQueue({ root, send, host });

  root.addEventListener("focusin", (event) => {  // who writes in a folded text sees all of it
    const folded = event.target.dataset.unfolds && scope.getElementById(event.target.dataset.unfolds);
    if (folded) folded.open = true;
  });
  globalThis.attestlabTips?.watch(root, host.tips);
  globalThis.attestlabMarks?.watch(root);

  const openMenu = () => root.querySelector(".al-views[open]");
  root.addEventListener("pointerdown", (event) => { if (openMenu() && !openMenu().contains(event.target)) openMenu().open = false; });

  host.keys.addEventListener("keydown", (event) => {
    const focused = scope.activeElement ?? document.activeElement;
    const typing = focused?.matches?.("input, textarea, select");
    if (!typing || focused.closest("[data-decide]") || focused.matches("[data-pick]")) queue.press(event, focused);
    if (event.key === "Escape" && openMenu()) { const menu = openMenu(); menu.open = false; return menu.querySelector("summary").focus(); }
    if (event.key === "Escape" && root.querySelector('[role="dialog"]')) send({ ev: "close", v: "" });
    if (event.key === "/" && !typing && host.search && !document.activeElement?.matches?.("input, textarea")) {
      event.preventDefault();
      host.search.focus();
    }
    const span = focused?.closest?.("[data-span]")?.dataset.span;
    if (span && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      send({ ev: event.shiftKey ? "extend" : "span", v: span });
    }
    const dialog = root.querySelector('[role="dialog"][aria-modal="true"]');
    if (event.key === "Tab" && dialog) keepFocus(event, dialog);
  });

  function keepFocus(event, dialog) {
    const stops = [...dialog.querySelectorAll("a[href], button:not([disabled]), input, select, textarea, [tabindex='0']")];
    const edge = event.shiftKey ? stops[0] : stops.at(-1);
    if (scope.activeElement === edge || !dialog.contains(scope.activeElement)) {
      event.preventDefault();
      (event.shiftKey ? stops.at(-1) : stops[0])?.focus();
    }
  }

  const isDraftKept = (area) => Boolean(area?.dataset.keep) && readDraft(area).text === area.value;
  const hasOwnText = () =>
    (location.search.includes("=in-the-window") && !isDraftKept(draftArea())) ||
    [...root.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue && !isDraftKept(area));

  return { receive: (message) => receivers[message.do]?.(message), send, recall, hasOwnText, notify: receivers.notice };
}

// The SHA-256 of a file in hex, or nothing where the browser computes none; this tab remembers the file's name by it.
async function hashFile(file) {
  if (!crypto.subtle) return "";
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  try { sessionStorage.setItem(FILE_NAME, JSON.stringify({ hex, name: file.name })); } catch { /* storage is forbidden */ }
  return hex;
}

function recallFile(hex) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(FILE_NAME));
    return kept?.hex === hex ? kept.name : undefined;
  } catch { return undefined; }
}

function makeQueue({ root, send, host }) {
  const MOVES = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  const OUTCOMES = ["fraud", "legitimate", "inconclusive"];
  let place = 0;
  let group = null;
  let mustFocus = false;

  const list = () => root.querySelector("[data-queue]");
  const rows = () => [...(list()?.querySelectorAll("[data-row]") ?? [])];
  const form = () => list()?.querySelector("[data-decide]");
  const picked = () => rows().filter((row) => row.querySelector("[data-pick]")?.checked);
  const chosen = () => (picked().length ? picked() : rows().slice(place, place + 1));

  function focus(at) {
    const all = rows();
    if (!all.length) return;
    place = Math.max(0, Math.min(at, all.length - 1));
    all[place].focus();
    describe();
  }

  function describe() {
    const line = list()?.querySelector("[data-queue-scope]");
    if (!line) return;
    const number = group ? group.count : picked().length;
    line.textContent = group ? `All ${number} of ${group.key}` : number > 1 ? `${number} cases` : "This case";
  }

  function choose(outcome) {
    const decide = form();
    if (!decide) return;
    decide.elements.outcome.value = outcome;
    decide.querySelectorAll("[data-outcome]").forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.outcome === outcome)));
    decide.elements.note.focus();
  }

  function assign(person) {
    if (!person || !form()) return;
    mustFocus = true;
    send({ act: "assign", fields: { person, ids: chosen().map((row) => row.dataset.row).join(",") } });
  }

  function toggleKeys() {
    const keys = list().querySelector("[data-queue-keys]");
    keys.hidden = !keys.hidden;
    list().querySelector("[data-queue-help]").setAttribute("aria-expanded", String(!keys.hidden));
  }

  function leaveForm() {
    group = null;
    form().reset();
    choose("");
    focus(place);
  }

  root.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-row]");
    if (row && list()?.contains(row)) { place = rows().indexOf(row); describe(); }
  });
  root.addEventListener("change", (event) => {
    if (event.target.matches("[data-pick]")) { group = null; describe(); }
    if (event.target.matches("[data-queue-assign]")) { assign(event.target.value); event.target.value = ""; }
  });
  root.addEventListener("click", (event) => {
    const outcome = event.target.closest("[data-outcome]");
    if (outcome) { choose(outcome.dataset.outcome); if (event.detail) form().requestSubmit(); }
    if (event.target.closest("[data-queue-help]")) toggleKeys();
    const all = event.target.closest("[data-queue-all]");
    if (!all) return;
    group = { key: all.dataset.queueAll, by: all.dataset.by, count: all.dataset.count };
    describe();
    form().scrollIntoView({ block: "nearest" });
    form().querySelector("[data-outcome]").focus();
  });

  return {
    refocus() { mustFocus = !root.querySelector('[role="dialog"]'); },
    painted() {
      group = null;
      if (mustFocus) { mustFocus = false; focus(place); }
    },
    prepare(decide) {
      const { outcome, ids, by, key } = decide.elements;
      ids.value = group ? "" : chosen().map((row) => row.dataset.row).join(",");
      [by.value, key.value] = group ? [group.by, group.key] : ["", ""];
      const isWhole = outcome.value && (ids.value || key.value);
      if (!isWhole) decide.querySelector("[data-queue-scope]").textContent = outcome.value ? "Choose a case first" : "Choose an outcome first: 1, 2 or 3";
      mustFocus = Boolean(isWhole);
      return isWhole;
    },
    press(event, focused) {
      if (!list() || event.ctrlKey || event.metaKey || event.altKey) return;
      const isWriting = focused?.matches?.("input:not([data-pick]), select, textarea");
      const undo = event.key === "u" && !isWriting && host.notices.querySelector(".al-undo");
      if (undo) { event.preventDefault(); return undo.click(); }
      if (root.querySelector('[role="dialog"]')) return;
      const inForm = focused?.closest?.("[data-decide]");
      if (inForm && event.key === "Escape") { event.preventDefault(); return leaveForm(); }
      if (inForm && focused.matches("input, select")) return;
      const row = focused?.closest?.("[data-row]");
      const isHere = row && list().contains(row);
      const outcome = OUTCOMES[Number(event.key) - 1];
      const step = MOVES[event.key];
      if (event.key === "?") toggleKeys();
      else if (step && isHere) focus(place + step);
      else if (event.key === "j" || (event.key === "k" && !isHere)) focus(place);
      else if (outcome && (isHere || inForm)) choose(outcome);
      else if (event.key === "Enter" && row === focused && isHere) send({ ev: "entity", v: row.dataset.entity });
      else if (event.key === "x" && isHere) row.querySelector("[data-pick]")?.click();
      else if (event.key === "a" && isHere) assign(list().dataset.me);
      else return;
      event.preventDefault();
    },
  };
}
