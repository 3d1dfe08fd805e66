"""Access to the records: connections, read and write transactions, and exclusive use of an installation."""
