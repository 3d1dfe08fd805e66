"""Long work outside of the event loop: threads and child processes with bounded concurrency."""
