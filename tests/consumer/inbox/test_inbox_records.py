"""Records of the inbox: the upgrade moves deliveries, fsck finds changes, and a page costs what it shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, select, update

from attestlab import migrations
from attestlab.attestations.inbox import store
from attestlab.consumer.inbox.counts import counts, get_counts
from attestlab.consumer.inbox.rules import ReadState
from attestlab.consumer.inbox.store import items
from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_hex
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.core.records.row_digest import row_sha256
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from support.earlier_records import undo_revisions_since
from support.inbox import Json, Recipient, Registry, serve_registry
from support.query_plans import explain_queries, is_scanned

PAGE = 10
OLDER_ITEMS = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
INSERT INTO inbox_items SELECT printf('%032x', n), printf('%032x', n), tenant_id, issuer_id, NULL, user_id, state,
created_at, delivered_at, NULL, NULL, NULL, NULL, read_state, updated_at
FROM numbers, (SELECT * FROM inbox_items LIMIT 1)
"""
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.both_engines
def test_deliveries_of_before_become_items_whose_digests_verify(lab: Installation) -> None:
    with serve_registry(lab) as registry:
        delivered, waiting = registry.mint(), registry.mint()
        ada = registry.consumer("ada")
        ada.client.close()
    add_delivery_of_before(lab, registry, delivered, "ada@people.example", ada.user_id)
    add_delivery_of_before(lab, registry, waiting, "grace@people.example", None)
    with lab.storage.engine.begin() as connection:
        undo_revisions_since(connection, 30)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0029'")

    migrations.upgrade(lab.storage)

    with lab.storage.read() as connection:
        moved = {str(row.attestation_id): row for row in connection.execute(select(*items.c))}
        assert get_counts(connection.execute, ada.user_id)[ReadState.UNREAD] == 1
    assert {key: row.state for key, row in moved.items()} == {delivered["id"]: "DELIVERED", waiting["id"]: "PENDING"}
    assert all(row.id == row.attestation_id and row.read_state == "UNREAD" for row in moved.values())
    assert list(fsck(lab)) == []


def add_delivery_of_before(
    lab: Installation, registry: Registry, attestation: Json, address: str, user_id: UUID | None
) -> None:
    """Deliver an attestation as before revision 0030: the audit trail names the delivery after the attestation."""
    now, attestation_id = lab.clock.now(), UUID(attestation["id"])
    row = InboxItemRecord(
        id=attestation_id,
        attestation_id=attestation_id,
        tenant_id=registry.tenant.tenant_id,
        issuer_id=UUID(registry.issuer["id"]),
        recipient_email=address,
        user_id=user_id,
        state="PENDING" if user_id is None else "DELIVERED",
        created_at=now,
        delivered_at=None if user_id is None else now,
        username=None,
        safe_metadata=None,
        declined_at=None,
        decline_reason=None,
        read_state="UNREAD",
        updated_at=now,
    )
    with lab.storage.write() as tx:
        context = AuditContext(row.tenant_id, COMMAND_LINE, "delivery.create", now)
        audited_write.insert(tx, items, row, context)


def test_the_digest_of_an_item_is_that_of_the_delivery_before() -> None:
    names = ("attestation_id", "tenant_id", "issuer_id", "recipient_email", "user_id", "state")
    before: dict[str, object] = {
        **{name: f"the {name}" for name in names},
        **dict.fromkeys(("created_at", "delivered_at"), NOON),
    }
    since = dict.fromkeys(("username", "safe_metadata", "declined_at", "decline_reason"))

    digest = row_sha256(items, {**before, **since, "id": UUID(int=1), "read_state": "READ", "updated_at": NOON})

    assert digest == sha256_hex(canonical_trusted(before))


@pytest.mark.tampered
def test_fsck_finds_a_wrong_count_and_a_changed_recipient(registry: Registry, ada: Recipient) -> None:
    registry.mint(recipient_email=ada.email)
    registry.mint(recipient_email="b@people.example")
    with registry.lab.storage.engine.begin() as connection:
        connection.execute(update(counts).values(read=counts.c.read + 1))
        pending = items.c.state == "PENDING"
        connection.execute(update(items).where(pending).values(recipient_email="eve@people.example"))

    found = {(problem.kind, problem.message) for problem in fsck(registry.lab)}

    assert found == {
        ("inbox", "the count of its items differs from the items"),
        ("delivery", "the row differs from what was audited last"),
    }


@pytest.mark.both_engines
@pytest.mark.parametrize("states", [(ReadState.UNREAD,), tuple(ReadState)])
@pytest.mark.parametrize("before", [None, uuid4()])
def test_a_page_reads_ranges_of_one_index(
    registry: Registry, states: tuple[ReadState, ...], before: UUID | None
) -> None:
    plan = explain_queries(
        registry.lab.storage,
        lambda connection: store.page(connection.execute, uuid4(), states, before=before, limit=50),
    )

    assert plan.count("ix_inbox_items_of_account") == len(states)
    assert not is_scanned(plan, "inbox_items")


@pytest.mark.tampered
@pytest.mark.parametrize("states", [(ReadState.UNREAD,), tuple(ReadState)])
def test_a_page_of_a_full_inbox_takes_the_steps_of_an_empty_one(
    registry: Registry, ada: Recipient, states: tuple[ReadState, ...]
) -> None:
    """Steps of SQLite's virtual machine, which no load of the machine changes."""
    for _ in range(PAGE):
        registry.mint(recipient_email=ada.email)
    engine = registry.lab.storage.engine
    with engine.connect() as connection:
        few = count_steps(connection, ada, states)
        connection.rollback()
    with engine.begin() as connection:
        connection.exec_driver_sql(OLDER_ITEMS)
    with engine.connect() as connection:
        many = count_steps(connection, ada, states)
        connection.rollback()

    assert few > 0
    assert many <= 1.5 * few


def count_steps(connection: Connection, recipient: Recipient, states: tuple[ReadState, ...]) -> int:
    """Count the instructions that a page with its total takes."""
    steps: list[None] = []
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: steps.append(None), 1)
    get_counts(connection.execute, recipient.user_id)
    shown = store.page(connection.execute, recipient.user_id, states, before=None, limit=PAGE)
    driver.set_progress_handler(None, 0)
    assert len(shown) == PAGE
    return len(steps)
