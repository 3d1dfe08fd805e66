// Waits for views in cells of a notebook of JupyterLab, all by the clock of the window: from a command to the frame of
// the browser that shows what it is waited for.
globalThis.attestlabWaits = (() => {
  const TIMEOUT_MS = 120_000;
  const PATIENCE_MS = 3_000;  // with a view that does not begin where it is seen
  const SCROLL_MS = 1_000;
  const SIGHT_MARGIN_PX = 200;  // that of cell.js
  const PANE = ".al-card[data-pane]:not(:has(.sk), :has(.state))";
  const MILESTONES = {
    first_markup: (view) => view.shadowRoot.querySelector("#al-main > *"),
    first_figure: (view) => view.shadowRoot.querySelector("[data-pane=kpis] .kpi .v"),
    first_pane: (view) => view.shadowRoot.querySelector(PANE),
    all_panes: (view) => view.dataset.ready,
  };

  const notebook = () => jupyterapp.shell.currentWidget.content;
  const cellOf = (place) => notebook().widgets[place].node;
  const viewsOf = (cell) => [...cell.querySelectorAll("[data-al-view] > div")].filter((each) => each.shadowRoot);
  const afterFrame = (then) => requestAnimationFrame(() => setTimeout(() => then(performance.now())));

  function liveViewOf(place) {
    const view = viewsOf(cellOf(place)).find((each) => each.dataset.ready);
    if (!view) throw new Error(`Cell ${place} shows no live view: ${cellOf(place).innerText.slice(0, 500)}`);
    return view;
  }

  // Waits until a view of a cell has passed all milestones; returns when each was seen, in ms after `begin`.
  function watchCell(place, begin) {
    return new Promise((resolve, reject) => {
      const passed = {};
      const roots = new Set();
      const observer = new MutationObserver(look);
      const timer = setTimeout(() => reject(new Error(`Cell ${place} shows after ${TIMEOUT_MS} ms: ${cellOf(place).innerText.slice(0, 2000)}`)), TIMEOUT_MS);
      const interval = setInterval(look, 1_000);  // a cell that JupyterLab puts back changes nothing in itself
      observe(cellOf(place));

      function observe(part) {
        roots.add(part);
        observer.observe(part, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-ready"] });
        look();
      }
      function look() {
        if (!("first_markup" in passed) && cellOf(place).querySelector("[data-al-view] .al-fragment .q")) pass("first_markup");
        for (const view of viewsOf(cellOf(place))) {
          if (!roots.has(view.shadowRoot)) return observe(view.shadowRoot);
          for (const [name, find] of Object.entries(MILESTONES)) if (!(name in passed) && find(view)) pass(name);
        }
      }
      function pass(name) {
        passed[name] = NaN;
        afterFrame((now) => {
          passed[name] = now - begin;
          if (Object.keys(passed).length < Object.keys(MILESTONES).length || Object.values(passed).some(Number.isNaN)) return;
          observer.disconnect();
          clearTimeout(timer);
          clearInterval(interval);
          resolve({ ...passed, epoch_ms: performance.timeOrigin + begin });
        });
      }
    });
  }

  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  // JupyterLab scrolls soon, but its promise may stay open where the heights of cells change.
  const scrollTo = (place) => Promise.race([notebook().scrollToItem(place, "start"), pause(SCROLL_MS)]);

  // Runs a cell at the top of the window, so that what it shows comes into sight.
  async function run(place) {
    notebook().activeCellIndex = place;
    await scrollTo(place);
    await new Promise(afterFrame);
    const begin = performance.now();
    const watched = watchCell(place, begin);
    const ended = jupyterapp.commands.execute("notebook:run-cell");
    const passed = await watched;
    await ended;  // a view that answers sooner moves into the still that its cell stores at its end
    while (!viewsOf(cellOf(place)).some((each) => each.dataset.ready)) await new Promise(afterFrame);
    return passed;
  }

  // Scrolls to a cell whose view was never in sight. One that does not begin there is scrolled on to the end of its
  // still, and `scrolled_on` is 1.
  async function visit(place) {
    const begin = performance.now();
    await scrollTo(place);
    const still = (await new Promise(afterFrame)) - begin;
    const found = await Promise.race([watchCell(place, begin), pause(PATIENCE_MS)]);
    if (found) return { ...found, still, scrolled_on: 0 };
    const later = watchCell(place, performance.now());
    const timer = setInterval(() => viewsOf(cellOf(place))[0]?.scrollIntoView({ block: "center" }), SCROLL_MS / 10);
    const last = await later.finally(() => clearInterval(timer));
    return { ...last, still, scrolled_on: 1 };
  }

  const listValues = (place, filter) => {
    const found = liveViewOf(place).shadowRoot.querySelectorAll(`:is([data-pane=chips], [data-pane=what]) button[data-ev="${filter}"]`);
    return [...found].map((button) => button.dataset.v);
  };

  // Clicks a filter, and waits until all panes show what it chose.
  function click(place, filter, value) {
    const view = liveViewOf(place);
    const button = view.shadowRoot.querySelector(`button[data-key="${CSS.escape(`${filter}:${value}`)}"]`);
    return new Promise((resolve, reject) => {
      const was = view.dataset.ready;
      const timer = setTimeout(() => reject(new Error(`${filter} ${value} is not drawn after ${TIMEOUT_MS} ms.`)), TIMEOUT_MS);
      const begin = performance.now();
      const observer = new MutationObserver(() => {
        if (!view.dataset.ready || view.dataset.ready === was) return;
        observer.disconnect();
        clearTimeout(timer);
        afterFrame((now) => resolve({ all_panes: now - begin, epoch_ms: performance.timeOrigin + begin }));
      });
      observer.observe(view, { attributeFilter: ["data-ready"] });
      button.click();
    });
  }

  // Runs a cell that shows words; returns them.
  async function runPlain(place) {
    notebook().activeCellIndex = place;
    await jupyterapp.commands.execute("notebook:run-cell");
    return notebook().widgets[place].model.toJSON().outputs.map((output) => output.text ?? output.data?.["text/plain"] ?? `${output.ename}: ${output.evalue}`).join("");
  }

  // Runs a cell and all below it; returns the cells whose views were in sight at some time.
  async function runBelow(place) {
    const seen = new Set();
    const timer = setInterval(() => listSeen().filter((each) => viewsOf(cellOf(each)).length).forEach((each) => seen.add(each)), 20);
    notebook().activeCellIndex = place;
    await jupyterapp.commands.execute("notebook:run-all-below");
    clearInterval(timer);
    return [...seen];
  }

  // The cells that are in the window, or so near that a view loads.
  function listSeen() {
    return notebook().widgets.flatMap(({ node }, place) => {
      const { top, bottom } = node.getBoundingClientRect();
      return node.isConnected && bottom > -SIGHT_MARGIN_PX && top < innerHeight + SIGHT_MARGIN_PX ? [place] : [];
    });
  }

  return { run, visit, click, listValues, runBelow, runPlain };
})();
