"""Log entries of delegations (CONTRACT 11.10): when each was signed and revoked, in the order of the log.

They disclose neither agents nor scopes, only the hash of the hop; a holder of the chain recognizes it.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.core.encoding import format_time
from attestlab.log.entries import EntryType, Link, build_entry


def delegation_status_entry(link: Link, *, delegation_id: UUID, hop: str, status: str, at: datetime) -> bytes:
    """The entry of a new delegation, or of its revocation; `hop` is the SHA-256 of its JWS, base64url."""
    members = {"delegation_id": delegation_id, "hop": hop, "status": status, "at": format_time(at)}
    return build_entry(EntryType.DELEGATION_STATUS, **members, **link.members())


def delegation_subject(delegation_id: UUID | str) -> str:
    """The name of the chain of one delegation's entries."""
    return f"delegation:{delegation_id}"
