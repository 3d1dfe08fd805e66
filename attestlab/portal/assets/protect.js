// Writes the SHA-256 of a chosen file into the form, with its name and size; the file itself stays here.
"use strict";
(() => {
  const form = document.getElementById("protect-form").elements;
  const state = document.getElementById("file-state");
  const KINDS = ["image", "video", "audio"];

  function kindOf(file) {
    const kind = file.type.split("/")[0];
    return KINDS.includes(kind) ? kind : kind === "text" || file.type === "application/pdf" ? "document" : "other";
  }

  onFileChosen(document.getElementById("file"), {
    begin() {
      for (const name of ["content_hash", "file_name", "file_size"]) form[name].value = "";
    },
    progress(file, percent) {
      state.textContent = "Reading " + file.name + ": " + percent + " %";
    },
    hashed(file, hash) {
      form.content_hash.value = hash;
      form.file_name.value = file.name;
      form.file_size.value = file.size;
      form.content_type.value = kindOf(file);
      if (form.title.value === "") form.title.value = file.name.slice(0, 200);
      state.textContent = file.name + " is read. Only its SHA-256, name and size are sent.";
    },
    failed() {
      state.textContent = "The file could not be read. Choose it again, or paste its SHA-256.";
    },
  });
  document.getElementById("file-drop").hidden = false;
})();
