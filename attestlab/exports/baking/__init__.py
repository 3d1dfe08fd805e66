"""Open Badges baked into PNG and SVG (Open Badges 3.0, "Baked Badges"); needs nothing but the standard library."""
