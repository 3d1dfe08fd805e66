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
    const outcome = byId("outcome"), verdict = byId("verdict");
    const advice = byId("advice"), steps = byId("step-list"), note = byId("steps-note");
    const attested = form.dataset.hashes.split(" ");
    const first = {
      title: document.title, tone: verdict.className, verdict: [...verdict.childNodes],
      advice: advice.textContent, step: steps.children[1], note: note.textContent,
    };

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

    let reported = -1;
    onFileChosen(byId("file"), {
      begin() {
        reported = -1;
        reset();
      },
      progress(file, percent) {
        if (percent < reported + 10) return;
        reported = percent;
        outcome.textContent = "Reading the file: " + percent + " %";
      },
      hashed(file, hash) {
        if (attested.includes(hash)) showMatch(file);
        else showMismatch(file, hash);
      },
      failed() {
        outcome.textContent = "The file could not be read. Choose it again, or compare its SHA-256 by hand.";
      },
    });
    form.hidden = false;
  }

  enableButtons();
  const form = byId("check-form");
  if (form !== null) compareFiles(form);
})();
