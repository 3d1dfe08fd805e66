// What a person cannot read of the outputs of a cell, one line for each: words and pictures beyond a box that does not
// scroll, words behind an ellipsis that no tip shows, and pictures that the page behind them shines through.
const outputs = cell.querySelector(".jp-Cell-outputArea");
if (!outputs) return ["the outputs are not in the document"];
const parentOf = (part) => part.parentElement ?? (part.getRootNode() instanceof ShadowRoot ? part.getRootNode().host : null);
const isSeen = (part) => part.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !part.closest(".al-hidden");

function* walk(root) {
  for (const child of root.childNodes) {
    yield child;
    yield* walk(child.shadowRoot ?? child);
  }
}

function describe(part, fault) {
  const words = part.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  return `${part.tagName.toLowerCase()}.${part.classList?.value.replaceAll(" ", ".")} ${fault}: ${words}`;
}

function isWholeInATip(part, words) {
  const bare = (text) => (text ?? "").replace(/\s+/g, "");
  for (let up = part; up && up !== outputs; up = parentOf(up)) {
    if (up.hasAttribute("data-cut")) return true;
    if (bare(up.getAttribute("title") ?? up.dataset?.tip).includes(bare(words))) return true;
  }
  return false;
}

function findClippingBox(part, box) {
  for (let up = part; up && up !== cell; up = parentOf(up)) {
    const overflow = getComputedStyle(up).overflowX;
    if (/auto|scroll/.test(overflow)) return null;
    const edge = up.getBoundingClientRect();
    if (/hidden|clip/.test(overflow) && (box.right > edge.right + 1 || box.left < edge.left - 1)) return up;
  }
  const edge = cell.getBoundingClientRect();
  return box.right > edge.right + 1 || box.left < edge.left - 1 ? cell : null;
}

function* findCutWords() {
  for (const node of walk(outputs)) {
    if (node.nodeType !== Node.TEXT_NODE || !node.data.trim() || !isSeen(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    const cut = boxes.some((box) => findClippingBox(node.parentElement, box));
    if (cut && !isWholeInATip(node.parentElement, node.data)) yield describe(node.parentElement, "is cut off");
  }
}

function* findClampedWords() {
  for (const part of walk(outputs)) {
    if (!(part instanceof HTMLElement) || !isSeen(part)) continue;
    const style = getComputedStyle(part);
    const isOver = part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1;
    const isClamped = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
    if (isOver && isClamped && part.clientWidth && !isWholeInATip(part, part.textContent)) yield describe(part, "ends with an ellipsis");
  }
}

function* findBadPictures() {
  for (const picture of outputs.querySelectorAll("img")) {
    const box = picture.getBoundingClientRect();
    if (!picture.complete || !picture.naturalWidth || !box.width) { yield `a picture is not shown: ${picture.src.slice(0, 60)}`; continue; }
    if (findClippingBox(picture, box)) yield "a picture is cut off";
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    context.drawImage(picture, 0, 0, 1, 1);
    if (context.getImageData(0, 0, 1, 1).data[3] !== 255) yield "a picture is transparent, so its ink is lost on a dark page";
  }
}

return [...new Set([...findCutWords(), ...findClampedWords(), ...findBadPictures()])];
