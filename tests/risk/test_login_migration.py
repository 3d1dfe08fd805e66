"""Revision 0026 keeps the documents about logins, and notes the newest login of each tenant that has some."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from alembic import command
from sqlalchemy import column, insert, select, table, text

from attestlab.core.db.storage import Storage
from attestlab.migrations import alembic_config, upgrade
from attestlab.risk.account_takeover.store import documents, find_learning

pytestmark = pytest.mark.both_engines

OLD_COLUMNS = (column(each.name, each.type) for each in documents.c if each.name != "generation")
before = table("risk_login_documents", *OLD_COLUMNS)
END = datetime(2026, 12, 1, tzinfo=UTC)


def test_old_documents_are_read_as_before(empty_database: str) -> None:
    storage, tenant = Storage(empty_database), uuid4()
    with storage.write(is_migration=True) as tx:
        command.upgrade(alembic_config(connection=tx.connection), "0025")
        ends = {"user": END, "failures": END - timedelta(days=100), "tenant": END - timedelta(days=140)}
        tx.exec(
            text("INSERT INTO tenants (id, name, plan, is_operator, created_at) VALUES (:id, 'A', 'FREE', false, :at)"),
            {"id": tenant.hex, "at": "2026-11-01 12:00:00+00:00"},
        )
        for number, (kind, end) in enumerate(ends.items()):
            values = {"tenant_id": tenant, "digest": bytes([number]), "kind": kind, "document": "{}", "expires_at": end}
            tx.exec(insert(before).values(values))

    upgrade(storage)

    with storage.read() as connection:
        found = connection.execute(select(documents.c.generation, documents.c.kind)).all()
        state = find_learning(connection.execute, tenant)
    storage.close()
    assert sorted(map(tuple, found)) == [(0, kind) for kind in sorted(ends)]
    assert state is not None
    assert (state.newest_at, state.published, state.loaded_at) == (END - timedelta(days=110), 0, None)
