"""Proof bundles: files that verify offline, and the verifier's own policies."""
