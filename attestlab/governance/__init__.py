"""Issuer governance: requests to change an issuer's status and ratings, their approvals, and their impact."""
