"""The HTTP server of an installation: the routes of every capability, and the queue of their writes."""
