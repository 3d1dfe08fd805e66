"""The HTTP server of an installation: the routes of all capabilities, and the queue of their writes."""
