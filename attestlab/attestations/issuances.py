"""Issuances as edges of risk's entity graph: an attestation belongs to its issuer."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations import store
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import ValidationFailed
from attestlab.risk.entities.graph import Edge
from attestlab.risk.rules import Entity, EntityType

KIND = "issuance"
MAX_ISSUANCES = 20  # of an issuer, the newest


def find_issuances(connection: Connection, tenant_id: UUID, entity: Entity) -> list[Edge]:
    """Find the issuer of an attestation, or the newest attestations of an issuer; other entities have none."""
    columns = {EntityType.ATTESTATION: "id", EntityType.ISSUER: "issuer_id"}
    try:
        value = parse_uuid(entity.id)
    except ValidationFailed:  # a tenant may name its entities as it likes
        return []
    if entity.type not in columns:
        return []
    found = store.list_issuances(connection, tenant_id, columns[entity.type], value, limit=MAX_ISSUANCES)
    return [
        Edge(
            Entity(EntityType.ATTESTATION, str(issuance.id)),
            Entity(EntityType.ISSUER, str(issuance.issuer_id)),
            KIND,
            1,
            issuance.created_at,
            issuance.created_at,
        )
        for issuance in found
    ]
