"""The panes of the policy simulator: a file each, with its drawing, its export and what can be copied."""
