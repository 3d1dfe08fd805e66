"""The transparency log: an append-only Merkle tree that anyone can audit without trusting the service."""
