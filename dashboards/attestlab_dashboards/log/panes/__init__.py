"""The panes of the log inspector: a file each, with its query, its drawing and what can be copied."""
