"""The transparency-log inspector: did the log change, and is this attestation in it?"""
