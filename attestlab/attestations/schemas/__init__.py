"""Claim schemas: the catalogue, the claim types, and the validation of claims."""
