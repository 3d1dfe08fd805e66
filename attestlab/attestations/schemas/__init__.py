"""Claim schemas: the catalogue, the types of claims, and the validation of claims."""
