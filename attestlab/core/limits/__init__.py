"""Limits that several processes share, and limits of one process: rates, concurrency, backlog."""
