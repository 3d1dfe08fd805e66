"""The log follower: verifies every new entry of a log and keeps what it has verified."""
