// The viewer lays its keys out in columns, for which a phone has no room. Its styles are its own, so these go to it.
"use strict";
customElements.whenDefined("openapi-explorer").then(() => {
  const rows = new CSSStyleSheet();
  rows.replaceSync(`
    #auth form { display: flex; }
    #auth .api-key-input { flex: 1; min-width: 0; max-width: 320px; }
    @media (max-width: 767px) {
      #auth .m-table, #auth .m-table tbody, #auth .m-table tr, #auth .m-table td { display: block; }
      #auth .m-table td { padding: 12px; }
      #auth .m-table td + td { border-top: 0; padding-top: 0; }
    }
  `);
  const { shadowRoot } = document.querySelector("openapi-explorer");
  shadowRoot.adoptedStyleSheets = [...shadowRoot.adoptedStyleSheets, rows];
});
