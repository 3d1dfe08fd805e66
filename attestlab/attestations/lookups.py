"""Look-ups of attestations for other capabilities: log entries by a subject, and issuances for the graph of entities.

`GET /v1/log/lookup` names an attestation or a document. In the graph, an attestation belongs to its issuer.
"""

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


def find_by_id(connection: Connection, text: str) -> int | None:
    """Return the log index of the attestation with this id, or None.

    Raises:
        ValidationFailed: the text is no UUID.
    """
    attestation_id = parse_named_id("attestation_id", text)
    indexes = store.find_log_indexes(connection, attestation_id=attestation_id, document_hash=None)
    return indexes[0] if indexes else None


def parse_named_id(name: str, text: str) -> UUID:
    """Parse the id in a parameter.

    Raises:
        ValidationFailed: the text is no UUID; the error names the parameter.
    """
    try:
        return parse_uuid(text)
    except ValidationFailed as error:
        raise ValidationFailed.of(f"/{name}", "uuid", error.message) from error


def find_by_document(connection: Connection, text: str) -> int | None:
    """Return the log index of the first attestation of a document, given by its SHA-256 in hex, or None."""
    indexes = store.find_log_indexes(connection, attestation_id=None, document_hash=text.lower())
    return indexes[0] if indexes else None


FINDERS = {"attestation_id": find_by_id, "document_hash": find_by_document}
