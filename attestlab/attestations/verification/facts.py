"""Conversion of stored rows to values of the rules: statement, status, issuer, and time of the log entry."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from attestlab.attestations import rules
from attestlab.attestations.evidence_queries import CurrentIssuer
from attestlab.attestations.rules import AttestedClaims, Statement, Status
from attestlab.attestations.store import SignedAttestation
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.steps import IssuerFacts
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import parse_time
from attestlab.core.errors import IntegrityFailed, ProofInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.issuers.rules import Custody, IssuerStatus
from attestlab.log import entries


def parse_members(entry: bytes) -> dict[str, object]:
    """Parse an entry of our own log, without requiring canonical JSON, because its leaf hash is verified as well."""
    members = parse_json(entry)
    if not isinstance(members, dict):
        raise ProofInvalid("The log entry is not a JSON object.")
    return members


def build_issuer_facts(issuer: CurrentIssuer | None) -> IssuerFacts | None:
    """Build the facts about the issuer; None if its row is missing."""
    return None if issuer is None else IssuerFacts(IssuerStatus(issuer.status), issuer.revoked_index)


def read_logged_at(entry: bytes | None, *, custody: str, created_at: datetime) -> datetime:
    """Return the time of the log entry.

    For an external key it is read from the entry, because the key's holder chose `created_at`. If the
    entry cannot be parsed it falls back to `created_at`; the transparency step then rejects the entry.
    """
    if custody == Custody.EXTERNAL and entry is not None:
        with suppress(IntegrityFailed, ValidationFailed):
            return parse_time(str(entries.parse_entry(entry).members.get("at")))
    return created_at


def build_statement(row: AttestationRecord | SignedAttestation) -> Statement:
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


def build_content(row: AttestationRecord | SignedAttestation) -> AttestedClaims:
    """Build the signed statement and the claims from the columns of a row."""
    return AttestedClaims(build_statement(row), row.claims)


def compute_status(row: AttestationRecord, *, now: datetime) -> Status:
    """Return the status of a row as of `now`."""
    return rules.compute_current_status(Status(row.status), row.expiry_at, now=now)
