"""Attestations in the formats that others read: W3C status lists, SD-JWT VC, Open Badges 3.0."""
