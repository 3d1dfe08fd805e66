"""Records that every change leaves: outbox events, audit lines, row digests and hash chains."""
