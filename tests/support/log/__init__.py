"""Log instances, the entries in them, and the servers that publish them."""
