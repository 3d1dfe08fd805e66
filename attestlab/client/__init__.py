"""The facade: `Lab`, its nouns and objects, and the HTTP client behind them; the same in process and over HTTP."""
