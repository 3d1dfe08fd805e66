"""Attestation and verification infrastructure that opens in a notebook."""

__version__ = "0.1.0"
