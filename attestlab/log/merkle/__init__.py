"""The Merkle tree of the log (RFC 6962) and its tiles (C2SP tlog-tiles)."""
