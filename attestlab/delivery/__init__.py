"""Delivery of attestations: recipients get an e-mail, and the attestation once they have an account."""
