"""Content that consumers protect: a hash in the log, who may see it, and how often it was verified (CONTRACT 11.3)."""
