"""Evidence for an online verification, built from the records and the log."""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.bundle.bundle import verify_entry_subject
from attestlab.attestations.rules import Statement, Status
from attestlab.attestations.verification.facts import build_issuer_facts, build_statement, parse_members, read_logged_at
from attestlab.attestations.verification.steps import Evidence, KeyFacts
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import AnyRow
from attestlab.core.errors import ProofInvalid
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import Issuers
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.service import Log


def build_evidence(connection: Connection, row: AnyRow, *, issuers: Issuers, log: Log) -> Evidence:
    """Build the evidence from an attestation's row with issuer, key and log entry; the steps must verify it."""
    statement = build_statement(row)
    return Evidence(
        statement=statement,
        claims=row.claims,
        signature=row.signature,
        status=Status(row.status),
        log_index=row.log_index,
        logged_at=read_logged_at(row),
        issuer=build_issuer_facts(row),
        key=_build_key_facts(row, issuers),
        prove_logged=lambda: _verify_logged(connection, row, statement, log),
    )


def _build_key_facts(row: AnyRow, issuers: Issuers) -> KeyFacts | None:
    if row.spki is None:
        return None
    public = issuers.load_public_key(Algorithm(row.alg), row.spki)
    return KeyFacts(public, KeyStatus(row.key_status), row.key_changed_index, row.compromised_at)


def _verify_logged(connection: Connection, row: AnyRow, statement: Statement, log: Log) -> None:
    """Verify that the log entry commits to this attestation, and is included in the tree head that we signed.

    Raises:
        ProofInvalid: the entry is missing, is about another attestation, or is not in the tree.
    """
    if row.entry is None:
        raise ProofInvalid("The log has no entry at the attestation's index.")
    verify_entry_subject(
        parse_members(row.entry),
        row.nonce,
        statement=statement,
        claims=row.claims,
        signature=row.signature,
        public_key=row.spki,
    )
    proof = log.inclusion(connection, row.log_index)
    log_rules.verify_inclusion(row.log_index, proof.tree_size, log_rules.leaf_hash(row.entry), proof.hashes, proof.root)
