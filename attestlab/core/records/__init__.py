"""Records of every change: outbox events, audit entries, row digests and hash chains."""
