"""What follows from signals: cases, challenge decisions, allow and deny lists, and the tenant's settings."""
