// A file that is chosen, or dropped anywhere on the page, and its SHA-256, which this browser computes.
// Of several files in a row only the last one is reported: `begin` comes with each choice, also with an empty one.
"use strict";
globalThis.onFileChosen = (input, { begin, progress, hashed, failed }) => {
  let newest = 0;

  async function hash(file, turn) {
    const found = await sha256OfFile(file, (percent) => {
      if (turn === newest) progress(file, percent);
      return turn === newest;
    });
    if (turn === newest && found !== null) await hashed(file, found);
  }

  function take(files) {
    newest += 1;
    const turn = newest;
    begin();
    if (files.length === 0) return;
    hash(files[0], turn).catch(() => {
      if (turn === newest) failed();
    });
  }

  input.addEventListener("change", () => take(input.files));
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dragging");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dragging");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    take(event.dataTransfer.files);
  });
};
