"""Readers of media containers: what a file states about itself, without decoding a single pixel."""
