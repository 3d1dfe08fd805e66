// The attestation's page: compares a file with the attested hash, copies the link, prints.
// All texts are the page's own: this script copies its templates and fills in the file's name and hash.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  function enableButtons() {
    for (const button of document.querySelectorAll("[data-print]")) {
      button.addEventListener("click", () => print());
      button.hidden = false;
    }
    for (const button of document.querySelectorAll("[data-copy]")) {
      const label = button.querySelector("span");
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(button.dataset.copy);
          label.textContent = "Copied";
        } catch {
          label.textContent = "Copy it from the address bar";
        }
      });
      button.hidden = false;
    }
  }

  function fill(id, values) {
    const copy = byId(id).content.cloneNode(true);
    for (const [name, text] of Object.entries(values)) {
      for (const slot of copy.querySelectorAll("[data-slot=" + name + "]")) slot.textContent = text;
    }
    return copy;
  }

  function compareFiles(form) {
    const input = byId("file"), outcome = byId("outcome"), verdict = byId("verdict");
    const advice = byId("advice"), steps = byId("step-list"), note = byId("steps-note");
    const attested = form.dataset.hashes.split(" ");
    const first = {
      title: document.title, tone: verdict.className, verdict: [...verdict.childNodes],
      advice: advice.textContent, step: steps.children[1], note: note.textContent,
    };
    let newest = 0; // of several files chosen in a row, only the last one is answered

    function reset() {
      document.title = first.title;
      verdict.className = first.tone;
      verdict.replaceChildren(...first.verdict);
      advice.textContent = first.advice;
      steps.classList.remove("stopped");
      steps.children[1].replaceWith(first.step);
      note.textContent = first.note;
      outcome.className = "outcome";
      outcome.replaceChildren();
    }

    function showMatch(file) {
      const isValid = verdict.dataset.verdict === "VALID";
      if (isValid) advice.textContent = advice.dataset.matched;
      steps.children[1].replaceWith(fill("step-matched", {}));
      outcome.className = "outcome " + (isValid ? "good" : "note");
      outcome.replaceChildren(fill("match", { file: file.name }));
    }

    function showMismatch(file, hash) {
      document.title = "ALTERED: your file is not the attested one";
      verdict.className = "verdict bad";
      verdict.replaceChildren(fill("altered", { file: file.name }));
      steps.classList.add("stopped");
      steps.children[1].replaceWith(fill("step-altered", {}));
      note.textContent = note.dataset.altered;
      outcome.className = "outcome bad";
      outcome.replaceChildren(fill("mismatch", { file: file.name, hash }));
    }

    async function check(file, turn) {
      let reported = -1;
      const hash = await sha256OfFile(file, (percent) => {
        if (turn === newest && percent >= reported + 10) {
          reported = percent;
          outcome.textContent = "Reading the file: " + percent + " %";
        }
        return turn === newest;
      });
      if (turn !== newest || hash === null) return;
      if (attested.includes(hash)) showMatch(file);
      else showMismatch(file, hash);
    }

    function take(files) {
      newest += 1;
      const turn = newest;
      reset();
      if (files.length === 0) return;
      check(files[0], turn).catch(() => {
        if (turn === newest) outcome.textContent = "The file could not be read. Choose it again, or compare its SHA-256 by hand.";
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
    form.hidden = false;
  }

  enableButtons();
  const form = byId("check-form");
  if (form !== null) compareFiles(form);
})();
