"""Group commit: the writes that wait together share one durable transaction."""
