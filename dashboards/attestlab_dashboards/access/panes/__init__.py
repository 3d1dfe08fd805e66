"""The panes of the page about access."""
