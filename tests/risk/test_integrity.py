"""fsck finds what was changed in the tables of risk outside the service, also where it reads like the original."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, select

from attestlab import migrations
from attestlab.core.db.tables import fetch_all
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement.store import RiskCaseRecord, cases
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals import store
from attestlab.risk.signals.bulk import BulkOptions
from attestlab.risk.signals.recording import NewSignal
from attestlab.risk.signals.store import BulkProgressRecord
from support.earlier_records import undo_revisions_since
from support.orgs import forget_group_scopes


@pytest.mark.tampered
@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE risk_signals SET score = CAST('90. ' AS BLOB)", "unreadable"),
        ("UPDATE risk_cases SET max_score = CAST('90. ' AS BLOB)", "risk_case"),
        ("UPDATE risk_signals SET score = 91", "risk"),
        ("UPDATE risk_signals SET details = '{\"a\":1}'", "risk"),
        ("DELETE FROM risk_signals", "risk"),
        ("UPDATE risk_cases SET signal_count = 2", "risk_case"),
        ("UPDATE risk_links SET count = 2", "risk"),
        ("UPDATE risk_links SET last_seen = '2031-01-01 00:00:00.000000'", "risk"),
        ("UPDATE risk_links SET second_id = 'eve'", "risk"),
        ("DELETE FROM risk_links", "risk"),
        ("UPDATE risk_sources SET first_seen = '2011-01-01 00:00:00.000000'", "risk"),
        ("DELETE FROM risk_sources", "risk"),
        ("UPDATE risk_activity SET score_class = 1", "risk"),
        ("UPDATE risk_activity SET count = 0", "risk"),
    ],
)
def test_changed_row_is_found(lab: Installation, caller: Caller, statement: str, kind: str) -> None:
    new = NewSignal("login", "ato", 90.0, Entity(EntityType.USER, "ada"), '{"ip":"192.0.2.7"}', lab.clock.now())
    lab.risk.signals.add(new, caller=caller)
    assert list(fsck(lab)) == []

    with lab.storage.engine.begin() as connection:
        connection.exec_driver_sql(statement)

    assert kind in {problem.kind for problem in fsck(lab)}


def _forget_kinds_of_cases(lab: Installation, caller: Caller) -> None:
    """Makes every case one of before revision 45, with an audit entry, as if it had been made without a kind."""
    context = AuditContext(caller.tenant_id, caller, "risk_case.change", lab.clock.now())
    with lab.storage.write() as tx:
        for row in fetch_all(tx.exec(select(*cases.c)), RiskCaseRecord):
            audited_write.change(tx, cases, row, {"top_kind": None}, context)


def _undo_revision_25(lab: Installation) -> None:
    """Makes every key one of before, with an audit entry, as if it had been made without the mark."""
    for tenant in lab.orgs.list_tenants(with_consumers=True):
        forget_group_scopes(lab, tenant.id)
    with lab.storage.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE api_keys DROP COLUMN has_group_scopes")


def _undo_revision_24(connection: Connection) -> None:
    for table in ("attempts", "deliveries", "endpoint_health", "endpoints", "dispatch"):
        connection.exec_driver_sql(f"DROP TABLE webhook_{table}")
    connection.exec_driver_sql("DROP INDEX ix_outbox_events_of_tenant")
    connection.exec_driver_sql("ALTER TABLE outbox_events DROP COLUMN sequence")


def _undo_revision_23(connection: Connection) -> None:
    connection.exec_driver_sql("DROP INDEX ix_risk_bulk_progress_began_at")
    connection.exec_driver_sql("ALTER TABLE risk_bulk_progress RENAME COLUMN began_at TO updated_at")
    connection.exec_driver_sql("CREATE INDEX ix_risk_bulk_progress_updated_at ON risk_bulk_progress (updated_at)")


@pytest.mark.own_world
def test_records_from_before_links_get_them_by_the_upgrade(lab: Installation, caller: Caller) -> None:
    details = '{"device":"phone","ip":"192.0.2.7","ip_id":"x","seen":{"user":"eve"},"session_id":17,"user":"a\\nb"}'
    for entity, score in (("ada", 90.0), ("bob", 100.0), ("ada", 5.0)):
        new = NewSignal("login", "ato", score, Entity(EntityType.USER, entity), details, lab.clock.now())
        lab.risk.signals.add(new, caller=caller)
    entity, data = Entity(EntityType.USER, "ada"), {"subject_id": "eve"}
    lab.risk.normalization.record("login.odd", entity, data=data, occurred_at=lab.clock.now(), caller=caller)
    with lab.storage.write() as tx:
        store.begin_progress(tx, BulkProgressRecord(b"begun", 5, lab.clock.now()))
    _forget_kinds_of_cases(lab, caller)
    _undo_revision_25(lab)
    with lab.storage.engine.begin() as connection:
        undo_revisions_since(connection, 26)
        for table in ("risk_links", "risk_sources", "risk_activity"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        _undo_revision_24(connection)
        _undo_revision_23(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0021'")

    migrations.upgrade(lab.storage)

    assert list(fsck(lab)) == []
    assert lab.risk.bulk.begin(BulkOptions(progress_id=b"begun")) == (b"begun", 5, lab.clock.now())
    caller_graph = lab.risk.entities.graph(entity, caller=caller)
    assert len(caller_graph.edges) == 10
