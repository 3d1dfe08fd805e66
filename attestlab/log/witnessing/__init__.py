"""Cosignatures by witnesses (C2SP tlog-witness): requesting, checking and storing them."""
