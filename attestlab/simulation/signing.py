"""Reports as they are signed: compact JWS (RFC 7515), Ed25519, by a key of the service's own.

A report is signed when it is shown; its digest never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TYP = "simulation-report+jws"
REPORTS = b"key that signs simulation reports v1"


@dataclass(frozen=True)
class SignedReport:
    """A report that was kept, and its signature under the key of today; `digest` is what an activation names."""

    digest: str
    content: dict[str, Any]
    signature: str
