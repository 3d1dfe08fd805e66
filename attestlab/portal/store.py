"""Queries of the public pages, in addition to those of the capabilities that they show."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, func, select

from attestlab.attestations.store import attestations
from attestlab.core.db.tables import fetch_all
from attestlab.issuers.store import issuers, logos

_HAS_LOGO = select(logos.c.issuer_id).where(
    logos.c.issuer_id == bindparam("issuer_id"), func.length(logos.c.content) > 0
)


class FoundAttestation(NamedTuple):
    """An attestation as the search lists it: nothing that its plain page would not show."""

    id: UUID
    schema_id: str
    log_index: int
    created_at: datetime
    expiry_at: datetime | None
    status: str
    issuer_name: str
    issuer_domain: str
    issuer_tier: str


_OF_DOCUMENT = (
    select(
        attestations.c.id,
        attestations.c.schema_id,
        attestations.c.log_index,
        attestations.c.created_at,
        attestations.c.expiry_at,
        attestations.c.status,
        issuers.c.name,
        issuers.c.domain,
        issuers.c.trust_tier,
    )
    .join(issuers, issuers.c.id == attestations.c.issuer_id)
    .where(attestations.c.document_hash == bindparam("document_hash"))
    .order_by(attestations.c.log_index)
    .limit(bindparam("limit"))
)


def has_logo(connection: Connection, issuer_id: UUID) -> bool:
    """Whether an issuer has a stored logo; the query does not load the image."""
    return connection.execute(_HAS_LOGO, {"issuer_id": issuer_id}).first() is not None


def attestations_of_document(connection: Connection, document_hash: str, *, limit: int) -> list[FoundAttestation]:
    """The attestations of a document, given by its SHA-256 in lower-case hex, in the order of the log."""
    found = connection.execute(_OF_DOCUMENT, {"document_hash": document_hash, "limit": limit})
    return fetch_all(found, FoundAttestation)
