"""Evidence for an online verification, built from the records and the log."""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.bundle.verifier import verify_entry_subject
from attestlab.attestations.rules import Statement, Status
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.verification.facts import build_issuer_facts, build_statement, parse_members, read_logged_at
from attestlab.attestations.verification.steps import Evidence, KeyFacts
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ProofInvalid
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import Issuers
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.service import Log


def build_evidence(connection: Connection, stored: AttestationEvidence, *, issuers: Issuers, log: Log) -> Evidence:
    """Build the evidence from the rows of an attestation, its issuer, key and log entry; the steps must verify it."""
    attestation = stored.attestation
    statement = build_statement(attestation)
    return Evidence(
        statement=statement,
        claims=attestation.claims,
        signature=attestation.signature,
        status=Status(attestation.status),
        log_index=attestation.log_index,
        logged_at=read_logged_at(stored.entry, custody=attestation.custody, created_at=attestation.created_at),
        issuer=build_issuer_facts(stored.issuer),
        key=_build_key_facts(stored, issuers),
        prove_logged=lambda: _verify_logged(connection, stored, statement, log),
    )


def _build_key_facts(stored: AttestationEvidence, issuers: Issuers) -> KeyFacts | None:
    key = stored.key
    if key is None:
        return None
    public = issuers.load_public_key(Algorithm(stored.attestation.alg), key.spki)
    return KeyFacts(public, KeyStatus(key.status), key.changed_index, key.compromised_at)


def _verify_logged(connection: Connection, stored: AttestationEvidence, statement: Statement, log: Log) -> None:
    """Verify that the log entry commits to this attestation, and is included in the tree head that we signed.

    Raises:
        ProofInvalid: the entry is missing, is about another attestation, or is not in the tree.
    """
    attestation, key, entry = stored.attestation, stored.key, stored.entry
    if entry is None:
        raise ProofInvalid("The log has no entry at the attestation's index.")
    assert key is not None  # an earlier step ends the verification without a key
    verify_entry_subject(
        parse_members(entry),
        attestation.nonce,
        statement=statement,
        claims=attestation.claims,
        signature=attestation.signature,
        public_key=key.spki,
    )
    index, proof = attestation.log_index, log.inclusion(connection, attestation.log_index)
    log_rules.verify_inclusion(index, proof.tree_size, log_rules.leaf_hash(entry), proof.hashes, proof.root)
