// A tip beside what is pointed at, focused or tapped: the words of [data-tip] or [title], or the whole of a text that
// is cut. A cut text in no button or link becomes a stop of the Tab key. A tip is text alone, and Escape hides it.
globalThis.attestlabTips ??= (() => {
  const GAP_PX = 8;
  const STOPS = "a[href], button, summary, input, select, textarea";
  const SPEAKS = "[data-tip], [title], [data-cut]";
  const tip = Object.assign(document.createElement("div"), { className: "al-bubble", hidden: true });
  tip.setAttribute("role", "tooltip");
  let shown = null;
  let title = null;  // of the part shown, which would bring the browser's own tip too
  let frame = 0;
  const layers = new WeakMap();  // where the tips of a root are shown: by default in the body of the document

  function isCut(part) {
    const isOver = part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1;
    if (!isOver || !part.clientWidth || !part.textContent.trim() || part.matches("input, textarea, select, .al-hidden")) return false;
    const style = getComputedStyle(part);
    return style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
  }

  function mark(root) {
    for (const part of root.querySelectorAll("*")) {
      const was = "cut" in part.dataset;
      const is = isCut(part);
      if (is === was) continue;
      if (is) {
        part.dataset.cut = "";
        if (!part.closest(STOPS) && !part.querySelector(STOPS)) { part.tabIndex = 0; part.dataset.cut = "stop"; }
      } else {
        if (part.dataset.cut === "stop") part.removeAttribute("tabindex");
        delete part.dataset.cut;
      }
    }
  }

  // A chart whose parts have tips is one stop of the Tab key; the arrows lead from part to part.
  function openCharts(root) {
    for (const chart of root.querySelectorAll("svg:not([tabindex], [data-roving])")) {
      const parts = [...chart.querySelectorAll("[data-tip]")];
      if (!parts.length || chart.querySelector("[tabindex], a")) continue;
      chart.dataset.roving = "";
      chart.setAttribute("role", "group");
      stop(parts[0]);
    }
  }

  function stop(part) {
    part.setAttribute("tabindex", "0");
    part.setAttribute("role", "img");
    part.setAttribute("aria-label", part.dataset.tip);
  }

  function rove(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const [part] = event.composedPath();
    const chart = step && part instanceof SVGElement && part.matches("[data-tip]") ? part.closest("svg[data-roving]") : null;
    if (!chart) return;
    const parts = [...chart.querySelectorAll("[data-tip]")];
    const next = parts[parts.indexOf(part) + step];
    if (!next) return;
    event.preventDefault();
    part.setAttribute("tabindex", "-1");
    stop(next);
    next.focus();
  }

  const wordsOf = (part) => part.dataset.tip ?? (part.title || ("cut" in part.dataset ? part.innerText.trim() : ""));

  // What speaks at an event: the parts around it, and those in what has the focus.
  function find(event) {
    const path = event.composedPath().filter((part) => part instanceof Element);
    const isStop = event.type === "focusin" && path[0]?.matches(`${STOPS}, [data-row]`);
    const inside = isStop ? [...path[0].querySelectorAll(SPEAKS)] : [];
    const said = path.find((part) => part.matches("[data-tip], [title]"));
    return [...new Set([...(said ? [said] : []), ...path.filter((part) => part.matches("[data-cut]")), ...inside])];
  }

  function show(parts, at) {
    const [part] = parts;
    if (part !== shown) {
      hide();
      const all = [...new Set(parts.map(wordsOf))].filter(Boolean);
      const words = all.filter((one) => !all.some((other) => other !== one && other.includes(one)));
      if (!words.length) return;
      [shown, title] = [part, part.title || null];
      part.removeAttribute("title");
      const layer = layers.get(part.getRootNode()) ?? document.body;
      if (tip.parentNode !== layer) layer.append(tip);
      tip.textContent = words.join("\n");
      tip.hidden = false;
      raise(layer !== document.body);
    }
    place(part.getBoundingClientRect(), at);
  }

  // Inside of a cell, parts around it would cut the tip off; the top layer is above them all.
  function raise(isInCell) {
    if (isInCell) { tip.popover = "manual"; tip.showPopover?.(); } else tip.removeAttribute("popover");
  }

  function place(box, at) {
    const { offsetWidth: wide, offsetHeight: high } = tip;
    const middle = at?.clientX ?? box.left + Math.min(box.width, 400) / 2;
    const [top, bottom] = at ? [at.clientY - GAP_PX, at.clientY + 2 * GAP_PX] : [box.top, box.bottom];
    const isBelow = bottom + GAP_PX + high <= innerHeight || top < high + GAP_PX;
    tip.style.left = `${Math.max(GAP_PX, Math.min(middle - wide / 2, document.documentElement.clientWidth - wide - GAP_PX))}px`;
    tip.style.top = `${Math.max(GAP_PX, isBelow ? Math.min(bottom + GAP_PX, innerHeight - high - GAP_PX) : top - high - GAP_PX)}px`;
  }

  function hide() {
    if (title !== null && shown) shown.title = title;
    if (tip.matches("[popover]") && tip.isConnected) tip.hidePopover?.();
    tip.hidden = true;
    shown = title = null;
  }

  // The focus scrolls to what it reaches, and the tip goes along while that is seen; any other scrolling hides it.
  function follow() {
    const box = shown?.matches(":focus, :focus *, :has(:focus)") ? shown.getBoundingClientRect() : null;
    box && box.bottom > 0 && box.top < innerHeight ? place(box, null) : hide();
  }

  function point(event) {
    if (event.pointerType === "touch" || event.target === tip) return;
    const parts = find(event);
    parts.length ? show(parts, parts[0].closest("svg") ? event : null) : hide();
  }

  // A tap on a button, a link or a fold acts, and what it opens has the whole words.
  function tap(event) {
    if (event.pointerType !== "touch" || event.target === tip) return;
    const parts = find(event);
    const isActing = parts[0]?.closest("button:not([aria-disabled]), a, summary") && !parts[0].closest("svg");
    parts.length && !isActing ? show(parts, null) : hide();
  }

  function watch(root, layer) {
    if (layer) layers.set(root.getRootNode(), layer);
    const soon = () => { frame ||= requestAnimationFrame(() => { frame = 0; mark(root); openCharts(root); if (shown && !shown.isConnected) hide(); }); };
    new MutationObserver(soon).observe(root, { childList: true, subtree: true });
    addEventListener("resize", soon);
    document.fonts?.ready.then(soon);
    root.addEventListener("toggle", soon, true);
    root.addEventListener("focusin", (event) => { const parts = find(event); parts.length ? show(parts, null) : hide(); });
    root.addEventListener("focusout", hide);
    soon();
  }

  document.addEventListener("pointerover", point);
  document.addEventListener("click", tap);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); else rove(event); });
  addEventListener("scroll", follow, { passive: true, capture: true });
  return { watch };
})();
