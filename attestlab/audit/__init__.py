"""Access to the audit trail, and records of denied attempts."""
