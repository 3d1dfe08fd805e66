"""The panes of the usage page, one a module."""
