"""Group commit: writes that are queued at the same time share one durable transaction."""
