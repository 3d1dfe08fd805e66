// A page that is a window of the browser: its state is the address, and the shell around it has a search and badges.
const ANSWER_PAUSE_MS = 1_000;

export function render({ model, el }) {
  const root = makeRoot(el);
  const send = (message) => model.send_msg(message);
  const host = {
    name: `attestlab:${location.pathname}`,
    keys: document,
    get notices() { return document.getElementById("al-notices"); },
    get search() { return document.querySelector("#al-search"); },
    noteDrawn: () => { document.body.dataset.drawn = "1"; },
    noteReady: (number) => { document.body.dataset.ready = number; },
    showAddress,
    restart: () => location.reload(),
    openAddress: (link) => { history.pushState(null, "", link.href); page.send({ address: link.search }); },
    receivers: { badge: showBadge, found: (message) => finder.show(message), ended: showSignIn },
  };
  const page = converse({ root, send, host });
  const finder = makeFinder(page.send, (html) => page.notify({ tone: "bad", html }));
  model.on("msg:custom", page.receive);

  globalThis.Bokeh?.documents[0]?.on_event("connection_lost", () => {
    const isKept = page.hasOwnText();
    const next = isKept ? "Copy what you wrote, then load it again." : "It comes back by itself.";
    page.notify({ tone: "bad", html: `<span>The connection is lost, so this page may be out of date. ${next}</span>` });
    if (!isKept) loadOnceAnswered();
  });

  window.addEventListener("popstate", () => page.send({ address: location.search }));
  page.send({ hello: location.search, memory: page.recall() });
}

function showAddress(message) {
  document.title = message.title;
  const next = location.pathname + message.query;
  if (next === location.pathname + location.search) return;
  if (message.replace) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
}

function showBadge(message) {
  const link = document.querySelector(`.al-nav a[href="${CSS.escape(message.path)}"]`);
  link?.querySelector(".al-badge")?.remove();
  if (!link || !message.number) return;
  const badge = Object.assign(document.createElement("b"), { className: "al-badge", textContent: String(Math.min(message.number, 99)) });
  badge.append(Object.assign(document.createElement("span"), { className: "al-hidden", textContent: message.number === 1 ? " waits for you" : " wait for you" }));
  link.append(badge);
}

function showSignIn() { location.replace(`sign-in?next=${encodeURIComponent(location.pathname + location.search)}`); }

// A lost connection: the page loads again as soon as the server answers, because its state is in its address. Text
// that is in this window alone stays: the person copies it first.
async function loadOnceAnswered() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, ANSWER_PAUSE_MS * (1 + Math.random())));
    const answer = await fetch("sign-in", { redirect: "manual", cache: "no-store" }).catch(() => null);
    if (answer?.ok || answer?.type === "opaqueredirect") return location.reload();
  }
}

// The search in the bar: suggestions while typing, arrows move among them, Enter opens one, Escape closes them.
function makeFinder(send, refuse) {
  const input = document.getElementById("al-search");
  const list = document.getElementById("al-found");
  if (!input || !list) return { show() {} };
  let timer = 0;
  let active = -1;

  const options = () => [...list.querySelectorAll('[role="option"]')];

  function toggle(isOpen) {
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) mark(-1);
  }

  function mark(at) {
    active = at;
    options().forEach((option, place) => {
      option.setAttribute("aria-selected", String(place === at));
      option.id = `al-found-${place}`;
      if (place === at) option.scrollIntoView({ block: "nearest" });
    });
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `al-found-${at}`);
  }

  function ask() {
    clearTimeout(timer);
    const text = input.value;
    if (!text.trim()) return toggle(false);
    timer = setTimeout(() => send({ find: text }), LIVE_PAUSE_MS);
  }

  function press(event) {
    const all = options();
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      return toggle(false);
    }
    if (list.hidden || !all.length) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      mark(active < 0 && step < 0 ? all.length - 1 : (active + step + all.length) % all.length);
    }
    if (event.key === "Enter" && active >= 0) {
      event.preventDefault();
      all[active].click();
    }
  }

  function show(message) {
    if (message.text !== input.value) return;
    list.innerHTML = message.html;
    toggle(message.html !== "" && document.activeElement === input);
  }

  async function lookUp(file) {
    const hex = file && await hashFile(file);
    if (hex) location.assign(`log?q=${hex}&file=${hex}`);
    else if (file) refuse(UNHASHED);
  }

  // A file that is dropped on the bar is looked up; elsewhere in the bar the browser would open it and leave the page.
  input.form.addEventListener("dragover", (event) => event.preventDefault());
  input.form.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    lookUp(event.dataTransfer.files[0]);
  });
  input.addEventListener("input", ask);
  input.addEventListener("focus", ask);
  input.addEventListener("keydown", press);
  document.addEventListener("pointerdown", (event) => { if (!input.form.contains(event.target)) toggle(false); });
  return { show };
}
