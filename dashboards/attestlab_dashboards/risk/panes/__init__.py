"""The panes of the risk explorer: a file each, with its query, its drawing and what can be copied."""
