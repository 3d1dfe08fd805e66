"""What the records and the log hold of one attestation, as the steps of a verification want it."""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.bundle.bundle import require_entry_speaks_of
from attestlab.attestations.rules import Statement, Status
from attestlab.attestations.verification.facts import issuer_facts, logged_at, members_of, statement_of
from attestlab.attestations.verification.steps import Evidence, KeyFacts
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import AnyRow
from attestlab.core.errors import ProofInvalid
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import Issuers
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.service import Log


def of_row(connection: Connection, row: AnyRow, *, issuers: Issuers, log: Log) -> Evidence:
    """The evidence in an attestation's row with its issuer, its key and its entry; nothing of it is believed yet."""
    statement = statement_of(row)
    return Evidence(
        statement=statement,
        claims=row.claims,
        signature=row.signature,
        status=Status(row.status),
        log_index=row.log_index,
        logged_at=logged_at(row),
        issuer=issuer_facts(row),
        key=_key_facts(row, issuers),
        prove_logged=lambda: _prove_logged(connection, row, statement, log),
    )


def _key_facts(row: AnyRow, issuers: Issuers) -> KeyFacts | None:
    if row.spki is None:
        return None
    public = issuers.public_key(Algorithm(row.alg), row.spki)
    return KeyFacts(public, KeyStatus(row.key_status), row.key_changed_index, row.compromised_at)


def _prove_logged(connection: Connection, row: AnyRow, statement: Statement, log: Log) -> None:
    """The entry opens to this attestation and stands under the head we signed."""
    if row.entry is None:
        raise ProofInvalid("The log has no entry at the attestation's index.")
    require_entry_speaks_of(
        members_of(row.entry),
        row.nonce,
        statement=statement,
        claims=row.claims,
        signature=row.signature,
        public_key=row.spki,
    )
    proof = log.inclusion(connection, row.log_index)
    log_rules.verify_inclusion(row.log_index, proof.tree_size, log_rules.leaf_hash(row.entry), proof.hashes, proof.root)
