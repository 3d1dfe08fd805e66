// Colours of TOML, and of a condition in words: each piece of the text becomes a span of its kind. Nothing is executed,
// the pieces are text alone, and each character is read once, so that no text can stall the page.
globalThis.attestlabSyntax ??= (() => {
  const PIECES = [
    ["comment", /#[^\n]*/y],
    ["string", /"""(?:[^"\\]|\\[\s\S]|"(?!""))*(?:""")?|'''(?:[^']|'(?!''))*(?:''')?|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?/y],
    ["word", /[\p{L}\p{N}_.:+-]+/uy],
    ["space", /[ \t]+/y],
    ["mark", /[\s\S]/uy],
  ];
  const NUMBER = /^[+-]?(?:\d[\d_.:TZeE+-]*|0[xob][\da-fA-F_]+|inf|nan)$/;
  const WORDS = new Set(["true", "false", "and", "or", "not", "in", "is", "missing", "any", "all", "of"]);

  function readPiece(text, at) {
    for (const [kind, pattern] of PIECES) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found) return { kind, text: found[0] };
    }
  }

  // Lists the pieces: a table's header is one from `[` at the beginning of a line, outside of any list.
  function readPieces(text) {
    const pieces = [];
    let depth = 0;
    let begins = true;
    for (let at = 0; at < text.length; at += pieces.at(-1).text.length) {
      const piece = readPiece(text, at);
      pieces.push(piece);
      if (piece.text === "[" && begins && depth === 0) pieces[pieces.length - 1] = readHeader(text, at);
      else if (piece.text === "[") depth += 1;
      else if (piece.text === "]") depth = Math.max(0, depth - 1);
      if (piece.text === "\n") begins = true;
      else if (piece.kind !== "space") begins = false;
    }
    return pieces;
  }

  function readHeader(text, at) {
    const end = text.slice(at).search(/[\n#]/);
    return { kind: "table", text: end < 0 ? text.slice(at) : text.slice(at, at + end) };
  }

  function name(pieces, place) {
    const { kind, text } = pieces[place];
    const next = pieces[pieces[place + 1]?.kind === "space" ? place + 2 : place + 1]?.text;
    if ((kind === "word" || kind === "string") && next === "=") return "key";
    if (kind !== "word") return kind;
    return NUMBER.test(text) ? "number" : WORDS.has(text) ? "word" : "name";
  }

  function paint(kind, text) {
    if (kind === "space" || kind === "mark" || kind === "name") return text;
    return Object.assign(document.createElement("span"), { className: `sx-${kind}`, textContent: text });
  }

  // Returns an element for each line of the text.
  function paintLines(text) {
    const lines = [document.createElement("div")];
    const pieces = readPieces(text);
    pieces.forEach((piece, place) => {
      const kind = name(pieces, place);
      piece.text.split("\n").forEach((part, number) => {
        if (number) lines.push(document.createElement("div"));
        if (part) lines.at(-1).append(paint(kind, part));
      });
    });
    return lines;
  }

  // Colours the parts of a box that name it with [data-syntax]; each is one line.
  function paintParts(box) {
    for (const part of box.querySelectorAll("[data-syntax]")) part.replaceChildren(...paintLines(part.textContent)[0].childNodes);
  }

  return { paintLines, paintParts };
})();
