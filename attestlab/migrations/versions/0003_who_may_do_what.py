"""Add sessions, tokens, mails, and members who join and leave; index the audit trail by actor and outcome.

Revision 0003, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_MEMBER = {
    "sqlite": "json_extract(CAST(record AS TEXT), '$.{name}')",
    "postgresql": "convert_from(record, 'UTF8')::json ->> '{name}'",
}


def upgrade() -> None:
    """Add tables and columns; fill the audit trail's new columns from its records."""
    op.create_table(
        "token_keys",
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("alg", sa.String(length=8), nullable=False),
        sa.Column("spki", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("kid"),
    )
    op.create_table(
        "mails",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("recipient", sa.String(length=254), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.String(length=400), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("carried_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_mails_next_attempt_at"), "mails", ["next_attempt_at"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_because", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)
    op.create_table(
        "refresh_tokens",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_sha256"),
    )
    op.create_index(op.f("ix_refresh_tokens_session_id"), "refresh_tokens", ["session_id"], unique=False)
    op.add_column("api_keys", sa.Column("created_by", sa.Uuid(), nullable=True))
    op.add_column("api_keys", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("api_keys", sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("api_keys", sa.Column("revocation_reason", sa.String(length=1024), nullable=True))
    op.add_column("api_keys", sa.Column("compromised_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("audit_events", sa.Column("actor_type", sa.String(length=8), server_default="", nullable=False))
    op.add_column("audit_events", sa.Column("actor_id", sa.String(length=64), server_default="", nullable=False))
    op.add_column("audit_events", sa.Column("outcome", sa.String(length=8), server_default="", nullable=False))
    op.create_index("ix_audit_events_of_action", "audit_events", ["tenant_id", "action", "seq"], unique=False)
    op.create_index("ix_audit_events_of_actor", "audit_events", ["tenant_id", "actor_id", "seq"], unique=False)
    op.create_index("ix_audit_events_of_kind", "audit_events", ["tenant_id", "resource_type", "seq"], unique=False)
    op.create_index("ix_audit_events_of_time", "audit_events", ["tenant_id", "timestamp"], unique=False)
    op.add_column("orgs", sa.Column("updated_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("orgs", sa.Column("return_origins", sa.String(length=4096), nullable=True))
    op.add_column("tenants", sa.Column("adjusted", sa.String(length=400), nullable=True))
    op.add_column("tenants", sa.Column("realm", sa.String(length=8), nullable=True))
    op.add_column("users", sa.Column("status", sa.String(length=8), nullable=True))
    op.add_column("users", sa.Column("invitation_sha256", sa.LargeBinary(), nullable=True))
    op.add_column("users", sa.Column("invited_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("joined_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("password_changed_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_users_invitation_sha256"), "users", ["invitation_sha256"], unique=True)
    member = _MEMBER[op.get_bind().dialect.name]
    parts = ", ".join(f"{name} = {member.format(name=name)}" for name in ("actor_type", "actor_id", "outcome"))
    op.execute(f"UPDATE audit_events SET {parts}")
