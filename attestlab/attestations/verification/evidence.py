"""Evidence for an online verification, built from the records and the log."""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.bundle.verifier import verify_entry_subject
from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.rules import SignedContent, Status
from attestlab.attestations.verification.facts import build_issuer_facts, parse_members, read_logged_at
from attestlab.attestations.verification.steps import Evidence, KeyFacts
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ProofInvalid
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import Issuers
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.service import Log


def build_evidence(
    connection: Connection,
    stored: RecordEvidence,
    content: SignedContent,
    status: Status,
    *,
    issuers: Issuers,
    log: Log,
) -> Evidence:
    """Build the evidence from a record's rows and log entry; the steps must verify it."""
    row = stored.row
    return Evidence(
        content=content,
        signature=row.signature,
        status=status,
        log_index=row.log_index,
        logged_at=read_logged_at(stored.entry, custody=row.custody, created_at=row.created_at),
        issuer=build_issuer_facts(stored.issuer),
        key=_build_key_facts(stored, issuers),
        prove_logged=lambda: _verify_logged(connection, stored, content, log),
    )


def _build_key_facts(stored: RecordEvidence, issuers: Issuers) -> KeyFacts | None:
    key = stored.key
    if key is None:
        return None
    public = issuers.load_public_key(Algorithm(stored.row.alg), key.spki)
    return KeyFacts(public, KeyStatus(key.status), key.changed_index, key.compromised_at)


def _verify_logged(connection: Connection, stored: RecordEvidence, content: SignedContent, log: Log) -> None:
    """Verify that the log entry commits to this record, and is included in the tree head that we signed.

    Raises:
        ProofInvalid: the entry is missing, is about another record, or is not in the tree.
    """
    row, key, entry = stored.row, stored.key, stored.entry
    if entry is None:
        raise ProofInvalid(f"The log has no entry at the {content.statement.kind.noun}'s index.")
    assert key is not None  # an earlier step ends the verification without a key
    verify_entry_subject(parse_members(entry), row.nonce, content=content, signature=row.signature, public_key=key.spki)
    index, proof = row.log_index, log.inclusion(connection, row.log_index)
    log_rules.verify_inclusion(index, proof.tree_size, log_rules.leaf_hash(entry), proof.hashes, proof.root)
