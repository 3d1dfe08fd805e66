"""Metering of verifications: counted at once, written in a group commit soon after."""
