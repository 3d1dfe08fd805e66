"""The inbox: what issuers delivered to a recipient, one item for an attestation and its recipient."""
