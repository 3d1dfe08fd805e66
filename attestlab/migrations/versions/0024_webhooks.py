"""Create the tables of webhooks, and number the events of each tenant.

Revision 0024, made 2026-11-24, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


_NUMBER_EVENTS = """
UPDATE outbox_events SET sequence = numbered.place
FROM (SELECT seq, row_number() OVER (PARTITION BY tenant_id ORDER BY seq) AS place FROM outbox_events) AS numbered
WHERE outbox_events.seq = numbered.seq
"""
_START_AFTER_THE_LAST_EVENT = """
INSERT INTO webhook_dispatch (id, outbox_seq) SELECT 1, coalesce(max(seq), -1) FROM outbox_events
"""


def upgrade() -> None:
    """Number the events that are there in their order; no endpoint receives them, because none existed."""
    op.create_table(
        "webhook_dispatch",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("outbox_seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("url", sa.String(length=2048), nullable=False),
        sa.Column("event_filters", sa.String(length=4096), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("disabled_reason", sa.String(length=16), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("old_secret", sa.LargeBinary(), nullable=True),
        sa.Column("old_secret_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.Column("since_seq", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_webhook_endpoints_of_tenant", "webhook_endpoints", ["tenant_id", "id"], unique=False)
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.Uuid(), nullable=False),
        sa.Column("event_seq", sa.BigInteger(), nullable=True),
        sa.Column("event_type", sa.String(length=64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("payload_hash", sa.String(length=80), nullable=False),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("attempt_count", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease", sa.Uuid(), nullable=True),
        sa.Column("last_error", sa.String(length=400), nullable=True),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("response_time_ms", sa.Integer(), nullable=True),
        sa.Column("test", sa.Boolean(), nullable=False),
        sa.Column("manual", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["webhook_endpoints.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    is_waiting = sa.text("next_attempt_at IS NOT NULL")
    op.create_index(
        "ix_webhook_deliveries_due",
        "webhook_deliveries",
        ["endpoint_id", "next_attempt_at"],
        unique=False,
        sqlite_where=is_waiting,
        postgresql_where=is_waiting,
    )
    op.create_index("ix_webhook_deliveries_of_endpoint", "webhook_deliveries", ["endpoint_id", "id"], unique=False)
    op.create_index("ix_webhook_deliveries_of_event", "webhook_deliveries", ["endpoint_id", "event_id"], unique=False)
    op.create_table(
        "webhook_endpoint_health",
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("failing_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("warned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("consecutive_failures", sa.Integer(), nullable=False),
        sa.Column("circuit_open_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["webhook_endpoints.id"],
        ),
        sa.PrimaryKeyConstraint("endpoint_id"),
    )
    op.create_table(
        "webhook_attempts",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("delivery_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("response_time_ms", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(length=400), nullable=True),
        sa.Column("response_excerpt", sa.String(length=1024), nullable=True),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["webhook_deliveries.id"],
        ),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_webhook_attempts_of_delivery", "webhook_attempts", ["delivery_id", "number"], unique=False)
    op.add_column("outbox_events", sa.Column("sequence", sa.BigInteger(), server_default="0", nullable=False))
    op.execute(_NUMBER_EVENTS)
    op.execute(_START_AFTER_THE_LAST_EVENT)
    op.create_index("ix_outbox_events_of_tenant", "outbox_events", ["tenant_id", "sequence"], unique=True)
