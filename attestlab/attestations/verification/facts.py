"""Conversion of stored rows to values of the rules: statement, status, issuer, and time of the log entry."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from attestlab.attestations import rules
from attestlab.attestations.rules import Statement, Status
from attestlab.attestations.verification.steps import IssuerFacts
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import AnyRow
from attestlab.core.encoding import parse_time
from attestlab.core.errors import IntegrityFailed, ProofInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.issuers.rules import Custody, IssuerStatus
from attestlab.log import entries


def parse_members(entry: bytes) -> dict[str, Any]:
    """Parse an entry of our own log, without requiring canonical JSON, because its leaf hash is verified as well."""
    members = parse_json(entry)
    if not isinstance(members, dict):
        raise ProofInvalid("The log entry is not a JSON object.")
    return members


def build_issuer_facts(row: AnyRow) -> IssuerFacts | None:
    """Build the facts about the issuer from a row with evidence; None if the issuer is missing."""
    if row.found_issuer is None:
        return None
    return IssuerFacts(IssuerStatus(row.issuer_status), row.revoked_index)


def read_logged_at(row: AnyRow) -> datetime:
    """Return the time of the log entry.

    For an external key it is read from the entry, because the key's holder chose `created_at`. If the
    entry cannot be parsed it falls back to `created_at`; the transparency step then rejects the entry.
    """
    if row.custody == Custody.EXTERNAL and row.entry is not None:
        with suppress(IntegrityFailed, ValidationFailed):
            return parse_time(str(entries.parse_entry(row.entry).members.get("at")))
    created_at: datetime = row.created_at
    return created_at


def build_statement(row: Any) -> Statement:
    """Build the signed statement from the columns of a row."""
    return Statement(
        id=row.id,
        issuer_id=row.issuer_id,
        kid=row.kid,
        alg=Algorithm(row.alg),
        schema=row.schema_id,
        content_type=row.content_type,
        payload_hash=row.payload_hash,
        document_hash=row.document_hash,
        claims_hash=row.claims_hash,
        expiry_at=row.expiry_at,
        created_at=row.created_at,
    )


def compute_status(row: Any, *, now: datetime) -> Status:
    """Return the status of a row as of `now`."""
    return rules.compute_current_status(Status(row.status), row.expiry_at, now=now)
