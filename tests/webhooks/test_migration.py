"""Revision 0024 numbers the events that are there, for each tenant, and delivers none of them."""

from __future__ import annotations

from uuid import uuid4

import pytest
from alembic import command
from sqlalchemy import select, text

from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import table_of
from attestlab.core.records.outbox import OutboxEvent
from attestlab.migrations import alembic_config, upgrade
from attestlab.webhooks.tables import WebhookDispatch

pytestmark = pytest.mark.both_engines

EVENTS, DISPATCH = table_of(OutboxEvent), table_of(WebhookDispatch)


@pytest.mark.parametrize("owners", ["", "aababbc"])
def test_old_events_are_numbered_for_each_tenant(empty_database: str, owners: str) -> None:
    storage, tenants = Storage(empty_database), {name: uuid4() for name in "abc"}
    with storage.write(is_migration=True) as tx:
        command.upgrade(alembic_config(connection=tx.connection), "0023")
    with storage.write() as tx:
        for seq, name in enumerate(owners):
            tx.exec(
                text(
                    "INSERT INTO outbox_events (seq, id, tenant_id, type, created_at, body, hash) "
                    "VALUES (:seq, :id, :tenant, 'issuer.created', '2026-11-21 12:00:00+00:00', :body, :body)"
                ),
                {"seq": seq, "id": uuid4().hex, "tenant": tenants[name].hex, "body": b"{}"},
            )

    upgrade(storage)

    with storage.read() as connection:
        numbered = connection.execute(select(EVENTS.c.tenant_id, EVENTS.c.sequence).order_by(EVENTS.c.seq)).all()
        dispatched = connection.execute(select(*DISPATCH.c)).all()
    storage.close()
    expected = [(tenants[name], owners[: place + 1].count(name)) for place, name in enumerate(owners)]
    assert [tuple(row) for row in numbered] == expected
    assert [tuple(row) for row in dispatched] == [(1, len(owners) - 1)]
