"""Faults of the machine: killed processes, power cuts, refused system calls, and clients that repeat their mints."""
