"""Signatures of reports: compact JWS (RFC 7515), Ed25519, with a key of the service.

A report is signed whenever it is returned; its digest never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TYP = "simulation-report+jws"
REPORTS = b"key that signs simulation reports v1"


@dataclass(frozen=True)
class SignedReport:
    """A stored report with its signature by the present key; an activation names its `digest`."""

    digest: str
    content: Mapping[str, object]
    signature: str
