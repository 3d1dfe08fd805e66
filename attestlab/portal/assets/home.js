// Looks a file up by its SHA-256, which this browser computes; only the hash becomes part of an address.
"use strict";
(() => {
  const form = document.querySelector("form.find");
  const state = document.getElementById("file-state");

  onFileChosen(document.getElementById("file"), {
    begin() {
      state.textContent = "";
    },
    progress(file, percent) {
      state.textContent = "Reading " + file.name + ": " + percent + " %";
    },
    hashed(file, hash) {
      state.textContent = file.name + " is read; looking it up.";
      location.assign(form.action + "?q=" + hash + "&file=1");
    },
    failed() {
      state.textContent = "The file could not be read. Choose it again, or paste its SHA-256.";
    },
  });
  document.getElementById("file-hint").hidden = false;
})();
