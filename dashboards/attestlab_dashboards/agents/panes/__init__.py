"""The panes of the page about agents, one a module."""
