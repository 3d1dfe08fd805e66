"""Create the tables of risk: signals, raw events, mappings, velocity, cases, lists, challenges, settings.

Revision 0021, made 2026-11-23, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Signals and raw events have gapless numbers, because the lake exports them by number."""
    op.create_table(
        "risk_bulk_progress",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("recorded", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_risk_bulk_progress_updated_at", "risk_bulk_progress", ["updated_at"], unique=False)
    op.create_table(
        "risk_cases",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("entity_type", sa.String(length=16), nullable=False),
        sa.Column("entity_id", sa.String(length=256), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("signal_count", sa.BigInteger(), nullable=False),
        sa.Column("max_score", sa.Double(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(length=12), nullable=True),
        sa.Column("note", sa.String(length=2000), nullable=True),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resolved_by", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_risk_cases_of_entity", "risk_cases", ["tenant_id", "entity_type", "entity_id", "id"], unique=False
    )
    op.create_index("ix_risk_cases_of_tenant", "risk_cases", ["tenant_id", "id"], unique=False)
    op.create_index(
        "ix_risk_cases_open",
        "risk_cases",
        ["tenant_id", "entity_type", "entity_id"],
        unique=True,
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
    op.create_table(
        "risk_challenges",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("subject_type", sa.String(length=64), nullable=False),
        sa.Column("subject_id", sa.String(length=256), nullable=False),
        sa.Column("reason", sa.String(length=1024), nullable=False),
        sa.Column("risk_score", sa.Integer(), nullable=True),
        sa.Column("challenge_required", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_risk_challenges_of_subject",
        "risk_challenges",
        ["tenant_id", "subject_type", "subject_id", "id"],
        unique=False,
    )
    op.create_index("ix_risk_challenges_of_tenant", "risk_challenges", ["tenant_id", "id"], unique=False)
    op.create_table(
        "risk_events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("event_type", sa.String(length=128), nullable=False),
        sa.Column("entity_type", sa.String(length=16), nullable=False),
        sa.Column("entity_id", sa.String(length=256), nullable=False),
        sa.Column("data", sa.String(length=8192), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_risk_events_by_time", "risk_events", ["tenant_id", "occurred_at", "seq"], unique=False)
    op.create_index("ix_risk_events_id", "risk_events", ["id"], unique=True)
    op.create_index("ix_risk_events_of_tenant", "risk_events", ["tenant_id", "seq"], unique=False)
    op.create_table(
        "risk_list_entries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("list", sa.String(length=5), nullable=False),
        sa.Column("entity_type", sa.String(length=16), nullable=False),
        sa.Column("entity_id", sa.String(length=256), nullable=False),
        sa.Column("reason", sa.String(length=1024), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_by", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_risk_list_entries_of_entity", "risk_list_entries", ["tenant_id", "entity_type", "entity_id"], unique=False
    )
    op.create_index("ix_risk_list_entries_of_tenant", "risk_list_entries", ["tenant_id", "id"], unique=False)
    op.create_table(
        "risk_login_documents",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("document", sa.String(length=4096), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "digest"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_risk_login_documents_expires_at", "risk_login_documents", ["expires_at"], unique=False)
    op.create_table(
        "risk_mappings",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("items", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_risk_mappings_of_tenant", "risk_mappings", ["tenant_id", "version"], unique=True)
    op.create_table(
        "risk_settings",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("escalation_threshold", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id"),
    )
    op.create_table(
        "risk_signals",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("signal_type", sa.String(length=64), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("entity_type", sa.String(length=16), nullable=False),
        sa.Column("entity_id", sa.String(length=256), nullable=False),
        sa.Column("details", sa.String(length=8192), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("case_id", sa.Uuid(), nullable=True),
        sa.Column("event_id", sa.Uuid(), nullable=True),
        sa.Column("replaces", sa.Uuid(), nullable=True),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_risk_signals_id", "risk_signals", ["id"], unique=True)
    op.create_index(
        "ix_risk_signals_of_entity", "risk_signals", ["tenant_id", "entity_type", "entity_id", "seq"], unique=False
    )
    op.create_index(
        "ix_risk_signals_of_event",
        "risk_signals",
        ["event_id"],
        unique=False,
        sqlite_where=sa.text("event_id IS NOT NULL"),
        postgresql_where=sa.text("event_id IS NOT NULL"),
    )
    op.create_index("ix_risk_signals_of_tenant", "risk_signals", ["tenant_id", "seq"], unique=False)
    op.create_table(
        "risk_velocity_events",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("entity_type", sa.String(length=16), nullable=False),
        sa.Column("entity_id", sa.String(length=256), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("occurred_us", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "entity_type", "entity_id", "action", "occurred_us", "number"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_risk_velocity_events_by_time", "risk_velocity_events", ["occurred_us"], unique=False)
