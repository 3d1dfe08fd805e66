"""The inbox of a consumer over HTTP: its items with the attestations that they are of, and deliveries by issuers."""
