"""The `attestlab` command: one module a group of commands."""
