"""Create the tables of agents.

Revision 0036, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Create the tables of agents."""
    op.create_table(
        "agent_challenges",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("spki", sa.LargeBinary(), nullable=False),
        sa.Column("challenge", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_agent_challenges_expires_at"), "agent_challenges", ["expires_at"], unique=False)
    op.create_index("ix_agent_challenges_of_public_key", "agent_challenges", ["tenant_id", "spki"], unique=False)
    op.create_table(
        "agents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("agent_type", sa.String(length=12), nullable=False),
        sa.Column("display_name", sa.String(length=256), nullable=False),
        sa.Column("description", sa.String(length=2048), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("extra", sa.String(), nullable=False),
        sa.Column("card", sa.String(), nullable=True),
        sa.Column("discoverable", sa.Boolean(), nullable=False),
        sa.Column("key_id", sa.String(length=40), nullable=False),
        sa.Column("custody", sa.String(length=8), nullable=False),
        sa.Column("parent_agent_id", sa.Uuid(), nullable=True),
        sa.Column("delegation_depth", sa.Integer(), nullable=False),
        sa.Column("delegated_scopes", sa.String(), nullable=True),
        sa.Column("delegated_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_by_user_id", sa.Uuid(), nullable=True),
        sa.Column("owner_user_id", sa.Uuid(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status_changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("changed_index", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by_user_id"],
            ["users.id"],
        ),
        sa.ForeignKeyConstraint(
            ["owner_user_id"],
            ["users.id"],
        ),
        sa.ForeignKeyConstraint(
            ["parent_agent_id"],
            ["agents.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_agents_expiring",
        "agents",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("expires_at IS NOT NULL AND status <> 'revoked'"),
        postgresql_where=sa.text("expires_at IS NOT NULL AND status <> 'revoked'"),
    )
    op.create_index("ix_agents_of_tenant", "agents", ["tenant_id", "id"], unique=False)
    op.create_index(op.f("ix_agents_owner_user_id"), "agents", ["owner_user_id"], unique=False)
    op.create_index(op.f("ix_agents_parent_agent_id"), "agents", ["parent_agent_id"], unique=False)
    op.create_table(
        "agent_assertions",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.id"],
        ),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index(op.f("ix_agent_assertions_expires_at"), "agent_assertions", ["expires_at"], unique=False)
    op.create_table(
        "agent_keys",
        sa.Column("kid", sa.String(length=40), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("alg", sa.String(length=8), nullable=False),
        sa.Column("spki", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("custody", sa.String(length=8), nullable=False),
        sa.Column("status", sa.String(length=12), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rotated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reported_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("compromised_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("log_index", sa.BigInteger(), nullable=False),
        sa.Column("changed_index", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("kid"),
    )
    op.create_index("ix_agent_keys_of_agent", "agent_keys", ["agent_id", "created_at"], unique=False)
    op.create_index("ix_agent_keys_of_public_key", "agent_keys", ["tenant_id", "spki"], unique=True)
    op.create_table(
        "agent_sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("audience", sa.String(), nullable=False),
        sa.Column("extra", sa.String(), nullable=False),
        sa.Column("on_behalf_of", sa.Uuid(), nullable=True),
        sa.Column("user_session_id", sa.Uuid(), nullable=True),
        sa.Column("opened_by", sa.String(length=16), nullable=False),
        sa.Column("ttl_minutes", sa.Integer(), nullable=False),
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("refresh_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_because", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.id"],
        ),
        sa.ForeignKeyConstraint(
            ["on_behalf_of"],
            ["users.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.ForeignKeyConstraint(
            ["user_session_id"],
            ["sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_sha256"),
    )
    op.create_index("ix_agent_sessions_of_agent", "agent_sessions", ["agent_id", "id"], unique=False)
    op.create_index("ix_agent_sessions_of_tenant", "agent_sessions", ["tenant_id", "id"], unique=False)
    op.create_index(
        "ix_agent_sessions_open",
        "agent_sessions",
        ["agent_id", "expires_at"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "agent_refresh_tokens",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["agent_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_sha256"),
    )
    op.create_index(op.f("ix_agent_refresh_tokens_session_id"), "agent_refresh_tokens", ["session_id"], unique=False)
    op.create_table(
        "agent_session_uses",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.id"],
        ),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["agent_sessions.id"],
        ),
        sa.PrimaryKeyConstraint("session_id"),
    )
    op.create_index("ix_agent_session_uses_of_agent", "agent_session_uses", ["agent_id", "last_used_at"], unique=False)
