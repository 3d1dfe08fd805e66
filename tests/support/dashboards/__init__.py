"""The dashboards in a real browser: a served demo, windows of its people, clicks that are counted."""
