"""Limits: rates that all processes share; concurrency and backlog of one process."""
