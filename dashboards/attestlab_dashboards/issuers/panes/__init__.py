"""The panes of issuer governance: a file each, with its query, its drawing and what can be copied."""
