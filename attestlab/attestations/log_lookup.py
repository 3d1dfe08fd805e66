"""Lookup of log entries by what an attestation is about, for `GET /v1/log/lookup`."""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations import store
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import ValidationFailed


def find_by_id(connection: Connection, text: str) -> int | None:
    """Return the log index of the attestation with this id, or None.

    Raises:
        ValidationFailed: the text is no UUID.
    """
    try:
        attestation_id = parse_uuid(text)
    except ValidationFailed as error:
        raise ValidationFailed.of("/attestation_id", "uuid", error.message) from error
    indexes = store.find_log_indexes(connection, attestation_id=attestation_id, document_hash=None)
    return indexes[0] if indexes else None


def find_by_document(connection: Connection, text: str) -> int | None:
    """Return the log index of the first attestation of a document, given by its SHA-256 in hex, or None."""
    indexes = store.find_log_indexes(connection, attestation_id=None, document_hash=text.lower())
    return indexes[0] if indexes else None


FINDERS = {"attestation_id": find_by_id, "document_hash": find_by_document}
