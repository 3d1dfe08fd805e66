"""Consistency check: recomputes the log, every signature, every hash chain and every audited row.

No stored value is trusted by itself. The check leaves out values that nothing else in the records
could contradict: verification tallies whose events have all been published.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import SQLModel

from attestlab import migrations
from attestlab.agents import integrity as agent_integrity
from attestlab.agents import store as agent_store
from attestlab.agents.tables import AgentKeyRecord
from attestlab.attestations import integrity as attestation_integrity
from attestlab.attestations import store as attestation_store
from attestlab.attestations.bundle.verifier import verify_entry_subject
from attestlab.attestations.metering import integrity as metering_integrity
from attestlab.attestations.rules import ATTESTATION, RECEIPT, SignedContent
from attestlab.attestations.verification.facts import build_content
from attestlab.billing import integrity as billing_integrity
from attestlab.consumer.inbox import counts as inbox_counts
from attestlab.core.crypto import jws, sealing, signing
from attestlab.core.crypto.rsa_moduli import require_unfactorable
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.tables import iterate, table_of
from attestlab.core.errors import AttestLabError, KeyringMismatch, SignatureInvalid
from attestlab.core.records import outbox
from attestlab.core.records.integrity import (
    Problem,
    check_audit_trails,
    check_outbox,
    find_noncanonical,
    find_unaudited,
)
from attestlab.installation import Installation
from attestlab.integrity.audited_tables import AUDITED
from attestlab.issuers import integrity as issuer_integrity
from attestlab.issuers import store as issuer_store
from attestlab.issuers.tables import IssuerKeyRecord
from attestlab.log import entries
from attestlab.log.integrity import check_cosignatures, check_log
from attestlab.log.tables import IMMUTABILITY_DDL, LogHead, LogLeaf
from attestlab.log.witnessing import cosignatures
from attestlab.receipts import integrity as receipt_integrity
from attestlab.receipts import store as receipt_store
from attestlab.receipts.minting import build_content as build_receipt_content
from attestlab.risk import integrity as risk_integrity
from attestlab.web.idempotency import integrity as idempotency_integrity
from attestlab.web.idempotency import store as idempotency_store

_log_heads = table_of(LogHead)
_leaves = table_of(LogLeaf)
PAGE = 500
ATTESTATIONS = "attestations"


class _SignedColumns(Protocol):
    """The columns that a signature and a log entry are checked with."""

    @property
    def id(self) -> UUID: ...
    @property
    def nonce(self) -> bytes: ...
    @property
    def signature(self) -> str: ...


Row = TypeVar("Row", bound=_SignedColumns)
_OTHER_CHAINS = (
    *(outbox.CHAIN, idempotency_store.CHAIN, idempotency_store.BEGINNING, cosignatures.CHAIN),
    *risk_integrity.CHAINS,
    *agent_integrity.CHAINS,
)
ATTESTATIONS_PER_PART = 4_000  # less than a second of work, so that all processes end at about the same time


@dataclass(frozen=True)
class FsckPart:
    """An independent part of the check; attestations are divided by id, from `first` up to but excluding `end`."""

    name: str
    first: UUID | None = None
    end: UUID | None = None


def fsck(lab: Installation) -> Iterator[Problem]:
    """Yield all problems of an installation, in one snapshot of its records."""
    with lab.storage.read() as connection:
        for part in plan_parts(connection):
            yield from check_part(connection, lab, part)


def plan_parts(connection: Connection) -> list[FsckPart]:
    """Return all parts of the check, in the order in which their problems are reported."""
    divided: list[FsckPart] = []
    for name in _CHECKS:
        divided += _split_attestations(connection, name) if name == ATTESTATIONS else [FsckPart(name)]
    return divided


def check_part(connection: Connection, lab: Installation, part: FsckPart) -> Iterator[Problem]:
    """Yield the problems of one part. Each decoder fails differently on damaged rows, so any error is a problem."""
    try:
        yield from _CHECKS[part.name](connection, lab, part)
    except Exception as error:
        yield Problem("unreadable", part.name, f"cannot be read any further: {type(error).__name__}: {error}")


def _split_attestations(connection: Connection, name: str) -> list[FsckPart]:
    """Return ranges of `ATTESTATIONS_PER_PART` attestations; a single range if an id cannot be read."""
    try:
        bounds = attestation_store.sample_ids(connection, ATTESTATIONS_PER_PART)
    except (ValueError, SQLAlchemyError, sqlite3.DatabaseError):
        bounds = []
    return [FsckPart(name, first, end) for first, end in pairwise([None, *bounds, None])]


def _check_database(connection: Connection, lab: Installation) -> Iterator[Problem]:
    """Run the engine's own checks, and compare tables and triggers with those that the migrations create."""
    if not lab.storage.is_sqlite:
        yield from _check_postgresql_triggers(connection)
        return
    expected, stored = migrations.made_on_sqlite(), migrations.stored_statements(connection)
    for name in {*expected, *stored}:
        if expected.get(name, "") != stored.get(name, ""):
            yield Problem("schema", name, "differs from what the migrations create")
    for (message,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if message != "ok":
            yield Problem("database", "integrity_check", message)
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield Problem("database", f"{row[0]} row {row[1]}", f"points to a missing row of {row[2]}")


def _check_postgresql_triggers(connection: Connection) -> Iterator[Problem]:
    enabled = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
    existing = set(connection.exec_driver_sql(enabled).scalars())
    for verb, kind, name in (statement.split()[:3] for statement in IMMUTABILITY_DDL["postgresql"]):
        if (verb, kind) == ("CREATE", "TRIGGER") and name not in existing:
            yield Problem("schema", f"trigger {name}", "is missing or disabled, so its table is not protected")


def _check_attestations(connection: Connection, part: FsckPart) -> Iterator[Problem]:
    """Check the signature of each attestation, and that its log entry is about it."""
    for row in attestation_store.iterate_signed(connection, part.first, part.end):
        yield from _check_record("attestation", row, build_content, row.spki, row.entry)


def _check_receipts(connection: Connection) -> Iterator[Problem]:
    """Check the signature of each receipt, that its log entry is about it, and that its status is the log's."""
    try:
        for row, spki, entry in receipt_store.iterate_signed(connection):
            if (contradiction := receipt_integrity.find_contradiction(row)) is not None:
                yield Problem("receipt", str(row.id), contradiction)
            yield from _check_record("receipt", row, build_receipt_content, spki, entry)
    except (ValueError, KeyError) as error:
        yield Problem("receipt", "rows", f"a column cannot be read: {error}")
    for where, message in receipt_integrity.find_inconsistencies(connection):
        yield Problem("receipt", where, message)


def _check_counts(connection: Connection) -> Iterator[Problem]:
    """Check that there are as many attestations and receipts as entries of their mints."""
    for kind, table in ((ATTESTATION, attestation_store.attestations), (RECEIPT, receipt_store.receipts)):
        minted = select(func.count()).select_from(_leaves).where(_leaves.c.kind == kind.minted_entry)
        logged, counted = connection.scalar(minted), connection.scalar(select(func.count()).select_from(table))
        if logged != counted:
            yield Problem(kind.noun, "count", f"{logged} minted entries, {counted} {kind.noun}s")


def _check_record(
    noun: str, row: Row, build_content: Callable[[Row], SignedContent], spki: bytes | None, entry: bytes | None
) -> Iterator[Problem]:
    """Check the signature of an attestation or receipt, and that its log entry is about it."""
    if spki is None or entry is None:
        yield Problem(noun, str(row.id), "its key or its log entry is missing")
        return
    try:
        _check_signed(row, build_content(row), spki, entry)
    except AttestLabError as error:
        yield Problem(noun, str(row.id), error.message)
    except (ValueError, KeyError) as error:
        yield Problem(noun, str(row.id), f"a column cannot be read: {error}")


def _check_signed(row: _SignedColumns, content: SignedContent, spki: bytes, entry: bytes) -> None:
    statement = content.statement
    content.require_hashes()
    public = signing.load_public(statement.alg, spki)
    jws.verify_compact(statement.alg, public, row.signature, kid=statement.kid, payload=statement.canonical())
    members = entries.parse_entry(entry).members
    verify_entry_subject(members, row.nonce, content=content, signature=row.signature, public_key=spki)


def _check_status_changes(connection: Connection) -> Iterator[Problem]:
    """Compare the status of attestations in the rows with the log."""
    yield from (Problem("attestation", *found) for found in attestation_integrity.find_inconsistencies(connection))


def _check_issuers(connection: Connection) -> Iterator[Problem]:
    """Compare the status of issuers and keys in the rows with the log."""
    yield from (Problem("standing", *found) for found in issuer_integrity.find_inconsistencies(connection))


def _check_agents(connection: Connection) -> Iterator[Problem]:
    """Compare agents, keys, delegations and runs with the log, what agents signed, and events and trust with chains."""
    for kind, check in agent_integrity.RECORD_CHECKS.items():
        yield from (Problem(kind, *found) for found in check(connection))


def _check_keys(connection: Connection, lab: Installation) -> Iterator[Problem]:
    """Check that each managed private key opens and matches its public key, and that no other key is factorable."""
    for row in _iterate_keys(connection):
        try:
            _check_key(row, lab)
        except (AttestLabError, ValueError) as error:
            yield Problem("key", row.kid, str(error))


def _iterate_keys(connection: Connection) -> Iterator[IssuerKeyRecord | AgentKeyRecord]:
    issuer_keys, agent_keys = (
        connection.execute(select(*table.c).order_by(table.c.kid).execution_options(yield_per=PAGE))
        for table in (issuer_store.keys, agent_store.keys)
    )
    yield from iterate(issuer_keys, IssuerKeyRecord)
    yield from iterate(agent_keys, AgentKeyRecord)


def _check_keyring(connection: Connection, lab: Installation) -> Iterator[Problem]:
    """Check that the records name the key-encryption key that they are sealed under."""
    try:
        sealing.require_same(connection, lab.keyring)
    except KeyringMismatch as error:
        yield Problem("keyring", "sealed_under", error.message)
    for row_id in sealing.find_surplus_rows(connection):
        yield Problem("keyring", f"sealed_under {row_id}", f"Only row {sealing.ROW_ID} names the key-encryption key.")


def _check_key(row: IssuerKeyRecord | AgentKeyRecord, lab: Installation) -> None:
    alg = Algorithm(row.alg)
    public = signing.load_public(alg, row.spki)
    if row.sealed is None:
        return require_unfactorable(public)  # it may have been registered before this test existed
    der = lab.keyring.unseal(row.sealed, tenant_id=row.tenant_id, issuer_id=row.owner_id, kid=row.kid, alg=alg.value)
    if signing.spki(signing.load_private(alg, der).public_key()) != row.spki:
        raise SignatureInvalid("the private key does not match the public key")


def _check_audited_rows(connection: Connection) -> Iterator[Problem]:
    """Compare audited rows with their last digest in the audit trail."""
    for table, kind, name in AUDITED:
        for resource_id, message in find_unaudited(connection, table, resource_type=kind, name=name):
            yield Problem(kind, resource_id, message)


def _check_inboxes(connection: Connection) -> Iterator[Problem]:
    """Compare the counts of inboxes with their items, and read states with whether an account has the item."""
    for where, message in inbox_counts.find_inconsistencies(connection):
        yield Problem("inbox", where, message)


def _check_usage(connection: Connection, lab: Installation) -> Iterator[Problem]:
    """Compare the counted verifications with the events that report them."""
    for place, message in metering_integrity.find_inconsistencies(connection, now=lab.clock.now()):
        yield Problem("usage", place, message)


def _check_thresholds(connection: Connection) -> Iterator[Problem]:
    """Compare the thresholds of usage with the events that report them."""
    for place, message in billing_integrity.find_inconsistencies(connection):
        yield Problem("usage", place, message)


def _check_idempotency_records(connection: Connection) -> Iterator[Problem]:
    """Check that idempotency records are gapless and chained from the current beginning to the end."""
    for place, message in idempotency_integrity.find_inconsistencies(connection):
        yield Problem("answers", place, message)


def _check_risk(connection: Connection) -> Iterator[Problem]:
    """Check that signals and raw events are those that were written, and that each case has its signals."""
    for place, message in risk_integrity.find_inconsistencies(connection):
        yield Problem("risk", place, message)


def _check_spelling(connection: Connection) -> Iterator[Problem]:
    """Report non-canonical ids, times and flags, and a second log head, which would never be read.

    SQLite reads a non-canonical value like a canonical one, but a query by value does not find it. Audited rows are
    left out: `find_unaudited` compares their spelling too.
    """
    audited = {table.name for table, _kind, _name in AUDITED}
    for table in (table for table in SQLModel.metadata.sorted_tables if table.name not in audited):
        for column in find_noncanonical(connection, table):
            yield Problem("spelling", f"{table.name}.{column}", "a value is not in canonical form")
    if connection.scalar(select(func.count()).select_from(_log_heads)) != 1:
        yield Problem("head", "log_head", "a database must have exactly one log head")


# The checks by name, in the order in which their problems are reported.
_CHECKS: dict[str, Callable[[Connection, Installation, FsckPart], Iterator[Problem]]] = {
    "log": lambda connection, lab, _part: check_log(connection, keyring=lab.keyring, guard=lab.guard),
    "database": lambda connection, lab, _part: _check_database(connection, lab),
    ATTESTATIONS: lambda connection, _lab, part: _check_attestations(connection, part),
    "receipts": lambda connection, _lab, _part: _check_receipts(connection),
    "counts": lambda connection, _lab, _part: _check_counts(connection),
    "ends": lambda connection, _lab, _part: _check_status_changes(connection),
    "standings": lambda connection, _lab, _part: _check_issuers(connection),
    "agents": lambda connection, _lab, _part: _check_agents(connection),
    "keys": lambda connection, lab, _part: _check_keys(connection, lab),
    "keyring": lambda connection, lab, _part: _check_keyring(connection, lab),
    "audit": lambda connection, _lab, _part: check_audit_trails(connection, other_chains=_OTHER_CHAINS),
    "outbox": lambda connection, _lab, _part: check_outbox(connection),
    "rows": lambda connection, _lab, _part: _check_audited_rows(connection),
    "inboxes": lambda connection, _lab, _part: _check_inboxes(connection),
    "cosignatures": lambda connection, _lab, _part: check_cosignatures(connection),
    "usage": lambda connection, lab, _part: _check_usage(connection, lab),
    "thresholds": lambda connection, _lab, _part: _check_thresholds(connection),
    "answers": lambda connection, _lab, _part: _check_idempotency_records(connection),
    "risk": lambda connection, _lab, _part: _check_risk(connection),
    "spelling": lambda connection, _lab, _part: _check_spelling(connection),
}
