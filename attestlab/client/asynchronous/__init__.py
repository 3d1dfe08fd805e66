"""The async twin of the facade: the same verbs, each in a worker thread, with its requests on the caller's loop."""
