"""Sends the worst body that the limits admit to every route, and measures the effect on other requests."""
