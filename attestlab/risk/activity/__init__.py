"""Activity: how many signals of which scores each source sends, hour by hour; drift and silence are read from it."""
