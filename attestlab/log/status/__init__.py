"""Status lists: built from the log and published."""
