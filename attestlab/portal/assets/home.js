// Looks a file up by its SHA-256, which this browser computes; only the hash becomes part of an address.
// A picture that holds an Open Badge is sent instead, because its issuer's signature is verified by the service.
"use strict";
(() => {
  const form = document.querySelector("form.find");
  const badgeForm = document.getElementById("badge-form");
  const state = document.getElementById("file-state");
  const MAX_BADGE_BYTES = 768000; // the service reads no larger picture
  const MARKS = ["iTXtopenbadgecredential\0", "purl.imsglobal.org/ob/v3p0"];

  // The name of the file stays in this tab: the page of the answer shows it where the hash is the same.
  const NAME = "attestlab:file";
  function rememberName(hash, name) {
    try { sessionStorage.setItem(NAME, JSON.stringify({ hash, name })); } catch { /* storage is forbidden */ }
  }

  function showName() {
    const slot = document.querySelector("[data-file]");
    try {
      const { hash, name } = JSON.parse(sessionStorage.getItem(NAME)) ?? {};
      if (!slot || !name || hash !== slot.dataset.file) return;
      slot.textContent = name;
      document.title = name + " is not attested";
    } catch { /* storage is forbidden */ }
  }

  async function readBadge(file) {
    if (file.size > MAX_BADGE_BYTES) return null;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    if (!MARKS.some((mark) => text.includes(mark))) return null;
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  onFileChosen(document.getElementById("file"), {
    begin() {
      state.textContent = "";
    },
    progress(file, percent) {
      state.textContent = "Reading " + file.name + ": " + percent + " %";
    },
    async hashed(file, hash) {
      const badge = await readBadge(file);
      if (badge !== null) {
        state.textContent = file.name + " holds an Open Badge; verifying it.";
        badgeForm.elements.content_b64url.value = badge;
        badgeForm.submit();
        return;
      }
      state.textContent = file.name + " is read; looking it up.";
      rememberName(hash, file.name);
      location.assign(form.action + "?q=" + hash + "&file=1");
    },
    failed() {
      state.textContent = "The file could not be read. Choose it again, or paste its SHA-256.";
    },
  });
  document.getElementById("file-hint").hidden = false;
  showName();
})();
