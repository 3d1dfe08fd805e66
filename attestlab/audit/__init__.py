"""The audit trail, for those who may read it."""
