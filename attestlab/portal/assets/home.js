// Looks a file up by its SHA-256, which this browser computes; only the hash becomes part of an address.
"use strict";
(() => {
  const form = document.querySelector("form.find");
  const input = document.getElementById("file");
  const state = document.getElementById("file-state");
  let newest = 0; // of several files chosen in a row, the last one counts

  async function lookUp(file, turn) {
    const hash = await sha256OfFile(file, (percent) => {
      if (turn === newest) state.textContent = "Reading " + file.name + ": " + percent + " %";
      return turn === newest;
    });
    if (turn !== newest || hash === null) return;
    state.textContent = file.name + " is read; looking it up.";
    location.assign(form.action + "?q=" + hash + "&file=1");
  }

  function take(files) {
    if (files.length === 0) return;
    newest += 1;
    const turn = newest;
    lookUp(files[0], turn).catch(() => {
      if (turn === newest) state.textContent = "The file could not be read. Choose it again, or paste its SHA-256.";
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
  document.getElementById("file-hint").hidden = false;
})();
