"""Long-running work outside the event loop: threads and child processes with bounded concurrency."""
