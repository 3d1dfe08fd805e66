"""What people wait for: a module for each wait, and the group that measures them in one run."""
