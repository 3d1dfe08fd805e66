"""Sends the worst body that the limits admit to every route, and watches what that does to other requests."""
