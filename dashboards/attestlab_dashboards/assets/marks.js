// Annotations at the charts of time. The server draws each as a line of a hidden list; every chart takes those of its
// time as marks over its plot, and as a list below it. A mark's words are its tip; it leads to its line.
globalThis.attestlabMarks ??= (() => {
  const NEAR = 0.02;  // of a plot's width: flags closer than that are one
  const opened = new WeakMap();  // the folds that a person has opened, by page
  let pointed = null;  // the time last pointed at, tapped or focused

  const ends = (box) => [Date.parse(box.dataset.from), Date.parse(box.dataset.to)];
  const listNotes = (root) => [...root.querySelectorAll("[data-notes] > ul > li")];

  function findNotes(root, box) {
    const [from, to] = ends(box);
    return listNotes(root).filter((note) => Date.parse(note.dataset.from) < to && Date.parse(note.dataset.to || note.dataset.from) >= from);
  }

  function make(name, left, width) {
    const part = document.createElement("span");
    part.className = name;
    part.style.left = `${100 * left}%`;
    if (width) part.style.width = `${100 * width}%`;
    return part;
  }

  function markPlot(root, plot) {
    const [from, to] = ends(plot);
    const place = (time) => Math.min(1, Math.max(0, (Date.parse(time) - from) / (to - from)));
    const flags = [];
    plot.replaceChildren();
    for (const note of findNotes(root, plot)) {
      const left = place(note.dataset.from);
      if (note.dataset.to) plot.append(make("al-band", left, Math.max(0.002, place(note.dataset.to) - left)));
      plot.append(make("al-mark", left));
      const near = flags.find((flag) => Math.abs(flag.left - left) < NEAR);
      near ? near.words.push(note.dataset.words) : flags.push({ left, words: [note.dataset.words], id: note.dataset.note });
    }
    if ("plain" in plot.dataset) return;
    for (const { left, words, id } of flags) {
      const flag = make("al-flag", left);
      flag.dataset.tip = words.join("\n");
      flag.dataset.leads = id;
      flag.tabIndex = 0;
      flag.setAttribute("role", "button");
      flag.setAttribute("aria-label", `Annotation: ${words.join("; ")}`);
      plot.append(flag);
    }
  }

  // A fold that a person opened stays open when its pane is drawn again.
  function keepOpen(root, fold, key) {
    const keys = opened.get(root) ?? opened.set(root, new Set()).get(root);
    fold.open = keys.has(key);
    fold.addEventListener("toggle", () => (fold.open ? keys.add(key) : keys.delete(key)));
  }

  function fillList(root, box) {
    const notes = findNotes(root, box);
    const pane = box.closest("[data-pane]")?.dataset.pane;
    box.replaceChildren();
    if (notes.length) {
      const fold = document.createElement("details");
      const head = document.createElement("summary");
      const list = document.createElement("ul");
      head.textContent = notes.length === 1 ? "1 annotation" : `${notes.length} annotations`;
      list.append(...notes.map((note) => note.cloneNode(true)));
      fold.append(head, list);
      keepOpen(root, fold, pane);
      for (const removal of list.querySelectorAll("[data-note] details")) keepOpen(root, removal, `${pane} ${removal.closest("[data-note]").dataset.note}`);
      box.append(fold);
    }
    const button = root.querySelector("[data-notes] > [data-annotate]")?.cloneNode(true);
    if (button) { button.hidden = false; box.append(button); }
  }

  function paint(root) {
    for (const plot of root.querySelectorAll(".al-marks[data-from]")) markPlot(root, plot);
    for (const box of root.querySelectorAll(".al-notes[data-from]")) fillList(root, box);
  }

  // The time that all charts of a page show together, as the server reads it; nothing without a chart of time.
  function findSpan(root) {
    const all = [...root.querySelectorAll(".al-marks[data-from]")].map(ends);
    if (!all.length) return "";
    return [Math.min(...all.map(([from]) => from)), Math.max(...all.map(([, to]) => to))].map((time) => new Date(time).toISOString()).join("/");
  }

  function notePlace(event) {
    const plot = event.target.closest?.(".al-lane, .al-timed")?.querySelector(".al-marks[data-from]");
    if (!plot) return;
    const [from, to] = ends(plot);
    const box = plot.getBoundingClientRect();
    const part = event.target.getBoundingClientRect();
    const x = event.clientX ?? part.left + part.width / 2;
    pointed = from + (to - from) * Math.min(1, Math.max(0, (x - box.left) / box.width));
  }

  function openDialog(root, button) {
    const dialog = root.querySelector("[data-notes] > dialog");
    const [from, to] = ends(button.closest(".al-notes"));
    const time = pointed !== null && pointed >= from && pointed <= to ? pointed : (from + to) / 2;
    dialog.querySelector("form").reset();
    dialog.querySelector("[name=at]").value = new Date(time).toISOString().slice(0, 16);
    root.dataset.cell ? showInCell(dialog, button) : dialog.showModal();
  }

  // `show()` scrolls the notebook to where the dialog was last; cell.js then moves it to what is seen of the view.
  function showInCell(dialog, button) {
    dialog.open = true;
    dialog.querySelector("input").focus({ preventScroll: true });
    dialog.addEventListener("close", () => button.focus({ preventScroll: true }), { once: true });
  }

  function lead(root, flag) {
    const line = flag.closest("[data-pane]")?.querySelector(`.al-notes [data-note="${CSS.escape(flag.dataset.leads)}"]`);
    if (!line) return;
    line.closest("details").open = true;
    line.scrollIntoView({ block: "nearest" });
  }

  function press(root, event) {
    const flag = event.target.closest(".al-flag");
    if (flag) lead(root, flag);
    const button = event.target.closest(".al-notes [data-annotate]");
    if (button) openDialog(root, button);
    event.target.closest("dialog [data-close]")?.closest("dialog").close();
  }

  function watch(root) {
    for (const type of ["pointermove", "pointerdown", "focusin"]) root.addEventListener(type, notePlace, { passive: true });
    root.addEventListener("click", (event) => press(root, event));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") event.target.closest("dialog")?.close();
      const flag = event.target.closest(".al-flag");
      if (flag && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); lead(root, flag); }
    });
  }

  return { findSpan, paint, watch };
})();
