"""The public page of an attestation: what a stranger sees who follows a link or scans a code."""
