"""Policies: one language, compiled for several engines, and simulated over past decisions before activation."""
