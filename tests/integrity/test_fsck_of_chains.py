"""fsck recomputes chains and signatures: each test makes one change that nothing else would reveal."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, text, update

from attestlab.attestations import signing
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rules import Statement
from attestlab.audit import store as audit_store
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.tables import table_of
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller

pytestmark = pytest.mark.tampered

AUDIT = audit_store.events
OUTBOX = table_of(OutboxEvent)


def without_triggers(connection: Connection, table: str) -> None:
    """Drop the triggers that forbid changes of a table, as the owner of the file can."""
    query = text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table")
    for name in connection.scalars(query, {"table": table}).all():
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')


def problems(lab: Installation) -> set[tuple[str, str]]:
    """What fsck finds: kinds and messages."""
    return {(problem.kind, problem.message) for problem in fsck(lab)}


@pytest.fixture
def request_to_mint(lab: Installation, caller: Caller) -> MintRequest:
    """A request to a new issuer, whose registration leaves audit lines and events."""
    profile = {"name": "Northfield", "domain": "northfield.example", "jurisdiction": "SE"}
    made = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519)
    claims = {"participant_name": "Ada Lovelace", "program_name": "Logic", "hours": 12.5}
    return MintRequest(issuer_id=made.issuer.id, kid=made.keys[0].kid, schema="completion-cert", claims=claims)


def test_changed_metadata_of_an_audit_line_breaks_the_chain(lab: Installation, request_to_mint: MintRequest) -> None:
    """No column repeats the metadata of a line, so only the hash chain reveals the change."""
    with lab.storage.engine.connect() as connection:
        without_triggers(connection, "audit_events")
        seq, tenant_id, record = connection.execute(select(AUDIT.c.seq, AUDIT.c.tenant_id, AUDIT.c.record)).first()
        changed = json.dumps({**json.loads(record), "metadata": {"changed": True}}).encode()
        line = (AUDIT.c.seq == seq) & (AUDIT.c.tenant_id == tenant_id)
        connection.execute(update(AUDIT).where(line).values(record=changed))
        connection.commit()

    assert ("audit", "the chain is broken here") in problems(lab)


def test_a_missing_last_audit_line_is_found(lab: Installation, request_to_mint: MintRequest) -> None:
    """The lines that are left form an intact chain; only its head says that one more existed."""
    with lab.storage.engine.connect() as connection:
        without_triggers(connection, "audit_events")
        last = select(AUDIT.c.id).order_by(AUDIT.c.seq.desc()).limit(1).scalar_subquery()
        connection.execute(delete(AUDIT).where(AUDIT.c.id == last))
        connection.commit()

    assert any(kind == "chain" or "end" in message for kind, message in problems(lab))


def test_a_changed_event_breaks_the_chain_of_the_outbox(lab: Installation, request_to_mint: MintRequest) -> None:
    """No column repeats the data of an event, so only the hash chain reveals the change."""
    with lab.storage.engine.connect() as connection:
        without_triggers(connection, "outbox_events")
        seq, body = connection.execute(select(OUTBOX.c.seq, OUTBOX.c.body)).first()
        changed = json.dumps({**json.loads(body), "data": {"changed": True}}).encode()
        connection.execute(update(OUTBOX).where(OUTBOX.c.seq == seq).values(body=changed))
        connection.commit()

    assert ("outbox", "the chain is broken here") in problems(lab)


@pytest.mark.parametrize(("place", "sequence"), [(1, 7), (-1, 1_000), (0, 0)])
def test_a_changed_number_of_an_event_is_found(
    lab: Installation, request_to_mint: MintRequest, place: int, sequence: int
) -> None:
    """The hash chain covers the number among all events, not the one within the tenant."""
    with lab.storage.engine.connect() as connection:
        events = connection.execute(select(OUTBOX.c.seq, OUTBOX.c.sequence).order_by(OUTBOX.c.seq)).all()
        changed = update(OUTBOX).where(OUTBOX.c.seq == events[place].seq).values(sequence=sequence)
        connection.execute(changed)
        connection.commit()

    expected = f"the sequence is {sequence}, but it is event {events[place].sequence} of its tenant"
    assert ("outbox", expected) in problems(lab)


def test_a_signature_that_was_wrong_when_it_was_logged_is_found(
    lab: Installation, caller: Caller, request_to_mint: MintRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log commits to a signature and does not verify it: rows and entry agree, and only the key reveals it."""
    sign = signing.sign_or_verify

    def sign_another_statement(request: MintRequest, statement: Statement, key: Any, issuers: Any) -> str:
        return sign(request, replace(statement, payload_hash="A" * 43), key, issuers)

    monkeypatch.setattr(signing, "sign_or_verify", sign_another_statement)
    lab.attestations.mint(request_to_mint, caller=caller)

    assert "attestation" in {kind for kind, _ in problems(lab)}
