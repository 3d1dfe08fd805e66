"""E-mails: stored in the transaction that they report on, and delivered after its commit."""
