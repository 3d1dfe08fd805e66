"""A transaction reads and writes the chains of all its tenants with one statement of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event, select

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import table_of
from attestlab.core.records import audit, outbox
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audit import AuditEntry, AuditEvent
from attestlab.core.records.hash_chain import GENESIS, link_hash, read_head
from attestlab.core.records.outbox import OutboxEvent
from attestlab.receipts.types.events import ReceiptTypeDeprecated

NOON = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
LINES, EVENTS = table_of(AuditEvent), table_of(OutboxEvent)


@pytest.fixture
def recording(storage: Storage) -> Storage:
    """Records whose transactions write audit lines and events."""
    storage.record_hooks += [outbox.event_writer(FixedClock(NOON)), audit.write_entries]
    return storage


def record(storage: Storage, tenants: Sequence[UUID]) -> int:
    """Record a line and an event for each tenant in one transaction; returns the number of its statements."""
    statements: list[str] = []

    def note(*arguments: object) -> None:
        statements.append(str(arguments[2]))

    event.listen(storage.engine, "before_cursor_execute", note)
    with storage.write() as tx:
        for tenant_id in tenants:
            audit.record(tx, AuditEntry(tenant_id, COMMAND_LINE, "thing.change", "thing", "1", NOON))
            outbox.publish(tx, tenant_id, ReceiptTypeDeprecated(receipt_type="x", deprecated_at=NOON), at=NOON)
    event.remove(storage.engine, "before_cursor_execute", note)
    return len(statements)


@pytest.mark.on_postgresql
def test_statements_do_not_grow_with_tenants(recording: Storage) -> None:
    few, many = [uuid4() for _ in range(2)], [uuid4() for _ in range(20)]

    assert record(recording, few) == record(recording, many)


@pytest.mark.both_engines
def test_chains_of_several_tenants_continue(recording: Storage) -> None:
    first, second = uuid4(), uuid4()
    for tenants in ([first], [second, first, second], [first, second]):
        record(recording, tenants)

    with recording.read() as connection:
        for tenant_id in (first, second):
            mine = select(LINES).where(LINES.c.tenant_id == tenant_id).order_by(LINES.c.seq)
            lines, last = connection.execute(mine).all(), GENESIS
            for line in lines:
                assert line.prev_hash == last
                last = link_hash(last, line.record)
                assert line.integrity_hash == last
            assert [line.seq for line in lines] == [0, 1, 2]
            assert read_head(connection, audit.chain_name(tenant_id)) == (3, last)
            numbers = select(EVENTS.c.sequence).where(EVENTS.c.tenant_id == tenant_id).order_by(EVENTS.c.seq)
            assert connection.scalars(numbers).all() == [1, 2, 3]
