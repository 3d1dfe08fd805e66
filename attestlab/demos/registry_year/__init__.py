"""What people did in the year of the demo: mints, keys, governance, and a draft of a policy."""
