"""The public page of an attestation, which anyone sees who follows its link or scans its QR code."""
